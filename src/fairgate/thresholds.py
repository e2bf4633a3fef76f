"""Thresholds: what fixed thresholds, shared by all groups, lead to in the long run, from exact steady states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.amounts import amount
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.policy import Policy
from fairgate.problem import best_feasible, is_feasible
from fairgate.settings import Array
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

    def __repr__(self) -> str:
        feasible = int(is_feasible(self.residuals).sum())
        return f"ThresholdSweep({amount(len(self.thresholds), 'threshold')}, {feasible} feasible; best: {self.best})"

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


def exact_sweep(task: Task, thresholds: Array) -> ThresholdSweep:
    """Return the exact steady-state figures of shared fixed thresholds (K,)."""
    if task.replicates not in (None, 1):
        raise InputError(f"the oracle needs one setting, but the task has {task.replicates}: cut it by rows")
    shared = np.repeat(np.asarray(thresholds, dtype=np.float64)[:, None], task.environment.group_count, axis=1)
    counts = Counts(task.environment.long_run_cells(Policy.of(shared)))
    found = task.problem.assess(counts)
    return ThresholdSweep(shared[:, 0], found.reward, counts.gap, counts.overall, found.residuals)
