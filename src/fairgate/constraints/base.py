"""What every constraint offers, and the gap that several of them measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fairgate.confidence import Box
from fairgate.counts import Counts, across_groups
from fairgate.errors import InputError
from fairgate.settings import Array, Number


class Constraint(Protocol):
    """Anything with `names` and `residuals`: a built-in constraint or a user's own.

    `residuals(counts)` returns one array (…, replicates) a name, each ≤ 0 exactly when met. The built-in ones also
    have `labels`, which says whether the labels of rejected people are needed.
    """

    @property
    def names(self) -> Sequence[str]:
        """Return a short name for each residual."""

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return one array (…, replicates) a name."""


class DecisionConstraint(Constraint, Protocol):
    """A constraint on decisions alone, so that bounds on acceptance rates bound its residuals.

    The axes of the box are those of the residuals, (…, replicates), and (…, replicates, groups) for the rates.
    """

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest value of each residual while the rates lie in the box; above 0 it is broken for sure."""

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest value of each residual while the rates lie in the box; at most 0 it is met for sure."""


def share_of(part: Array, whole: Array) -> Array:
    """Return part / whole, NaN where there is nobody."""
    return np.asarray(np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0))


def gap_of(rates: Array) -> Array:
    """Return largest minus smallest of the rates (…, groups) that are known; 0 if fewer than two are.

    >>> gap_of(np.array([[0.25, 0.75, np.nan], [0.25, np.nan, np.nan], [np.nan, np.nan, np.nan]]))
    array([0.5, 0. , 0. ])
    """
    gap = across_groups(np.fmax, rates) - across_groups(np.fmin, rates)
    return np.asarray(np.where(np.isnan(gap), 0.0, gap))


def compare_groups(constraint: object, count: int) -> None:
    """Say so if there are not at least two groups to compare."""
    if count < 2:
        raise InputError(f"{type(constraint).__name__} compares groups and needs at least 2, got {count} group")


def check_window(constraint: object, low: Number, high: Number) -> None:
    """Say so if a window of rates is empty."""
    if not np.all(np.asarray(low) < np.asarray(high)):
        kind = type(constraint).__name__
        raise InputError(f"{kind}: the window is empty, low must be below high, got {low}:{high}")
