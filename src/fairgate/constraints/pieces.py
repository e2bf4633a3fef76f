r"""Pieces: a residual as the largest of several straight lines in acceptance rates, such as all signed differences.

So written, the best lottery is a linear program, and errors are those of lines, which may go either way. The rates are
those of everybody, of each group, of each group's people of label 0, and of label 1: 1 + 3 G of them.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np

from fairgate.counts import Counts, across_groups, per_person
from fairgate.settings import Array


class Pieces(NamedTuple):
    """A residual, the largest of ``rows @ rates - limit``: rows (M, 1 + 3 G), one limit."""

    rows: Array
    limit: float


def rates_of(counts: Counts) -> tuple[Array, Array]:
    """Return the acceptance rates, NaN where there is nobody, and the sizes of all populations, (…, 1 + 3 G).

    >>> rates, sizes = rates_of(Counts([[[3, 1], [1, 5]], [[1, 2], [0, 7]]]))
    >>> rates.round(2)                          # everybody; by group; of label 0; of label 1
    array([0.75, 0.6 , 0.9 , 0.25, 0.67, 0.83, 1.  ])
    >>> sizes
    array([20, 10, 10,  4,  3,  6,  7])
    """
    by_label = counts.cells.sum(axis=-1)
    accepted = counts.cells[..., 1]
    whole = [counts.total[..., None], counts.people, by_label[..., 0], by_label[..., 1]]
    taken = [across_groups(np.add, counts.accepted)[..., None], counts.accepted, accepted[..., 0], accepted[..., 1]]
    sizes, part = np.concatenate(whole, axis=-1), np.concatenate(taken, axis=-1)
    return per_person(part, sizes), sizes


def everybody(groups: int) -> Array:
    """Return the row that reads everybody's acceptance rate, (1, 1 + 3 G)."""
    return np.eye(1, 1 + 3 * groups)


def each_group(groups: int, label: int | None = None) -> Array:
    """Return the rows that read each group's acceptance rate, or that of its people with a label, (G, 1 + 3 G)."""
    return np.eye(groups, 1 + 3 * groups, 1 if label is None else 1 + (1 + label) * groups)


def differences(groups: int, label: int | None = None, ratio: float = 1.0) -> Array:
    """Return the rows that read `ratio` times a group's rate minus another's, for all ordered pairs."""
    each = each_group(groups, label)
    return np.array([ratio * one - other for one, other in permutations(each, 2)]).reshape(-1, each.shape[1])
