"""Every learner keeps the contract; a learner that breaks it is found out; state survives JSON."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate.learners import LEARNERS, State, check_learner, load_learner, scalar
from fairgate.learners.base import AnyLearner
from fairgate.learners.checks import LearnerCheckError
from fairgate.policy import Policy

Array = NDArray[np.float64]


class EpsilonGreedy:
    """A plain learner of one loop."""

    def __init__(self, grid: list[float], rng: np.random.Generator, epsilon: float = 0.1) -> None:
        self.grid, self.rng, self.epsilon = grid, rng, epsilon
        self.plays = [0] * len(grid)
        self.means = np.zeros(len(grid))

    def propose(self) -> float:
        explore = self.rng.random() < self.epsilon
        return self.grid[int(self.rng.integers(len(self.grid)) if explore else self.means.argmax())]

    def observe(self, threshold: float, reward: float, residuals: list[float]) -> None:
        arm = self.grid.index(threshold)
        self.plays[arm] += 1
        self.means[arm] += (reward - sum(max(g, 0.0) for g in residuals) - self.means[arm]) / self.plays[arm]


EVERY = [
    *(load_learner("fixed:threshold=0" if name == "fixed" else name) for name in LEARNERS),
    fg.OFS(c=1e-4, exploration=0.0),
    fg.PrimalDual(step=1.0, radius=5.0),
    fg.SmoothOptimist(epoch_length=2),
    fg.SafeForecast(phase_length=2, epoch_length=3, misfit=0.0),
    fg.SafeForecast(phase_length=2, epoch_length=2, change=0.1),
    fg.SafeSearch(policies="lottery"),
    fg.SafeSearch(lottery=False),
    fg.SafeSearch(policies="per-group"),
    scalar(EpsilonGreedy, epsilon=0.3),
]


@pytest.mark.parametrize("learner", EVERY, ids=repr)
def test_every_learner_keeps_the_contract(learner: Any) -> None:
    check_learner(learner)


@dataclass(frozen=True)
class Forgetful(fg.Random):
    def save(self, state: State) -> dict[str, Any]:
        return super().save(State(**{**vars(state), "rng": np.random.default_rng(99)}))


@dataclass(frozen=True)
class Unseeded(fg.Random):
    def choose(self, state: State) -> Array:
        return state.grid[np.random.default_rng().integers(len(state.grid), size=state.replicates)]


@dataclass(frozen=True)
class OutOfBounds(fg.Fixed):
    def choose(self, state: State) -> Array:
        return np.full(state.replicates, state.grid[-1] + 1.0)


@dataclass(frozen=True)
class Transposed(fg.Random):
    def propose(self, state: State) -> Policy:
        return Policy.of(super().propose(state).single.T)


@pytest.mark.parametrize(
    ("learner", "breach"),
    [
        (Forgetful(), "saving changes the plays"),
        (Unseeded(), "plays differ from the same seed"),
        (OutOfBounds(0.0), "outside the grid's interval"),
        (Transposed(), "must have thresholds of shape"),
    ],
    ids=repr,
)
def test_a_learner_that_breaks_the_contract_is_found_out(learner: Any, breach: str) -> None:
    with pytest.raises(LearnerCheckError, match=breach):
        check_learner(learner)


def test_a_state_of_another_version_or_learner_is_refused(small_task: fg.Task) -> None:
    learner = fg.OFS()
    saved = json.loads(json.dumps(learner.save(learner.start(small_task.setting, 2, np.random.default_rng(0)))))
    with pytest.raises(fg.InputError, match="has version 7, but this OFS reads version 2"):
        learner.load(saved | {"version": 7}, small_task.setting)
    with pytest.raises(fg.InputError, match=r"belongs to .*'c': 0.5.* but is loaded into .*'c': 0.1"):
        fg.OFS(c=0.1).load(saved, small_task.setting)
    with pytest.raises(fg.InputError, match="no saved learner state"):
        learner.load({"version": 1}, small_task.setting)
    with pytest.raises(fg.InputError, match="belongs to another grid than that of the setting"):
        learner.load(saved, fg.load_task("compas").setting)
    dearer = dataclasses.replace(small_task, problem=dataclasses.replace(small_task.problem, utility=fg.Utility(9.0)))
    with pytest.raises(fg.InputError, match="with other limits or costs, start with a fresh state"):
        learner.load(saved, dearer.setting)


def test_a_learner_without_constraints_survives_saving(small_task: fg.Task) -> None:
    free = dataclasses.replace(small_task, problem=fg.Problem(fg.Utility(1.0)))
    learner = fg.OFS()
    saved = json.loads(json.dumps(learner.save(learner.start(free.setting, 2, np.random.default_rng(0)))))
    assert learner.load(saved, free.setting).residuals.shape == (0, 2, 9)


def test_a_rule_whose_state_is_not_plain_says_so_when_saved(small_task: fg.Task) -> None:
    class Odd(EpsilonGreedy):
        def __init__(self, grid: list[float], rng: np.random.Generator) -> None:
            super().__init__(grid, rng)
            self.thing = object()

    learner = scalar(Odd)
    state = learner.start(small_task.setting, 1, np.random.default_rng(0))
    with pytest.raises(fg.InputError, match="must be arrays, random generators and plain values, got object"):
        learner.save(state)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("off", "unknown learner 'off': did you mean 'ofs'"),
        ("ofs:c=much", "learner 'ofs:c=much': 'c=much' must be a setting such as c=0.1"),
        ("ofs:", "learner 'ofs:': after the colon must come a setting such as c=0.1"),
        ("ofs:c", "learner 'ofs:c': 'c' must be a setting such as c=0.1"),
        ("ofs:c=", "learner 'ofs:c=': 'c=' must be a setting such as c=0.1"),
        ("bayesian:safe=perhaps", "learner 'bayesian:safe=perhaps': 'safe=perhaps' must be True or False"),
        ("exploring-dr:estimate=best", "unknown ExploringPolicy: estimate 'best'"),
        ("ofs:colour=1", "learner 'ofs:colour=1' takes the settings c, delta, exploration"),
        ("fixed", "learner 'fixed' needs threshold, as in fixed:threshold=0.1"),
        ("ofs:c=-1", "OFS: c must be a finite number above 0, got -1.0"),
        (
            "safe-search:lottery=perhaps",
            "learner 'safe-search:lottery=perhaps': 'lottery=perhaps' must be True or False",
        ),
        ("safe-search:policies=lotteries", "unknown policies 'lotteries': did you mean 'lottery'"),
    ],
)
def test_learner_names_that_cannot_be_read_get_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        load_learner(name)


def test_settings_of_a_learner_may_be_text_or_true_or_false() -> None:
    read = [load_learner(f"bayesian:safe={word}").describe()["safe"] for word in ("True", "false", "1", "0")]
    assert read == [True, False, True, False]
    assert load_learner("exploring-dr:estimate=ips,width=2").describe()["estimate"] == "ips"


@pytest.mark.parametrize("learner", [fg.Fixed(0.1), fg.Random(), fg.learners.AcceptAll(), fg.learners.BestLottery()])
def test_a_policy_that_looks_at_no_residual_can_be_judged_by_any_constraint(
    learner: AnyLearner, small_task: fg.Task
) -> None:
    judged = dataclasses.replace(small_task, problem=fg.Problem(fg.Utility(1.0), [fg.EqualisedOdds(0.1)]))
    run = fg.simulate(judged, learner, rounds=20, seeds=2)
    assert np.isfinite(run.population.residuals).all()
    with pytest.raises(fg.InputError, match="asks for labels of the rejected"):
        fg.simulate(judged, fg.OFS(), rounds=20, seeds=2)
