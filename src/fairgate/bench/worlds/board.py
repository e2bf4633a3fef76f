"""The board of random worlds: one table per feedback level, ranked by what was played, against the best baseline.

The rule: the mean over worlds of the share of what can be had, violations priced, each share cut to [−1, 1] so that no
single world decides, over all worlds whose constraints a learner of the level can see. A world that a learner refuses
or fails in counts as −1. Ranks, and comparisons with the best baseline, are among learners of one class of policies:
what a lottery may earn, one threshold often cannot. Learners whose policies are not allowed are listed below the others
without a rank.

Worlds of one shape are more alike than others: intervals and tests are over the means of shapes, not over worlds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.bench.share import PRICE, PRICES
from fairgate.bench.worlds.running import WorldMatrix
from fairgate.estimates import Estimate
from fairgate.learners.registry import is_baseline
from fairgate.policy import CLASSES as POLICIES
from fairgate.problem import LEVELS
from fairgate.settings import Array
from fairgate.statistics import holm, paired_t_test
from fairgate.worlds.shapes import PAGE, SHAPES

CLASSES = {"threshold": "one threshold", "lottery": "lotteries", "per-group": "a threshold per group"}
"""What a class of policies is called in a table."""

FEWEST = 5
"""Shapes that an interval, and a test, needs at least: spread over fewer says little of worlds of other shapes."""


@dataclass(frozen=True)
class WorldRow:
    """A learner's line: figures over the worlds of its table; `rank` is None if its policies are not allowed.

    `policies` is the widest class that it says, or was seen, to play in any round, and decides whether it is ranked;
    `among` the class that it is ranked and compared in: what it searches or played in any round of any world, whichever
    is wider, where a lottery that does not look at scores counts as one threshold. `ranks` are those at each of
    :data:`~fairgate.bench.share.PRICES`. `ahead` is the mean difference of its share from that of
    the best baseline of its class, and `p` of the two-sided paired t-test for it, Holm-corrected for all learners of
    the table; None for the best baseline itself, and of fewer than five shapes of worlds.
    """

    rank: int | None
    ranks: tuple[int, ...]
    learner: str
    level: str
    policies: str
    among: str
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
        Rows by feedback level, class by class, best first.
    baselines
        The best baseline of each class of each level, that others are compared with; those without one are left out.
    worlds
        Places of the worlds that each level's table is about.
    shapes
        How many shapes these have.
    allowed
        The policies that are ranked.
    threshold
        Mean share of the best fixed threshold of each world in that of the best lottery, 0 where none is feasible.
    """

    levels: Mapping[str, Sequence[WorldRow]]
    baselines: Mapping[str, Mapping[str, str]]
    worlds: Mapping[str, NDArray[np.int64]]
    shapes: Mapping[str, int]
    allowed: str
    threshold: float

    @property
    def order(self) -> list[str]:
        """All learners, level by level and class by class, best first."""
        return [row.learner for rows in self.levels.values() for row in rows]

    def classes(self, level: str) -> dict[str, list[WorldRow]]:
        """Return the ranked rows of a level by the class they are ranked among, and under "" those without a rank."""
        found: dict[str, list[WorldRow]] = {}
        for row in self.levels[level]:
            found.setdefault(row.among if row.rank else "", []).append(row)
        return found


def shares_at(figures: Mapping[str, Array], allowed: str, price: float = PRICE) -> Array:
    """Return the share of every world at a price of violations, (W,), of what the policies allowed could have."""
    name = "_threshold" if allowed == "threshold" else ""
    return np.asarray(figures[f"unpriced{name}"] - price * figures[f"priced{name}"])


def rank(matrix: WorldMatrix, allowed: str = "per-group") -> WorldBoard:
    """Rank the learners of every level, each among those of its class of policies."""
    levels: dict[str, Sequence[WorldRow]] = {}
    baselines: dict[str, dict[str, str]] = {}
    worlds: dict[str, NDArray[np.int64]] = {}
    counts: dict[str, int] = {}
    for level in LEVELS:
        members = [name for name, its in matrix.levels.items() if its == level]
        here = worlds_of(matrix, level, allowed)
        if not members or not len(here):
            continue
        shapes = np.array([matrix.numbers[place] // PAGE * SHAPES + matrix.numbers[place] % SHAPES for place in here])
        priced = {
            price: {name: _known(shares_at(matrix.figures[name], allowed, price)[here]) for name in members}
            for price in PRICES
        }
        rows = [_row(matrix, name, priced[PRICE][name], here, shapes) for name in members]
        rows.sort(key=lambda row: (not _allowed(row.policies, allowed), POLICIES.index(row.among), -row.share.value))
        means = {price: {name: float(_cut(each).mean()) for name, each in priced[price].items()} for price in PRICES}
        rows = _ranked(rows, means, allowed)
        best: dict[str, str] = {}
        for row in rows:
            if row.rank and is_baseline(row.learner):
                best.setdefault(row.among, row.learner)
        baselines[level] = best
        rows = _compared(rows, {name: by_shape(_cut(values), shapes) for name, values in priced[PRICE].items()}, best)
        levels[level], worlds[level], counts[level] = rows, here, len(np.unique(shapes))
    return WorldBoard(levels, baselines, worlds, counts, allowed, _threshold(matrix))


def _ranked(rows: Sequence[WorldRow], means: Mapping[float, Mapping[str, float]], allowed: str) -> list[WorldRow]:
    """Give every learner whose policies are allowed its rank within its class, at each price."""
    found = []
    for row in rows:
        if not _allowed(row.policies, allowed):
            found.append(row)
            continue
        rivals = [each.learner for each in rows if each.among == row.among and _allowed(each.policies, allowed)]
        ranks = tuple(1 + sum(each[other] > each[row.learner] for other in rivals) for each in means.values())
        found.append(replace(row, rank=ranks[PRICES.index(PRICE)], ranks=ranks))
    return found


def _known(shares: Array) -> Array:
    """Count a world that a learner refused or failed in as −1."""
    return np.nan_to_num(shares, nan=-1.0)


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


def estimate_of(values: Array) -> Estimate:
    """Estimate a mean over shapes; without an interval if there are too few of them.

    >>> estimate_of(np.array([0.2, 0.4])).known()
    {'value': 0.30000000000000004, 'seeds': 2}
    """
    found = Estimate.of(values)
    return found if len(values) >= FEWEST else Estimate(found.value, seeds=len(values))


def _mean_of(values: Array, shapes: NDArray[np.int64]) -> Estimate:
    """Return the mean over worlds, with the interval of the mean over shapes around it."""
    spread = estimate_of(by_shape(values, shapes))
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
    played, by_score = (POLICIES[int(np.nanmax(figures[each], initial=0.0))] for each in ("played", "played_by_score"))
    return WorldRow(
        rank=None,
        ranks=(),
        learner=name,
        level=matrix.levels[name],
        policies=max(matrix.policies[name], played, key=POLICIES.index),
        among=max(matrix.searched[name], by_score, key=POLICIES.index),
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


def _compared(rows: Sequence[WorldRow], shares: Mapping[str, Array], best: Mapping[str, str]) -> list[WorldRow]:
    """Compare every learner with the best baseline of its class, shape by shape."""
    pairs = {row.learner: best[row.among] for row in rows if best.get(row.among, row.learner) != row.learner}
    differences = {name: shares[name] - shares[baseline] for name, baseline in pairs.items()}
    enough = bool(differences) and min(map(len, differences.values())) >= FEWEST
    p_values = holm([float(paired_t_test(each)) for each in differences.values()]).tolist() if enough else []
    corrected = dict(zip(differences, p_values, strict=False))
    return [
        replace(row, ahead=estimate_of(differences[row.learner]), p=corrected.get(row.learner))
        if row.learner in differences
        else row
        for row in rows
    ]


def _threshold(matrix: WorldMatrix) -> float:
    """Mean share of the best fixed threshold in what the best lottery earns beyond the fair one."""
    truth = matrix.truth
    share = (truth["threshold"] - truth["fair"]) / (truth["lottery"] - truth["fair"])
    known = ~np.isnan(truth["lottery"] - truth["fair"])
    return float(np.nan_to_num(share[known], nan=0.0).mean()) if known.any() else float("nan")
