r"""Errors: how far residuals may be off, from resampled tables and from intervals of rates.

Resampling a gap would call a small one surer than it is, since it cannot fall below 0. So a residual that is the
largest of several straight lines in acceptance rates (:mod:`fairgate.constraints.pieces`) is judged by these: each line
has its signed value v with its error s, and the residual may be as large as the largest v + 2 s; and never less than
what the intervals of the rates allow, which know that a rate of 0 of ten people is not certain, and how many pairs of
groups are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairgate.advice.intervals import LEVEL, wilson
from fairgate.constraints import Constraint
from fairgate.settings import Array


def deviation(resampled: Array, observed: Array) -> Array:
    """Root mean squared deviation of resamples, the axis before the last, from what was observed."""
    return np.asarray(np.sqrt(((resampled - observed) ** 2).mean(axis=-2)))


def residual_errors(
    constraints: Sequence[Constraint],
    errors: Array,
    resampled: Array,
    observed: Array,
    sizes: Array,
    caution: float,
) -> Array:
    """Return errors (J, K) of residuals, raised to what their straight lines allow; see :func:`largest_errors`."""
    groups, found, first = (observed.shape[-1] - 1) // 3, errors.copy(), 0
    for constraint in constraints:
        for place, (rows, _) in enumerate(constraint.pieces(groups) or (), first):
            found[place] = np.maximum(errors[place], largest_errors(rows, resampled, observed, sizes, caution))
        first += len(constraint.names)
    return found


def largest_errors(rows: Array, resampled: Array, observed: Array, sizes: Array, caution: float) -> Array:
    """Return the error of the largest of several straight lines at each threshold, (K,).

    Parameters
    ----------
    rows
        The lines, (M, P).
    resampled, observed
        Acceptance rates of P populations, (R, K, P) and (K, P).
    sizes
        People of each population, (P,); lines that look at one without anybody are left out.
    caution
        How many errors a line may reach beyond its value.

    Examples
    --------
    >>> from fairgate.constraints.pieces import differences
    >>> rates = np.random.default_rng(0).normal(0.5, 0.1, (1000, 1, 7))
    >>> largest_errors(differences(2), rates, np.full((1, 7), 0.5), np.full(7, 1e4), 2.0).round(2)     # 0.1 · √2
    array([0.14])
    """
    rows = rows[~(rows[:, sizes <= 0] != 0.0).any(axis=1)]
    if not len(rows):
        return np.zeros(len(observed))
    used = np.flatnonzero(rows.any(axis=0))
    resampled, rates = (np.ascontiguousarray(np.moveaxis(each[..., used], -1, 0)) for each in (resampled, observed))
    compared = [tuple(np.flatnonzero(row)) for row in rows[:, used]]
    level = 1.0 - (1.0 - LEVEL) / len(set(compared))
    low, high = wilson(rates * sizes[used, None], np.broadcast_to(sizes[used, None], rates.shape), level)
    below, above = rates - low, high - rates
    largest, reach = np.full(len(observed), -np.inf), np.full(len(observed), -np.inf)
    spreads: dict[bytes, Array] = {}
    for row, at in zip(rows[:, used], compared, strict=True):
        value = sum(row[k] * rates[k] for k in at)
        turned = (row * np.sign(row[at[0]])).tobytes()  # a line and its opposite deviate alike
        if turned not in spreads:
            spreads[turned] = deviation(sum(row[k] * resampled[k] for k in at), value)
        further = sum((row[k] * (above if row[k] > 0.0 else below)[k]) ** 2 for k in at)
        most = np.minimum(value + np.sqrt(further), np.maximum(row, 0.0).sum())
        largest = np.maximum(largest, value)
        reach = np.maximum(reach, np.maximum(most, value + caution * spreads[turned]))
    return np.asarray(np.maximum(reach - largest, 0.0) / caution)
