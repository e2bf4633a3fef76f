"""An environment of one's own, from one file outside the package: 5,000 people who move one by one, at random."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import Environment, check_environment
from fairgate.settings import Array, PositiveShare, Real
from tests.reference import step


@dataclass(frozen=True)
class People:
    """The state: score, group and label of everybody, (replicates, people) each. Groups and labels stay."""

    scores: Array
    groups: NDArray[np.int64]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Population(Environment):
    """A town whose people reapply with the score that their group's acceptance encourages them to.

    In each round a person is reconsidered with probability `rate`, and then scores merit + gain · (acc_g − ½).
    """

    size: int = 5000
    gain: Real = 0.4
    rate: PositiveShare = 0.2

    group_count = 2

    @cached_property
    def town(self) -> People:
        """Everybody's merit, group and label."""
        rng = np.random.default_rng(0)
        groups = rng.integers(2, size=self.size)
        merit = rng.normal(0.2 * groups, 1.0 - 0.3 * groups)
        labels = (rng.random(self.size) < 1.0 / (1.0 + np.exp(-2.5 * (merit - 0.3)))).astype(np.int64)
        return People(merit, groups, labels)

    def start(self, replicates: int = 1) -> People:
        town, times = self.town, (replicates, 1)
        return People(np.tile(town.scores, times), np.tile(town.groups, times), np.tile(town.labels, times))

    def probabilities(self, state: People, thresholds: Array) -> Array:
        rows = np.arange(len(thresholds))[:, None]
        accepted = state.scores >= thresholds[rows, state.groups]
        cell = ((rows * 2 + state.groups) * 2 + state.labels) * 2 + accepted
        return np.bincount(cell.ravel(), minlength=8 * len(rows)).reshape(-1, 2, 2, 2) / self.size

    def encouraged(self, state: People, counts: Counts) -> Array:
        """What everybody would score who is reconsidered now; what they score, if nobody of their group came."""
        target = self.town.scores + np.reshape(self.gain, (-1, 1)) * (
            counts.rates[np.arange(len(state.scores))[:, None], state.groups] - 0.5
        )
        return np.where(np.isnan(target), state.scores, target)

    def update(self, state: People, counts: Counts, thresholds: Array, rng: np.random.Generator) -> People:
        reconsidered = rng.random(state.scores.shape) < np.reshape(self.rate, (-1, 1))
        return replace(state, scores=np.where(reconsidered, self.encouraged(state, counts), state.scores))

    def expected_update(self, state: People, thresholds: Array) -> People:
        target = self.encouraged(state, Counts(self.probabilities(state, thresholds)))
        return replace(state, scores=state.scores + np.reshape(self.rate, (-1, 1)) * (target - state.scores))


@pytest.fixture(scope="module")
def task() -> fg.Task:
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1), fg.ServiceRate(0.2, 0.8)])
    return fg.Task(Population(), problem, np.linspace(-2.0, 2.0, 41), "town")


def test_it_keeps_the_contract(task: fg.Task) -> None:
    check_environment(task.environment)
    check_environment(Population(size=500, gain=[0.1, 0.4], rate=[0.1, 0.5]), grid=task.thresholds)


def test_its_oracle_takes_seconds_and_a_long_random_loop_agrees_with_it(task: fg.Task) -> None:
    began = time.process_time()
    found = fg.oracle(task, refine=False)
    assert time.process_time() - began < 10.0  # 2 s when written
    assert found.best.feasible
    assert found.refined == found.best
    at, rng = np.full((4, 2), found.best.threshold), np.random.default_rng(1)
    state, rates = task.environment.start(4), []
    for t in range(80):
        state, _ = step(task.environment, state, at, 256, rng)
        if t >= 40:
            rates.append(Counts(task.environment.probabilities(state, at)).overall)
    assert np.mean(rates) == pytest.approx(found.best.acceptance, abs=0.01)
    assert 0.5 < task.environment.contraction() < 1.0


@pytest.mark.parametrize("learner", [fg.OFS(), fg.SmoothOptimist(), fg.learners.RepeatedRetraining()], ids=repr)
def test_learners_play_in_it(task: fg.Task, learner: fg.learners.Learner[Any]) -> None:
    """At every level of feedback: a seed says everything, and people are moved at random."""
    runs = [fg.simulate(task, learner, rounds=30, seeds=2, seed=seed) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0].counts, runs[1].counts)
    assert (runs[0].counts != runs[2].counts).any()
    assert (runs[0].probabilities[:, -1] != runs[0].probabilities[:, 0]).any()
