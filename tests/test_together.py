"""Learners that are played together have the results that each has alone, to the last bit."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.environments import GaussianScores
from fairgate.run import Run
from fairgate.simulation import Size
from fairgate.together import can_join, packs, simulate_together


@dataclass(frozen=True)
class Wandering(GaussianScores):
    """Mean scores that also move at random."""

    def update(self, state: Any, counts: fg.Counts, published: Any, rng: np.random.Generator) -> Any:
        """Move by the batch, and by chance."""
        return super().update(state, counts, published, rng) + 0.01 * rng.normal(size=state.shape)


SIZE = Size(rounds=40, seeds=7, seed=3)


def learners() -> list[Any]:
    names = ("ofs", "smooth-optimist", "doubly-optimistic", "thompson", "two-point", "conformal-tracker", "accept-all")
    return [fg.load_learner(name) for name in names]


def figures(run: Run) -> list[Any]:
    final = () if run.final is None else run.final
    batches = (*run.policies, run.counts, run.probabilities, *run.batch, *run.population)
    return [*batches, *run.traces.values(), *final]


@pytest.mark.parametrize("task", ["interior", "german", "many-groups", "lag", "drift"])
def test_each_has_the_results_it_has_alone(task: str) -> None:
    loaded, every = fg.load_task(task), learners()
    assert all(can_join(loaded, each, SIZE) for each in every)
    for learner, run in zip(every, simulate_together(loaded, every, SIZE), strict=True):
        alone = fg.simulate(loaded, learner, rounds=40, seeds=7, seed=3)
        assert run.settings == alone.settings
        assert run.rebuilt_learner() == learner
        for one, other in zip(figures(run), figures(alone), strict=True):
            np.testing.assert_array_equal(one, other)


def test_only_thresholds_of_learners_that_see_no_scores_join() -> None:
    task = fg.load_task("interior")
    for name in ("safe-forecast", "best-lottery", "repeated-retraining"):
        assert not can_join(task, fg.load_learner(name), SIZE)
    assert not can_join(fg.load_task("label-delay"), fg.OFS(), SIZE)
    assert not can_join(task, fg.OFS(), Size(rounds=40, seeds=251))
    assert not can_join(task, fg.OFS(), Size(rounds=40, seeds=2, batch=1001))


def test_where_people_move_at_random_each_is_played_alone() -> None:
    task = fg.load_task("interior")
    settings = {each.name: getattr(task.environment, each.name) for each in fields(task.environment)}
    wandering = replace(task, environment=Wandering(**settings))
    first, second = simulate_together(wandering, [fg.OFS(), fg.OFS(c=0.1)], SIZE)
    for run, learner in ((first, fg.OFS()), (second, fg.OFS(c=0.1))):
        alone = fg.simulate(wandering, learner, rounds=40, seeds=7, seed=3)
        np.testing.assert_array_equal(run.batch.reward, alone.batch.reward)


def test_packs_hold_all_learners_and_no_more_than_fit() -> None:
    assert packs(17, Size(rounds=3000, seeds=100)) == [slice(0, 5), slice(5, 9), slice(9, 13), slice(13, 17)]
    assert packs(3, Size(rounds=100_000, seeds=100)) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert packs(3, Size(rounds=10, seeds=1)) == [slice(0, 3)]
