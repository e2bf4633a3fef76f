"""oracle: the best feasible fixed threshold, from exact steady states; also the paper's sampled sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.learners import Fixed
from fairgate.problem import best_feasible, is_feasible
from fairgate.settings import Array, whole_number
from fairgate.simulation import simulate
from fairgate.tasks import Task


@dataclass(frozen=True)
class Point:
    """A fixed threshold and what it leads to in the long run."""

    threshold: float
    reward: float
    gap: float
    acceptance: float
    residuals: tuple[float, ...]
    feasible: bool

    def __str__(self) -> str:
        word = "feasible" if self.feasible else "infeasible"
        return (
            f"threshold {self.threshold:.4f}: reward {self.reward:.4f}, gap {self.gap:.4f}, "
            f"acceptance {self.acceptance:.4f} ({word})"
        )


@dataclass(frozen=True, repr=False)
class ThresholdSweep:
    """Fixed thresholds (K,) and their long-run reward (K,), gap (K,), acceptance (K,) and residuals (J, K)."""

    thresholds: Array
    reward: Array
    gap: Array
    acceptance: Array
    residuals: Array

    def point(self, index: int) -> Point:
        """Return one threshold's figures."""
        residuals = self.residuals[:, index]
        return Point(
            threshold=float(self.thresholds[index]),
            reward=float(self.reward[index]),
            gap=float(self.gap[index]),
            acceptance=float(self.acceptance[index]),
            residuals=tuple(residuals.tolist()),
            feasible=bool(is_feasible(residuals)),
        )

    @property
    def best(self) -> Point:
        """The feasible threshold of highest reward; if none is feasible, the one that violates least."""
        return self.point(int(best_feasible(self.reward, self.residuals)))


@dataclass(frozen=True)
class Oracle:
    """The exact sweep of the grid, its best point, and the best point of the whole interval."""

    sweep: ThresholdSweep
    best: Point
    refined: Point


def exact_sweep(task: Task, thresholds: Array) -> ThresholdSweep:
    """Return the exact steady-state figures of shared fixed thresholds (K,)."""
    if task.replicates not in (None, 1):
        raise InputError(f"the oracle needs one setting, but the task has {task.replicates}: cut it by rows")
    shared = np.repeat(np.asarray(thresholds, dtype=np.float64)[:, None], task.environment.group_count, axis=1)
    state = task.environment.steady_state(shared)
    counts = Counts(task.environment.probabilities(state, shared))
    found = task.problem.assess(counts)
    return ThresholdSweep(shared[:, 0], found.reward, counts.gap, counts.overall, found.residuals)


def oracle(task: Task, *, refine: bool = True) -> Oracle:
    """Find the best feasible fixed threshold exactly, on the grid and in between.

    Each threshold's steady state is solved, not sampled. `refined` looks at the environment's own candidates
    between the ends of the grid (every distinct score, or a fine grid) and then closer and closer around the best;
    with ``refine=False``, for environments whose steady states are slow to find, it is the best of the grid.

    >>> import fairgate as fg
    >>> best = fg.oracle(fg.load_task("mve-s")).best
    >>> best.feasible, best.gap <= 0.06
    (True, True)
    """
    low, high = float(task.thresholds[0]), float(task.thresholds[-1])
    coarse = exact_sweep(task, task.thresholds)
    if not refine:
        return Oracle(coarse, coarse.best, coarse.best)
    candidates = np.union1d(task.thresholds, task.environment.candidates(low, high))
    fine = exact_sweep(task, candidates)
    for _ in range(4):
        place = int(np.searchsorted(fine.thresholds, fine.best.threshold))
        around = fine.thresholds[max(place - 1, 0) : place + 2]
        fine = exact_sweep(task, np.union1d(around, np.linspace(around[0], around[-1], 201)))
    return Oracle(coarse, coarse.best, fine.best)


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
