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
    looked_at = {tuple(np.flatnonzero(row)) for row in rows}
    level = 1.0 - (1.0 - LEVEL) / len(looked_at)
    low, high = wilson(observed * sizes, np.broadcast_to(sizes, observed.shape), level)
    below, above = observed - low, high - observed
    largest, reach = np.full(len(observed), -np.inf), np.full(len(observed), -np.inf)
    spreads: dict[bytes, Array] = {}
    for row in rows:
        at = np.flatnonzero(row)
        weights = row[at]
        value = observed[:, at] @ weights
        turned = (row * np.sign(weights[0])).tobytes()  # a line and its opposite deviate alike
        if turned not in spreads:
            spreads[turned] = deviation(resampled[..., at] @ weights, value)
        further = np.where(weights > 0.0, above[:, at], below[:, at]) * weights
        most = np.minimum(value + np.sqrt((further**2).sum(axis=1)), np.maximum(weights, 0.0).sum())
        largest = np.maximum(largest, value)
        reach = np.maximum(reach, np.maximum(most, value + caution * spreads[turned]))
    return np.asarray(np.maximum(reach - largest, 0.0) / caution)
