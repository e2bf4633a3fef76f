"""Counts: the people of one batch, by group × label × decision, and the rates everything else is made of.

The only thing that leaves an environment. The same class reads sampled counts and exact
probabilities, so batch signals, population truth and the oracle can never disagree.
"""

from __future__ import annotations

from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.settings import Array

Cells = NDArray[Any]


class Counts:
    """People, or probabilities, by group × label × decision, with the rates they imply.

    Parameters
    ----------
    cells
        Array of shape (…, replicates, groups, 2, 2): ``cells[…, g, y, d]`` is the number (or
        probability) of people of group g with label y and decision d.

    Examples
    --------
    One replicate, two groups of 10: 6 and 9 accepted.

    >>> counts = Counts([[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]])
    >>> counts.accepted
    array([[6, 9]])
    >>> counts.rates
    array([[0.6, 0.9]])
    >>> counts.overall.round(2), counts.gap.round(2)
    (array([0.75]), array([0.3]))
    """

    def __init__(self, cells: Any) -> None:
        self.cells: Cells = np.asarray(cells)
        if self.cells.ndim < 3 or self.cells.shape[-2:] != (2, 2):
            raise InputError(f"cells must have shape (…, groups, 2, 2), got {self.cells.shape}")

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return int(self.cells.shape[-3])

    @cached_property
    def accepted(self) -> Array:
        """Accepted people, (…, groups)."""
        return np.asarray(self.cells[..., 0, 1] + self.cells[..., 1, 1])

    @cached_property
    def people(self) -> Array:
        """All people, (…, groups)."""
        return np.asarray(self.accepted + self.cells[..., 0, 0] + self.cells[..., 1, 0])

    @cached_property
    def total(self) -> Array:
        """All people of all groups, (…,)."""
        return across_groups(np.add, self.people)

    @cached_property
    def rates(self) -> Array:
        """Acceptance rate of each group, (…, groups); NaN for a group with nobody in the batch."""
        unknown = np.full_like(self.people, np.nan, dtype=np.float64)  # laid out as the cells are, which is faster
        return np.asarray(np.divide(self.accepted, self.people, out=unknown, where=self.people > 0))

    @cached_property
    def overall(self) -> Array:
        """Acceptance rate of everybody, (…,)."""
        return np.asarray(across_groups(np.add, self.accepted) / self.total)

    @cached_property
    def gap(self) -> Array:
        """Largest minus smallest acceptance rate among the groups present, (…,); 0 if only one is."""
        return np.asarray(across_groups(np.fmax, self.rates) - across_groups(np.fmin, self.rates))


def across_groups(operation: np.ufunc, values: Cells) -> Array:
    """Combine the groups, the last axis of `values`: what ``operation.reduce`` does, several times as fast for few."""
    return np.asarray(reduce(operation, (values[..., group] for group in range(values.shape[-1]))))


def over_bins(cells: Cells) -> Cells:
    """Sum cells (replicates, groups, bins, …) over their score bins: what ``sum(axis=2)`` does, several times as fast.

    >>> over_bins(np.ones((1, 2, 5, 2, 2))).shape
    (1, 2, 2, 2)
    """
    return np.asarray(np.einsum("rgb...->rg...", cells))


def draw(probabilities: Array, people: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the counts of a batch of `people` who are independent given the state.

    Given the state, people are i.i.d. over the cells group × label × decision, so their counts are
    multinomial: exact in law, at a cost that hardly depends on how many people there are.

    >>> half = np.full((1, 1, 2, 2), 0.25)
    >>> draw(half, 1000, np.random.default_rng(0)).sum()
    np.int64(1000)
    """
    flat = probabilities.reshape(probabilities.shape[0], -1)
    return rng.multinomial(people, flat).reshape(probabilities.shape)
