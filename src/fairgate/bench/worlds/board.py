"""The board of random worlds: one table per feedback level, ranked by what was played, against the best baseline.

The rule: the mean over worlds of the share of the reward that can be had, each share cut to [−1, 1] so that no single
world decides, over all worlds whose constraints a learner of the level can see. A world that a learner refuses or fails
in counts as −1. Learners whose policies are not allowed are listed below the others without a rank.

Worlds of one shape are more alike than others: intervals and tests are over the means of shapes, not over worlds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.bench.worlds.running import WorldMatrix
from fairgate.estimates import Estimate
from fairgate.learners.registry import is_baseline
from fairgate.problem import LEVELS
from fairgate.settings import Array
from fairgate.statistics import holm, paired_t_test
from fairgate.worlds.shapes import PAGE, SHAPES

POLICIES = ("threshold", "lottery", "per-group")
"""Classes of policies, each of which includes those before it."""

SHARES = {"threshold": "share_threshold", "lottery": "share"}
"""The measure that a share is, by the policies that are allowed."""


@dataclass(frozen=True)
class WorldRow:
    """A learner's line: figures over the worlds of its table; `rank` is None if its policies are not allowed.

    `ahead` is the mean difference of its share from that of the best baseline of the table, and `p` of the two-sided
    paired t-test for it, Holm-corrected for all learners of the table; None for the best baseline itself.
    """

    rank: int | None
    learner: str
    level: str
    policies: str
    worlds: int
    lacking: int  # of these, those that it refused or failed in
    share: Estimate  # mean over worlds, cut to [−1, 1]
    median: float
    worst_tenth: float  # mean of the lowest tenth
    tail_share: float  # median over worlds
    violation: float  # mean per round
    feasible: float  # share of all rounds
    feasible_tail: float
    settled: float | None  # share of worlds with a feasible threshold in which it settled within 0.01 of the best
    claimed_right: float | None  # of the worlds in which nothing of its class is feasible, those where it said so
    claimed_wrong: float | None  # of the others, those where it ever said so
    ahead: Estimate | None = None
    p: float | None = None

    def known(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return {name: value.known() if isinstance(value, Estimate) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class WorldBoard:
    """Rows of each level, best first, and what they are measured by.

    Attributes
    ----------
    levels
        Rows by feedback level.
    baselines
        The best baseline of each level, that others are compared with; levels without one are left out.
    worlds
        Places of the worlds that each level's table is about.
    allowed
        The policies that are ranked.
    threshold
        Mean share of the best fixed threshold of each world in that of the best lottery, 0 where none is feasible.
    """

    levels: Mapping[str, Sequence[WorldRow]]
    baselines: Mapping[str, str]
    worlds: Mapping[str, NDArray[np.int64]]
    allowed: str
    threshold: float

    @property
    def order(self) -> list[str]:
        """All learners, level by level, best first."""
        return [row.learner for rows in self.levels.values() for row in rows]


def rank(matrix: WorldMatrix, allowed: str = "lottery") -> WorldBoard:
    """Rank the learners of every level."""
    measure = SHARES["threshold" if allowed == "threshold" else "lottery"]
    levels: dict[str, Sequence[WorldRow]] = {}
    baselines: dict[str, str] = {}
    worlds: dict[str, NDArray[np.int64]] = {}
    for level in LEVELS:
        members = [name for name, its in matrix.levels.items() if its == level]
        if not members:
            continue
        shares = {name: matrix.figures[name][measure] for name in members}
        here = worlds_of(matrix, level, allowed)
        if not len(here):
            continue
        shapes = np.array([matrix.numbers[place] // PAGE * SHAPES + matrix.numbers[place] % SHAPES for place in here])
        shares = {name: np.nan_to_num(values[here], nan=-1.0) for name, values in shares.items()}
        rows = [_row(matrix, name, shares[name], here, shapes) for name in members]
        rows.sort(key=lambda row: (not _allowed(row.policies, allowed), -row.share.value))
        ranked = [row for row in rows if _allowed(row.policies, allowed)]
        rows = [replace(row, rank=place) for place, row in enumerate(ranked, 1)] + rows[len(ranked) :]
        best = next((row.learner for row in ranked if is_baseline(row.learner)), None)
        if best is not None:
            baselines[level] = best
            rows = _compared(rows, {name: by_shape(_cut(values), shapes) for name, values in shares.items()}, best)
        levels[level], worlds[level] = rows, here
    return WorldBoard(levels, baselines, worlds, allowed, _threshold(matrix))


def worlds_of(matrix: WorldMatrix, level: str, allowed: str) -> NDArray[np.int64]:
    """Return the places of the worlds that a level is judged in: those with a yardstick, and constraints it can see."""
    known = ~np.isnan(matrix.truth["lottery"] - matrix.truth["fair"])
    if allowed == "threshold":
        known &= matrix.truth["feasible"] > 0.0
    if level in ("bandit", "scores"):
        known &= matrix.truth["hidden"] == 0.0
    return np.flatnonzero(known)


def by_shape(values: Array, shapes: NDArray[np.int64]) -> Array:
    """Return the mean over the worlds of each shape.

    >>> by_shape(np.array([0.0, 1.0, 0.5]), np.array([7, 7, 3]))
    array([0.5, 0.5])
    """
    return np.array([values[shapes == shape].mean() for shape in np.unique(shapes)])


def _mean_of(values: Array, shapes: NDArray[np.int64]) -> Estimate:
    """Return the mean over worlds, with the interval of the mean over shapes around it."""
    spread = Estimate.of(by_shape(values, shapes))
    mean = float(values.mean())
    return spread._replace(value=mean, low=spread.low + mean - spread.value, high=spread.high + mean - spread.value)


def _allowed(policies: str, allowed: str) -> bool:
    return POLICIES.index(policies) <= POLICIES.index(allowed)


def _cut(shares: Array) -> Array:
    return np.clip(shares, -1.0, 1.0)


def lowest_tenth(shares: Array) -> float:
    """Return the mean of the lowest tenth.

    >>> lowest_tenth(np.arange(20.0))
    0.5
    """
    return float(np.sort(shares)[: max(1, len(shares) // 10)].mean())


def _row(matrix: WorldMatrix, name: str, shares: Array, here: NDArray[np.int64], shapes: NDArray[np.int64]) -> WorldRow:
    figures = {key: values[here] for key, values in matrix.figures[name].items()}
    played = POLICIES[int(np.nanmax(figures["played"], initial=0.0))]
    return WorldRow(
        rank=None,
        learner=name,
        level=matrix.levels[name],
        policies=max(matrix.policies[name], played, key=POLICIES.index),
        worlds=len(here),
        lacking=int(np.isnan(figures["violation"]).sum()),
        share=_mean_of(_cut(shares), shapes),
        median=float(np.median(shares)),
        worst_tenth=lowest_tenth(shares),
        tail_share=float(np.nanmedian(figures["tail_share"])),
        violation=float(np.nanmean(figures["violation"])),
        feasible=float(np.nanmean(figures["feasible"])),
        feasible_tail=float(np.nanmean(figures["feasible_tail"])),
        settled=_mean(figures["settled"]),
        claimed_right=_mean(figures["claimed_right"]),
        claimed_wrong=_mean(figures["claimed_wrong"]),
    )


def _mean(values: Array) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _compared(rows: Sequence[WorldRow], shares: Mapping[str, Array], best: str) -> list[WorldRow]:
    """Compare every learner with the best baseline, shape by shape."""
    others = [row.learner for row in rows if row.learner != best]
    if not others or len(shares[best]) < 2:
        return list(rows)
    p_values = holm([float(paired_t_test(shares[name] - shares[best])) for name in others])
    corrected = dict(zip(others, p_values.tolist(), strict=True))
    return [
        replace(row, ahead=Estimate.of(shares[row.learner] - shares[best]), p=corrected[row.learner])
        if row.learner != best
        else row
        for row in rows
    ]


def _threshold(matrix: WorldMatrix) -> float:
    """Mean share of the best fixed threshold in what the best lottery earns beyond the fair one."""
    truth = matrix.truth
    share = (truth["threshold"] - truth["fair"]) / (truth["lottery"] - truth["fair"])
    known = ~np.isnan(truth["lottery"] - truth["fair"])
    return float(np.nan_to_num(share[known], nan=0.0).mean()) if known.any() else float("nan")
