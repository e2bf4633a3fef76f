r"""Intervals of rates and gaps for one look at a table, and margins of residuals.

They hold with the stated probability for one threshold chosen beforehand; ``fairgate.confidence`` has bounds for
learners that look again and again, and :mod:`fairgate.advice.guarantee` a promise for a threshold that is chosen by the
same table.

Resampling a gap would call a small one surer than it is, since it cannot fall below 0. So a residual that is the
largest of several straight lines in acceptance rates (:mod:`fairgate.constraints.pieces`) is judged by these: each line
has its signed value v with its error s, and the residual may be as large as the largest v + z s; and never less than
what the intervals of the rates allow, which know that a rate of 0 of ten people is not certain.

References
----------
.. [1] R. G. Newcombe. Interval estimation for the difference between independent proportions: comparison of eleven
   methods. Statistics in Medicine, 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from fairgate.constraints import Constraint
from fairgate.estimates import LEVEL, wilson
from fairgate.settings import Array

ANYTHING = 1e6
"""A margin that no residual keeps."""


def gap_interval(accepted: ArrayLike, people: ArrayLike) -> tuple[Array, Array]:
    r"""Return an interval of the gap, largest minus smallest acceptance rate, from counts (…, groups).

    For two groups it is Newcombe's interval [1]_ of the *signed* difference, made of Wilson's for each rate,

    .. math:: d - \sqrt{(p_0 - l_0)^2 + (u_1 - p_1)^2} \le p_0 - p_1 \le d + \sqrt{(u_0 - p_0)^2 + (p_1 - l_1)^2},

    folded at 0. The sign is what keeps it honest: resampling the gap itself never sees a gap of 0. Among more
    groups, every pair has an interval at a level that makes all of them hold together.

    >>> low, high = gap_interval([300, 310], [500, 500])
    >>> low.round(3), high.round(3)
    (np.float64(0.0), np.float64(0.08))
    """
    taken, came = np.asarray(accepted, dtype=np.float64), np.asarray(people, dtype=np.float64)
    pairs = list(combinations(range(came.shape[-1]), 2))
    if not pairs:
        return np.zeros(taken.shape[:-1]), np.zeros(taken.shape[:-1])
    rate = taken / np.maximum(came, 1.0)
    low, high = wilson(taken, came, 1.0 - (1.0 - LEVEL) / len(pairs))
    ends = []
    for a, b in pairs:
        difference = rate[..., a] - rate[..., b]
        least = difference - np.hypot(rate[..., a] - low[..., a], high[..., b] - rate[..., b])
        most = difference + np.hypot(high[..., a] - rate[..., a], rate[..., b] - low[..., b])
        ends.append((np.maximum(np.maximum(least, -most), 0.0), np.maximum(-least, most)))
    lowest, highest = (np.stack(end).max(axis=0) for end in zip(*ends, strict=True))
    return lowest, np.minimum(highest, 1.0)


def deviation(resampled: Array, observed: Array) -> Array:
    """Root mean squared deviation of resamples, the axis before the last, from what was observed."""
    return np.asarray(np.sqrt(((resampled - observed) ** 2).mean(axis=-2)))


def residual_margins(
    constraints: Sequence[Constraint], errors: Array, resampled: Array, observed: Array, sizes: Array, sure: float
) -> Array:
    """Return margins (J, K): a residual that is lower than minus its margin is at most 0 with probability `sure`.

    They are z standard `errors` (J, K), or what straight lines call for, see :func:`largest_margin`.
    """
    groups, margins, first = (observed.shape[-1] - 1) // 3, float(ndtri(sure)) * errors, 0
    for constraint in constraints:
        for place, (rows, _) in enumerate(constraint.pieces(groups) or (), first):
            margins[place] = np.maximum(margins[place], largest_margin(rows, resampled, observed, sizes, sure))
        first += len(constraint.names)
    return margins


def largest_margin(rows: Array, resampled: Array, observed: Array, sizes: Array, sure: float) -> Array:
    """Return how far the largest of several straight lines (M, P) may lie above what it is on these people, (K,).

    Each line alone may with probability `sure`; to show that all are kept, no more is needed. Acceptance rates of P
    populations are `resampled` (R, K, P) and `observed` (K, P); a line that looks at a population without anybody,
    going by their `sizes` (P,), may lie anywhere.

    >>> from fairgate.constraints.pieces import differences
    >>> rates = np.random.default_rng(0).normal(0.5, 0.1, (1000, 1, 7))
    >>> largest_margin(differences(2), rates, np.full((1, 7), 0.5), np.full(7, 1e4), 0.9).round(2)     # 1.28 · 0.1 · √2
    array([0.18])
    """
    if (rows[:, sizes <= 0] != 0.0).any():
        return np.full(len(observed), ANYTHING)
    if not len(rows):
        return np.zeros(len(observed))
    used = np.flatnonzero(rows.any(axis=0))
    resampled, rates = (np.ascontiguousarray(np.moveaxis(each[..., used], -1, 0)) for each in (resampled, observed))
    low, high = wilson(
        rates * sizes[used, None], np.broadcast_to(sizes[used, None], rates.shape), 1.0 - 2.0 * (1.0 - sure)
    )
    below, above = rates - low, high - rates
    largest, reach = np.full(len(observed), -np.inf), np.full(len(observed), -np.inf)
    spreads: dict[bytes, Array] = {}
    for row in rows[:, used]:
        at = np.flatnonzero(row)
        value = sum(row[k] * rates[k] for k in at)
        turned = (row * np.sign(row[at[0]])).tobytes()  # a line and its opposite deviate alike
        if turned not in spreads:
            spreads[turned] = deviation(sum(row[k] * resampled[k] for k in at), value)
        further = sum((row[k] * (above if row[k] > 0.0 else below)[k]) ** 2 for k in at)
        most = np.minimum(value + np.sqrt(further), np.maximum(row, 0.0).sum())
        largest = np.maximum(largest, value)
        reach = np.maximum(reach, np.maximum(most, value + float(ndtri(sure)) * spreads[turned]))
    return np.asarray(np.maximum(reach - largest, 0.0))
