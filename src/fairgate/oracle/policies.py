"""Policies and what they lead to: the best lottery or thresholds per group, beside the best single threshold."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.oracle.threshold import Oracle
from fairgate.policy import Policy
from fairgate.problem import Assessment, is_feasible, violation
from fairgate.settings import Array
from fairgate.tasks import Task


@dataclass(frozen=True, eq=False)
class PolicyPoint:
    """A policy kept for good and what it leads to in the long run."""

    policy: Policy = field(repr=False)
    reward: float
    gap: float
    acceptance: float
    residuals: tuple[float, ...]
    feasible: bool

    def __str__(self) -> str:
        word = "feasible" if self.feasible else "infeasible"
        figures = f"reward {self.reward:.4f}, gap {self.gap:.4f}, acceptance {self.acceptance:.4f} ({word})"
        return f"{written(self.policy)}: {figures}"


@dataclass(frozen=True, eq=False)
class PolicyOracle:
    """The best feasible fixed policy of a class, beside the best feasible single threshold.

    Attributes
    ----------
    task
        What it was found for.
    best
        The feasible policy of highest reward when kept for good; if none is feasible, the one that violates least.
    threshold
        The oracle of a single threshold, for comparison.
    searched
        How many different policies were solved on the way.
    exhaustive
        Whether these were all there are, so that no fixed policy of its class is better.
    """

    task: Task
    best: PolicyPoint
    threshold: Oracle
    searched: int
    exhaustive: bool

    @property
    def task_name(self) -> str:
        """Name of the task."""
        return self.task.name

    @property
    def gain(self) -> float:
        """Reward beyond that of the best feasible threshold of the grid; NaN unless both are feasible."""
        both = self.best.feasible and self.threshold.best.feasible
        return self.best.reward - self.threshold.best.reward if both else float("nan")

    def played(self, thresholds: Array, first: int = 0) -> Assessment:
        """Return the steady-state reward (R, T) and residuals (J, R, T) of thresholds (R, T, groups)."""
        return self.threshold.played(thresholds, first)

    def targets(self, first: int, rounds: int) -> tuple[Array, Array]:
        """Return the reward of the best feasible policy and the least violation, for each round."""
        broken = 0.0 if self.best.feasible else float(violation(np.array(self.best.residuals)))
        return np.full(rounds, self.best.reward if self.best.feasible else np.nan), np.full(rounds, broken)


def written(policy: Policy, replicate: int = 0) -> str:
    """Write one replicate's policy in words.

    >>> written(Policy.uniform([0.6], groups=2))
    'everybody with probability 0.6000, else nobody'
    >>> written(Policy.of([[0.25, 0.5]]))
    'thresholds 0.2500, 0.5000'
    """
    parts = []
    for thresholds, weight in zip(policy.thresholds[:, replicate], policy.weights[:, replicate], strict=True):
        if weight > 0.0:
            parts.append((_threshold(thresholds), weight))
    if len(parts) == 1:
        return parts[0][0]
    *first, last = parts
    return ", ".join(f"{text} with probability {weight:.4f}" for text, weight in first) + f", else {last[0]}"


def _threshold(thresholds: Array) -> str:
    if (thresholds == -np.inf).all():
        return "everybody"
    if (thresholds == np.inf).all():
        return "nobody"
    if (thresholds == thresholds[0]).all():
        return f"threshold {thresholds[0]:.4f}"
    return "thresholds " + ", ".join(f"{each:.4f}" for each in thresholds)


def point_of(task: Task, policy: Policy) -> PolicyPoint:
    """Solve the steady state of one policy and return its figures."""
    counts = Counts(task.environment.long_run_cells(policy))
    reward, residuals = task.problem.assess(counts)
    return PolicyPoint(
        policy=policy,
        reward=float(reward[0]),
        gap=float(counts.gap[0]),
        acceptance=float(counts.overall[0]),
        residuals=tuple(residuals[:, 0].tolist()),
        feasible=bool(is_feasible(residuals)[0]),
    )


def ranked(found: Assessment) -> NDArray[np.int64]:
    """Order policies (N,): feasible ones by reward, best first, then the others by violation."""
    feasible = is_feasible(found.residuals)
    broken = np.where(feasible, 0.0, violation(found.residuals))
    return np.asarray(np.lexsort((-found.reward, broken)), dtype=np.int64)
