r"""Sequences: acceptance by group and overall, the gap and the ratio, with bounds that hold at every look together.

Each of the acceptance rates followed, everybody's and each group's, is bounded by
:func:`fairgate.confidence.running_bounds` at the level α divided by how many rates there are. So all of them hold
together, at all looks, with probability at least 1 − α, and everything that follows from them does, too: the gap, the
ratio and every constraint cost nothing more. What is bounded is the average so far, each group's
over its own people, which may change as decisions do. Constraints that compare groups are also judged by averages with
the same weights of looks in both groups (:func:`fairgate.constraints.bounds.common_bounds`), with an equal part of α
for each of their rates.

A table that is complete is one look, and bounds are exact intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.confidence import clopper_pearson, gap_range, running_bounds
from fairgate.constraints.bounds import PairBounds, RateBounds, common_bounds, counting_labels
from fairgate.settings import Array


@dataclass(frozen=True, eq=False)
class Track:
    """A figure at every look, (T, …), and its bounds; NaN as long as nobody has come."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Sequences:
    """What is known of decisions at every look.

    Attributes
    ----------
    name
        Whose decisions: "all decisions", or those of a policy.
    level
        Probability that any bound ever misses.
    looks
        Numbers of the looks at which there was something new, (T,).
    people
        People so far by group, (T, G).
    overall, rates, gap, ratio
        Figures: everybody's acceptance (T,), that of groups (T, G), largest minus smallest (T,), and smallest by
        largest (T,); the last two are None of a single group.
    known
        Bounds of all rates, from which constraints are judged.
    alike
        Bounds with the same weights of looks in both groups, for constraints that compare groups; None if each group's
        own people count there, too.
    once
        Whether this is one look at what is complete.
    accepted, came
        The accepted and all people of every rate, (1 + 3 G,), at the last look; nobody where labels are not followed.
    counting
        People so far by group, label and decision, (T, G, 3, 2), of looks whose labels count.
    uncounted
        Number of looks whose labels do not count.
    """

    name: str
    level: float
    looks: NDArray[np.int64]
    people: NDArray[np.int64]
    overall: Track
    rates: Track
    gap: Track | None
    ratio: Track | None
    known: RateBounds
    alike: PairBounds | None
    once: bool
    accepted: Array
    came: Array
    counting: NDArray[np.int64]
    uncounted: int


def follow(
    name: str, counts: NDArray[np.int64], level: float, *, labels: bool, alike: bool = True, once: bool = False
) -> Sequences:
    """Follow decisions counted by look, group, label and decision, (T, G, 3, 2).

    With `labels`, acceptance among people of label 0 and of label 1 is followed as well, at a part of the level. Labels
    of a look count only if they are known of its accepted and rejected people alike. With `alike`, rates of groups are
    bounded with the same weights of looks, too. With `once`, there is a single look.
    """
    seen = np.flatnonzero(counts.any(axis=(1, 2, 3)))
    fresh = counts[seen]
    groups = counts.shape[1]
    by_group = fresh.sum(axis=2)  # (T, G, 2)
    parts = [by_group.sum(axis=1, keepdims=True), by_group]
    counts_too = counting_labels(fresh)
    counting = np.where(counts_too[:, None, None, None], fresh, 0)
    if labels:
        parts += [counting[:, :, 0], counting[:, :, 1]]
    cells = np.concatenate(parts, axis=1)  # (T, rates, 2)
    accepted, people = cells[..., 1], cells.sum(axis=-1)
    both = alike and not once
    part = level / (2 * cells.shape[1] - 1 if both else cells.shape[1])
    low, high = clopper_pearson(accepted, people, part) if once else running_bounds(accepted, people, part)
    taken, total = accepted.cumsum(axis=0), people.cumsum(axis=0)
    value = np.divide(taken, total, out=np.full(total.shape, np.nan), where=total > 0)
    low, high = np.where(total > 0, low, 0.0), np.where(total > 0, high, 1.0)
    each = slice(1, 1 + groups)
    rates = Track(value[:, each], low[:, each], high[:, each])
    families = [slice(begin, begin + groups) for begin in range(1, cells.shape[1], groups)]
    same = [common_bounds(accepted[:, family], people[:, family], part) for family in families] if both else []

    def padded(values: Array, unknown: float) -> Array:
        return np.pad(values, ((0, 0), (0, 1 + 3 * groups - cells.shape[1])), constant_values=unknown)

    return Sequences(
        name=name,
        level=level,
        looks=seen,
        people=total[:, each],
        overall=Track(value[:, 0], low[:, 0], high[:, 0]),
        rates=rates,
        gap=_gap(rates) if groups > 1 else None,
        ratio=_ratio(rates) if groups > 1 else None,
        known=RateBounds(padded(low, 0.0), padded(high, 1.0)),
        alike=PairBounds.of((low[:, 0], high[:, 0]), same) if both else None,
        once=once,
        accepted=padded(taken[-1:], 0.0)[0],
        came=padded(total[-1:], 0.0)[0],
        counting=counting.cumsum(axis=0),
        uncounted=int((~counts_too).sum()),
    )


def _gap(rates: Track) -> Track:
    value = np.fmax.reduce(rates.value, axis=1) - np.fmin.reduce(rates.value, axis=1)
    return Track(value, *gap_range(rates.low, rates.high))


def _ratio(rates: Track) -> Track:
    largest = np.fmax.reduce(rates.value, axis=1)
    value = np.divide(
        np.fmin.reduce(rates.value, axis=1), largest, out=np.full(largest.shape, np.nan), where=largest > 0
    )
    return Track(value, *ratio_range(rates.low, rates.high))


def ratio_range(low: Array, high: Array) -> tuple[Array, Array]:
    r"""Return the smallest and the largest ratio, smallest by largest rate, of rates between `low` and `high`, (…, G).

    .. math:: \min_{a \ne b} L_a / U_b \le \min_g acc_g / \max_g acc_g \le \min\big(1, \min_a U_a / \max_b L_b\big)

    >>> smallest, largest = ratio_range(np.array([0.2, 0.5]), np.array([0.4, 0.8]))
    >>> smallest.round(2), largest.round(2)
    (np.float64(0.25), np.float64(0.8))
    """
    first, second = np.sort(high, axis=-1)[..., -1:], np.sort(high, axis=-1)[..., -2:-1]
    other = np.where(high == first, second, first)  # the largest of another group; the same if two share it
    smallest = np.divide(low, other, out=np.zeros(low.shape), where=other > 0).min(axis=-1)
    bottom, top = low.max(axis=-1), high.min(axis=-1)
    largest = np.divide(top, bottom, out=np.ones(top.shape), where=bottom > 0)
    return np.minimum(smallest, 1.0), np.minimum(largest, 1.0)
