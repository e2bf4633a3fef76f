"""Frontier: what reward each gap between the groups allows, with one threshold for all and with one per group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.people.applicants import Applicants
from fairgate.people.labels import tail
from fairgate.settings import Array

STEPS = 41
"""Gaps at which thresholds per group are looked at."""

LOWEST = 1024
"""Most acceptance rates that are tried as the lowest of all groups'."""


@dataclass(frozen=True)
class Frontier:
    """Gap and reward per person of shared thresholds, and the best reward of thresholds per group by gap allowed.

    Other constraints are not looked at here. A shared threshold is on the frontier if no other has both a smaller gap
    and a higher reward.
    """

    cuts: list[int]  # candidates on the frontier, by gap
    gap: list[float]
    reward: list[float]
    per_group_gap: list[float]  # largest gap allowed
    per_group_reward: list[float]


def frontier(applicants: Applicants, gap: Array, reward: Array, cost: float, *, per_group: bool) -> Frontier:
    """Find the frontier of shared thresholds with these gaps and rewards (K,).

    Thresholds per group are for the people as they are; `cost` is in units of the benefit.
    """
    on = undominated(gap, reward)
    allowed = np.linspace(0.0, max(float(gap.max(initial=0.0)), 0.01), STEPS)
    several = per_group and len(applicants.groups) > 1
    best = best_per_group(applicants, allowed, cost) if several else np.zeros(0)
    shown = allowed if several else np.zeros(0)
    return Frontier(on.tolist(), gap[on].tolist(), reward[on].tolist(), shown.tolist(), best.tolist())


def undominated(gap: Array, reward: Array) -> NDArray[np.int64]:
    """Return the places, by gap, of those that no other beats in both.

    >>> undominated(np.array([0.1, 0.0, 0.2, 0.3]), np.array([2.0, 1.0, 2.0, 3.0]))
    array([1, 0, 3])
    """
    order = np.lexsort((-reward, gap))
    best = np.maximum.accumulate(reward[order])
    return order[np.diff(best, prepend=-np.inf) > 0.0]


def best_per_group(applicants: Applicants, allowed: Array, cost: float) -> Array:
    """Return the highest reward per person of thresholds per group whose acceptance rates differ by at most `allowed`.

    Exact over the candidates: with the lowest rate a, every group chooses for itself among its rates from a to
    a + gap, and a is one of the groups' rates. Where these are very many, as of many groups, some are tried.
    """
    taken = tail(applicants.filled)  # accepted by group, candidate and label; falling
    sizes = applicants.filled.sum(axis=(1, 2))
    nobody = np.zeros((len(taken), 1, 2))
    taken = np.concatenate((taken, nobody), axis=1)[:, ::-1]  # rising
    rates = taken.sum(axis=2) / sizes[:, None]
    worth = (taken[..., 1] - cost * taken[..., 0]) / sizes.sum()
    lowest = np.unique(rates)
    lowest = lowest[np.unique(np.linspace(0, len(lowest) - 1, LOWEST).round().astype(np.int64))]
    tables = [RangeMaximum(own) for own in worth]
    found = []
    for gap in allowed.tolist():
        total = np.zeros(len(lowest))
        for own, table in zip(rates, tables, strict=True):
            first = np.searchsorted(own, lowest - 1e-12)
            last = np.searchsorted(own, lowest + gap + 1e-12, side="right")
            total += table.between(first, last)
        found.append(total.max())
    return np.array(found)


class RangeMaximum:
    """The largest of values (K,) between any two places, after looking at runs of 1, 2, 4, … of them once.

    >>> RangeMaximum(np.array([3.0, 1.0, 2.0])).between(np.array([0, 1, 2]), np.array([2, 3, 2]))
    array([  3.,   2., -inf])
    """

    def __init__(self, values: Array) -> None:
        self.runs = [values]
        while len(self.runs[-1]) > 2 ** (len(self.runs) - 1):
            step = 2 ** (len(self.runs) - 1)
            self.runs.append(np.maximum(self.runs[-1][:-step], self.runs[-1][step:]))

    def between(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> Array:
        """Return the largest from `first` to before `last`; minus infinity where there is none."""
        found = np.full(len(first), -np.inf)
        length = last - first
        for level, run in enumerate(self.runs):
            here = np.flatnonzero((length >= 2**level) & (length < 2 ** (level + 1)))
            found[here] = np.maximum(run[first[here]], run[last[here] - 2**level])
        return found
