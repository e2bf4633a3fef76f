"""The best feasible fixed threshold, from exact steady states; also the paper's sampled sweep."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairgate.counts import Counts
from fairgate.learners import Fixed
from fairgate.problem import Assessment
from fairgate.settings import Array, whole_number
from fairgate.simulation import simulate
from fairgate.tasks import Task
from fairgate.thresholds import Point, ThresholdSweep, exact_sweep
from fairgate.truth import Moment


@dataclass(frozen=True)
class Oracle:
    """The exact sweep of a task's grid, its best fixed threshold, and the best one of the whole interval."""

    task: Task
    sweep: ThresholdSweep
    best: Point
    refined: Point

    @property
    def task_name(self) -> str:
        """Name of the task."""
        return self.task.name

    @cached_property
    def _moment(self) -> Moment:
        return Moment(0, self.task, self.sweep)

    def played(self, thresholds: Array, first: int = 0) -> Assessment:
        """Return the steady-state reward (R, T) and residuals (J, R, T) of thresholds (R, T, groups)."""
        return self._moment.played(thresholds)

    def targets(self, first: int, rounds: int) -> tuple[Array, Array]:
        """Return the reward of the best feasible threshold of the grid and the least violation, for each round."""
        return np.full(rounds, self._moment.reward), np.full(rounds, self._moment.least)


def best_threshold(task: Task, *, refine: bool = True) -> Oracle:
    """Find the best feasible fixed threshold exactly, on the grid and, if it is to be refined, in between."""
    low, high = float(task.thresholds[0]), float(task.thresholds[-1])
    coarse = exact_sweep(task, task.thresholds)
    if not refine:
        return Oracle(task, coarse, coarse.best, coarse.best)
    candidates = np.union1d(task.thresholds, task.environment.candidates(low, high))
    fine = exact_sweep(task, candidates)
    for _ in range(4):
        place = int(np.searchsorted(fine.thresholds, fine.best.threshold))
        around = fine.thresholds[max(place - 1, 0) : place + 2]
        fine = exact_sweep(task, np.union1d(around, np.linspace(around[0], around[-1], 201)))
    return Oracle(task, coarse, coarse.best, fine.best)


def sampled_sweep(
    task: Task, rounds: int = 400, burn_in: int = 200, repeats: int = 5, *, seed: int = 0, batch: int = 256
) -> ThresholdSweep:
    """Estimate the sweep as the paper does: play each threshold for `burn_in` rounds, then average `rounds` batches.

    `repeats` are independent loops per threshold. The gap is the mean of batch gaps, which sampling noise biases
    upwards; compare with :func:`oracle`.
    """
    burn_in = whole_number("burn_in", burn_in, 0)
    rounds = whole_number("rounds", rounds, 1)
    repeats = whole_number("repeats", repeats, 1)
    arms = len(task.thresholds)
    learner = Fixed(np.tile(task.thresholds, repeats))
    run = simulate(task, learner, burn_in + rounds, arms * repeats, seed=seed, batch=batch)

    def mean(values: Array) -> Array:
        return np.asarray(values[..., burn_in:].reshape(*values.shape[:-2], repeats, arms, rounds).mean(axis=(-3, -1)))

    return ThresholdSweep(
        thresholds=task.thresholds,
        reward=mean(run.batch.reward),
        gap=mean(run.batch_gap),
        acceptance=mean(Counts(run.counts).overall),
        residuals=mean(run.batch.residuals),
    )
