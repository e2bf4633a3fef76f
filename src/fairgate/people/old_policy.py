"""Old policy: the threshold that past decisions were made by, as far as they tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.values import listed
from fairgate.policy import Policy
from fairgate.settings import Array

Whole = NDArray[Any]

CUTOFF = float | Sequence[float] | Mapping[str, float]
"""A cut-off for all groups, or one per group, in their order or by name."""


class OldPolicy(NamedTuple):
    """The old policy as a threshold of the grid, as far as the decisions tell it.

    Attributes
    ----------
    shared
        Place in the grid of the one threshold that explains the most decisions, (R,); of several the highest, below
        which hardly anybody was accepted.
    explained
        Share of the decisions that it explains, (R,): 1 if exactly those at or above it were accepted.
    per_group
        The same for each group by itself, (R, G); a group of nobody has the shared one.
    explained_per_group
        Share of all decisions that these explain together, (R,).
    given
        Whether the threshold was given, not found.
    """

    shared: Whole
    explained: Array
    per_group: Whole
    explained_per_group: Array
    given: bool

    def policy(self, grid: Array, *, per_group: bool = False) -> Policy:
        """Return the old policy, with one threshold for all groups or one for each."""
        groups = self.per_group.shape[1]
        return Policy.of(grid[self.per_group]) if per_group else Policy.shared(grid[self.shared], groups)


def find_old_policy(people: Whole, accepted: Whole, grid: Array, cutoffs: Sequence[Sequence[float]] = ()) -> OldPolicy:
    """Return the thresholds of a grid that explain decisions best, or are nearest to given cut-offs, (1 or R, G).

    `people` and `accepted` are by replicate, group and score bin, (R, G, K + 1).

    >>> people, accepted = np.array([[[4, 3, 2]]]), np.array([[[0, 3, 2]]])
    >>> found = find_old_policy(people, accepted, np.array([0.3, 0.6]))
    >>> found.shared, found.explained
    (array([0]), array([1.]))
    """
    missed = accepted.cumsum(axis=2)[..., :-1]  # accepted though below each threshold, (R, G, K)
    spared = (people - accepted)[..., :0:-1].cumsum(axis=2)[..., ::-1]  # rejected though not below it
    by_group = people.sum(axis=2)
    right = by_group[..., None] - missed - spared
    total = np.maximum(by_group.sum(axis=1), 1)
    if cutoffs:
        apart = np.broadcast_to(np.abs(grid - np.array(cutoffs)[..., None]), right.shape)
        each, shared = apart.argmin(axis=2), (by_group[..., None] * apart).sum(axis=1).argmin(axis=1)
    else:
        shared = _last_best(right.sum(axis=1))
        each = np.where(by_group > 0, _last_best(right), shared[:, None])
    explained = np.take_along_axis(right.sum(axis=1), shared[:, None], axis=1)[:, 0] / total
    per_group = np.take_along_axis(right, each[..., None], axis=2).sum(axis=(1, 2)) / total
    return OldPolicy(shared, explained, each, per_group, bool(cutoffs))


def cutoffs_of(threshold: Any, names: Sequence[str]) -> tuple[float, ...]:
    """Return the cut-off of each group.

    >>> cutoffs_of(0.5, ["f", "m"]), cutoffs_of({"m": 0.4, "f": 0.6}, ["f", "m"])
    ((0.5, 0.5), (0.6, 0.4))
    """
    if isinstance(threshold, Mapping):
        if set(threshold) != set(names):
            raise InputError(f"threshold must have a cut-off for each of {listed(names)}, got {dict(threshold)!r}")
        threshold = [threshold[name] for name in names]
    try:
        found = np.asarray(threshold, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if found.ndim == 0:
        found = np.repeat(found, len(names))
    if found.shape != (len(names),) or not np.isfinite(found).all():
        raise InputError(f"threshold must be a number, or one for each of {listed(names)}, got {threshold!r}")
    return tuple(found.tolist())


def _last_best(right: Whole) -> Whole:
    """Return the last place of the largest along the last axis."""
    return np.asarray(right.shape[-1] - 1 - right[..., ::-1].argmax(axis=-1))
