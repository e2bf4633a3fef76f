"""Bounds: what is known of a constraint's residuals while the acceptance rates are known to lie between bounds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.confidence import Box
from fairgate.constraints.base import Constraint
from fairgate.errors import InputError
from fairgate.settings import Array

BROKEN, MET, UNDECIDED = "broken", "met", "undecided"

UNEVEN = 0.05
"""Largest difference between the shares of accepted and of rejected people with a label, that labels are relied on."""


class RateBounds(NamedTuple):
    """Bounds of acceptance rates, (…, 1 + 3 G) each: of everybody, each group, its people of label 0, and of label 1.

    Of a rate nothing is known of, the bounds are 0 and 1.
    """

    low: Array
    high: Array

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.low.shape[-1] - 1) // 3

    @property
    def box(self) -> Box:
        """The bounds that labels have nothing to do with."""
        each = slice(1, 1 + self.groups)
        return Box(self.low[..., each], self.high[..., each], self.low[..., 0], self.high[..., 0])


def residual_bounds(constraint: Constraint, known: RateBounds) -> tuple[Array, Array] | None:
    """Return the smallest and the largest that each residual can be, (J, …) each; None if that cannot be told.

    Above 0 the smallest says that the constraint is broken; at most 0 the largest says that it is met.

    >>> from fairgate.constraints import DemographicParity, EqualOpportunity
    >>> low = np.array([0.5, 0.3, 0.6, 0.0, 0.0, 0.4, 0.7])
    >>> known = RateBounds(low, low + 0.1)                    # of two groups
    >>> lowest, highest = residual_bounds(DemographicParity(0.15), known)
    >>> lowest.round(2), highest.round(2)
    (array([0.05]), array([0.25]))
    >>> lowest, highest = residual_bounds(EqualOpportunity(0.25), known)
    >>> lowest.round(2), highest.round(2)
    (array([-0.05]), array([0.15]))
    """
    if constraint.compares_groups and known.groups < 2:
        raise InputError(f"{constraint.text} compares groups and needs at least 2, got {known.groups} group")
    if constraint.needs == "decisions" and constraint.bounded:
        return np.stack(constraint.lowest(known.box)), np.stack(constraint.highest(known.box))
    pieces = constraint.pieces(known.groups)
    if pieces is None:
        return None
    lowest, highest = [], []
    for rows, limit in pieces:
        up, down = np.maximum(rows, 0.0).T, np.minimum(rows, 0.0).T
        lowest.append((known.low @ up + known.high @ down).max(axis=-1) - limit)
        highest.append((known.high @ up + known.low @ down).max(axis=-1) - limit)
    return np.stack(lowest), np.stack(highest)


def verdict(lowest: float, highest: float) -> str:
    """Say what bounds of a residual tell.

    >>> verdict(0.01, 0.2), verdict(-0.2, -0.01), verdict(-0.1, 0.1)
    ('broken', 'met', 'undecided')
    """
    return BROKEN if lowest > 0.0 else MET if highest <= 0.0 else UNDECIDED


def label_gaps(people: NDArray[Any]) -> tuple[str, str]:
    """Say why acceptance among people of a label cannot be told, or else what must be kept in mind; nothing if nothing.

    `people` are by group, label (0, 1, missing) and decision, (G, 3, 2).

    >>> label_gaps(np.array([[[0, 5], [0, 5], [10, 0]]]))[0]
    'By group, labels are known of 100% of the accepted and 0% of the rejected: too few of the rejected to tell.'
    """
    everybody = people.sum(axis=1)  # (G, 2)
    known = np.divide(people[:, :2].sum(axis=1), everybody, out=np.ones(everybody.shape), where=everybody > 0)
    shares = f"labels are known of {_range(known[:, 1])} of the accepted and {_range(known[:, 0])} of the rejected"
    if (np.abs(known[:, 1] - known[:, 0]) > UNEVEN).any():
        whom = "rejected" if known[:, 0].min() < known[:, 1].min() else "accepted"
        return f"By group, {shares}: too few of the {whom} to tell.", ""
    return "", f"Among people with a label only: by group, {shares}." if (known < 1.0).any() else ""


def _range(shares: Array) -> str:
    low, high = f"{shares.min():.0%}", f"{shares.max():.0%}"
    return low if low == high else f"{low} to {high}"
