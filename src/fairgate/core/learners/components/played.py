"""Played: check whether a learner's proposal was played or overridden."""

from __future__ import annotations

from fairgate.arrays import Array
from fairgate.core.policy import Policy

NEAR = 1e-6
"""Fraction of the grid's interval within which thresholds count as equal: compiled code may round one in two ways."""


def as_proposed(grid: Array, played: Policy, threshold: Array) -> Array:
    """Return whether this threshold was played for all groups, ().

    >>> import numpy as np
    >>> bool(as_proposed(np.array([0.0, 1.0]), Policy.per_group(np.array([0.5, 0.6])), 0.5))
    False
    """
    return (abs(played.thresholds - threshold) <= NEAR * (grid[-1] - grid[0])).all()


def arm_played(grid: Array, played: Policy) -> Array:
    """Return 1 at the grid index of the single threshold played for all groups, and 0 elsewhere, (K,).

    All values are 0 if thresholds differed by group, a lottery was drawn, or the threshold is not in the grid.

    >>> import numpy as np
    >>> grid = np.array([0.0, 0.5])
    >>> arm_played(grid, Policy.at(np.array(0.5))), arm_played(grid, Policy.per_group(grid))
    (array([0., 1.]), array([0., 0.]))
    """
    single = played.thresholds[played.weights.argmax()]
    return ((grid[:, None] == single).all(axis=1) & (played.weights.max() >= 1.0)) * 1.0
