"""A task and a learner of one's own, written for one loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import fairgate as fg
from fairgate.arrays import namespace, record
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.core.setting import Task as PureTask
from fairgate.counts import Counts
from fairgate.learners import as_learner
from fairgate.learners.checks import check_learner
from fairgate.random import Draws
from fairgate.together import can_join
from tests.command import fairgate_here


@record
class Improving:
    """Applicants whose scores are uniform, and who improve when they are accepted."""

    rate: float = 0.1

    def start(self) -> Any:
        return np.array([0.5, 0.6])

    def cells(self, state: Any, policy: Policy) -> Any:
        return self.histogram(state, policy.thresholds[:, 0])[:, [0, 1]].swapaxes(1, 2)

    def histogram(self, state: Any, edges: Any) -> Any:
        xp = namespace(state)
        ends = xp.concatenate((xp.zeros(1), xp.clip(edges, 0.0, 1.0), xp.ones(1)))
        label = xp.stack((1.0 - state, state), axis=-1)
        return 0.5 * xp.diff(ends)[None, :, None] * label[:, None, :]

    def update(self, state: Any, policy: Policy, counts: Counts, draws: Draws) -> Any:
        return namespace(state).where(counts.people > 0, state + self.rate * (counts.rates - state), state)


@record
class Careful:
    """Raises its threshold until the constraints are kept, or proposes what is no threshold."""

    step: float = 0.25

    level: ClassVar[str] = "bandit"

    def init(self, setting: Setting) -> Any:
        return namespace(setting.grid).zeros(())

    def propose(self, setting: Setting, memory: Any, draws: Draws) -> Policy:
        return Policy.at(memory)

    def observe(self, setting: Setting, memory: Any, draws: Draws, played: Policy, feedback: Any) -> Any:
        xp = namespace(setting.grid)
        return xp.minimum(memory + self.step * (feedback.residuals.max() > 0.0), setting.grid[-1])


OWN = PureTask(Improving(), Setting(fg.Problem(fg.Utility(1.0), [fg.ServiceRate(0.2, 0.6)]), np.linspace(0, 1, 5), 2))


@pytest.mark.parametrize("library", [None, "numpy", "jax"])
def test_a_task_and_a_learner_of_ones_own_may_be_in_pure_form(library: str | None) -> None:
    run = fg.simulate(OWN, Careful(), rounds=4, seeds=2, library=library)
    assert run.thresholds[:, :, 0].tolist() == [[0.0, 0.25, 0.5, 0.5]] * 2
    assert run.population.reward[0, 1] == pytest.approx(0.75 * (2.0 * 0.5 * (0.55 + 0.64) - 1.0))
    assert repr(run) == "Run(custom: 2 replicates × 4 rounds, 2 groups)"


def test_a_learner_for_arrays_plays_a_task_in_pure_form() -> None:
    run = fg.simulate(OWN, fg.OFS(), rounds=4, seeds=2, library="numpy")
    hosted = fg.simulate(OWN, fg.learners.ThresholdOptimizer(), rounds=4, seeds=2, library="numpy")
    assert run.thresholds.shape == hosted.thresholds.shape == (2, 4, 2)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_a_pure_policy_that_is_none_is_refused_with_its_round(library: str) -> None:
    with pytest.raises(fg.InputError, match=r"the policies of Careful .* got nan, in loop 0 and round 1"):
        fg.simulate(OWN, Careful(step=float("nan")), rounds=4, seeds=2, library=library)


def test_a_pure_learner_that_lacks_something_is_refused_in_a_sentence() -> None:
    class Unfinished:
        def init(self, setting: Setting) -> None:
            pass

    with pytest.raises(fg.InputError, match=r"Unfinished must have the methods .*, it has no propose"):
        fg.simulate(OWN, Unfinished(), rounds=4)  # type: ignore[call-overload]

    class Bare:
        step = 0.25
        level = "bandit"
        init, propose, observe = Careful.init, Careful.propose, Careful.observe

    assert fg.simulate("german", Bare(), rounds=2, seeds=1).settings["library"] == "numpy"
    with pytest.raises(fg.InputError, match="library 'jax' needs a record, which Bare is not: write @record"):
        fg.simulate("german", Bare(), rounds=2, seeds=1, library="jax")


def test_a_run_of_a_pure_learner_is_kept_cut_and_made_again(tmp_path: Path) -> None:
    run = fg.simulate("german", Careful(0.2), rounds=6, seeds=3, library="numpy")
    run.save(tmp_path / "run.parquet")
    kept = fg.Run.load(tmp_path / "run.parquet")
    again = fg.simulate(kept.task(), kept.rebuilt_learner(Careful), **kept.size)
    np.testing.assert_array_equal(again.counts, run.counts)
    np.testing.assert_array_equal(run.rows(slice(1, 3)).thresholds, run.thresholds[1:])


def test_a_pure_learner_keeps_the_contract_of_learners() -> None:
    learner = as_learner(Careful())
    assert (learner.level, repr(learner), learner.describe()) == (
        "bandit", "Careful(step=0.25)", {"kind": "Careful", "step": 0.25},
    )  # fmt: skip
    check_learner(Careful())


def test_the_command_line_takes_a_pure_learner_by_its_place(tmp_path: Path) -> None:
    place = "tests.loops.test_own:Careful:step=0.2"
    done = fairgate_here("run", "interior", place, "--rounds", "8", "--seeds", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["learners"][place]["settings"] == {"kind": "Careful", "step": 0.2}


def test_a_pure_learner_of_counts_is_not_driven_by_hand_where_labels_are_late() -> None:
    """Its labels belong to policies of the past, which only the core passes on."""
    task, learner = fg.load_task("label-delay"), as_learner(Careful())
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    policy = learner.propose(state)
    feedback = task.problem.reveal(task.environment.cells(task.environment.start(1), policy), arrivals=[])
    with pytest.raises(fg.InputError, match="where labels are late, only simulate can play it"):
        learner.observe(state, policy, feedback)
    assert not can_join(fg.load_task("interior"), learner, fg.bench.Size())
