"""What has no pure form is driven round by round, and meets the applicants that the pure form would."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import fairgate as fg
from fairgate.loops.simulation import simulate

ROUNDS, SEEDS = 25, 3


@dataclass
class Steady:
    """A plain learner that holds everybody to one threshold, and notes its feedback."""

    threshold: float
    level: str = "bandit"
    seen: list[Any] = field(default_factory=list)

    def start(self, setting: Any, replicates: int, rng: Any) -> Any:
        self.seen.clear()
        return setting.groups, replicates

    def propose(self, state: Any) -> Any:
        groups, replicates = state
        return fg.Policy.shared(np.full(replicates, self.threshold), groups)

    def observe(self, state: Any, played: Any, feedback: Any) -> None:
        self.seen.append(feedback)


class Own(fg.environments.ResponsiveScores):
    """A user's environment: no class of ours, so that it is driven as an array of loops."""


def own(task: fg.Task) -> fg.Task:
    """Return the same task with the user's environment."""
    there = task.environment
    given = {each.name: getattr(there, each.name) for each in dataclasses.fields(there) if each.init}
    return dataclasses.replace(task, environment=Own(**given))


def late(task: fg.Task, arrival: float, loss: float = 0.0) -> fg.Task:
    """Return the same task with labels that arrive late."""
    there = dataclasses.replace(task.environment, label_arrival=arrival, label_loss=loss)
    return dataclasses.replace(task, environment=there)


def played(task: fg.Task, learner: Any, **given: Any) -> fg.Run:
    """Return a short run."""
    found = simulate(task, learner, **{"rounds": ROUNDS, "seeds": SEEDS, "batch": 60, "library": "numpy", **given})
    assert isinstance(found, fg.Run)
    return found


def some_task() -> fg.Task:
    """Return a task whose environment can be the user's own."""
    task = fg.load_task("participation")
    assert type(task.environment) is fg.environments.ResponsiveScores
    return task


@pytest.mark.parametrize("level", ["bandit", "scores", "selective-labels", "full-labels"])
def test_a_plain_learner_meets_the_people_of_a_pure_one(level: str) -> None:
    task = fg.load_task("german")
    threshold = float(task.thresholds[20])
    found, wanted = played(task, Steady(threshold, level)), played(task, fg.Fixed(threshold))
    np.testing.assert_array_equal(found.counts, wanted.counts)
    np.testing.assert_array_equal(found.batch.reward, wanted.batch.reward)
    np.testing.assert_allclose(found.probabilities, wanted.probabilities, atol=1e-12)


def test_a_users_environment_meets_a_pure_learner() -> None:
    found, wanted = (played(each, fg.OFS()) for each in (own(some_task()), some_task()))
    np.testing.assert_array_equal(found.thresholds, wanted.thresholds)
    np.testing.assert_array_equal(found.counts, wanted.counts)
    np.testing.assert_array_equal(found.traces["feasible"], wanted.traces["feasible"])


def test_a_users_environment_with_late_labels_meets_a_pure_learner() -> None:
    task = late(some_task(), 0.4, 0.1)
    found, wanted = (played(each, fg.OFS()) for each in (own(task), task))
    np.testing.assert_array_equal(found.thresholds, wanted.thresholds)


@pytest.mark.parametrize("level", ["bandit", "selective-labels"])
def test_late_labels_of_a_plain_learner_add_up(level: str) -> None:
    task = late(fg.load_task("german"), 0.5)
    learner = Steady(float(task.thresholds[15]), level)
    run = played(task, learner)
    share, reward = np.zeros((ROUNDS, SEEDS)), np.zeros((ROUNDS, SEEDS))
    for feedback in learner.seen:
        for credit in feedback.credits:
            share[credit.round] += credit.share
            reward[credit.round] += credit.share * credit.reward
    np.testing.assert_allclose(share[:5], 1.0)  # all labels of the first rounds arrive within 16
    np.testing.assert_allclose(reward[:5], run.batch.reward.T[:5])
    arrived = sum(feedback.observation.positives for feedback in learner.seen)
    assert (arrived <= run.counts[:, :, :, 1, 1].sum(axis=1)).all()


@pytest.mark.parametrize("level", ["bandit", "selective-labels"])
def test_labels_that_are_lost_are_credited_to_nobody(level: str) -> None:
    task = late(fg.load_task("german"), 0.5, 0.3)
    learner, rounds = Steady(float(task.thresholds[15]), level), 3 * ROUNDS
    played(task, learner, rounds=rounds)
    share = np.zeros((rounds, SEEDS))
    arrived = np.zeros(SEEDS)
    credited = np.zeros(SEEDS)
    for feedback in learner.seen:
        arrived += (feedback.observation.positives + feedback.observation.negatives).sum(axis=1)
        for credit in feedback.credits:
            share[credit.round] += credit.share
            credited += credit.labels.sum(axis=(1, 2))
    assert (share <= 1.0 + 1e-9).all()
    np.testing.assert_allclose(credited, arrived)


def test_settings_of_more_loops_than_are_played_at_once_are_cut_to_theirs() -> None:
    task = fg.load_task("interior")
    limits = [fg.DemographicParity(np.linspace(0.01, 0.3, 251)), *task.problem.constraints[1:]]
    problem = fg.Problem(task.problem.utility, limits)
    run = fg.simulate(dataclasses.replace(task, problem=problem), Steady(0.1), rounds=2, batch=20, library="numpy")
    assert run.batch.residuals.shape[1] == 251


def test_a_pure_learner_that_cannot_learn_late_is_refused() -> None:
    with pytest.raises(fg.InputError, match="must have learns_late = True to learn from labels that arrive late"):
        played(fg.load_task("label-delay"), Pessimist())


def test_nothing_pure_at_all() -> None:
    task = own(some_task())
    found = played(task, Steady(float(task.thresholds[15])))
    wanted = played(some_task(), fg.Fixed(float(task.thresholds[15])))
    np.testing.assert_array_equal(found.counts, wanted.counts)


def test_a_summary_has_the_figures_of_the_run() -> None:
    task = own(some_task())
    line = simulate(task, fg.OFS(), rounds=ROUNDS, seeds=SEEDS, batch=60, library="numpy", keep="summary")
    for name, values in played(task, fg.OFS()).per_replicate().items():
        np.testing.assert_allclose(line.per_replicate()[name], values, atol=1e-12, err_msg=name)


def test_both_libraries_drive_the_same() -> None:
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")
    task = late(own(some_task()), 0.4, 0.1)
    for learner in (fg.OFS(), fg.load_learner("bayesian"), fg.load_learner("safe-search-lottery")):
        found, wanted = (played(task, learner, library=library) for library in ("jax", "numpy"))
        np.testing.assert_allclose(found.policies.thresholds, wanted.policies.thresholds)
        np.testing.assert_array_equal(found.counts, wanted.counts)


class Pessimist:
    """A user's pure learner, which needs no class of ours."""

    level: ClassVar[str] = "bandit"

    def init(self, setting: Any) -> Any:
        return np.zeros(())

    def propose(self, setting: Any, memory: Any, draws: Any) -> Any:
        from fairgate.core.policy import Policy

        return Policy.at(setting.grid[-1])

    def observe(self, setting: Any, memory: Any, draws: Any, played: Any, feedback: Any) -> Any:
        return memory


def test_a_users_pure_learner_is_taken_as_it_is() -> None:
    task = fg.load_task("german")
    found = played(task, Pessimist())
    np.testing.assert_array_equal(found.counts, played(task, fg.Fixed(float(task.thresholds[-1]))).counts)
    assert found.settings["learner"] == {"kind": "Pessimist"}
