"""Counts: the people of one batch, by group × label × decision, and the rates everything else is made of.

The only thing that leaves an environment. The same class reads sampled counts and exact
probabilities, so what a batch shows, the population's truth and the oracle can never disagree.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.arrays import as_array, namespace
from fairgate.errors import InputError
from fairgate.settings import Array

Cells = NDArray[Any]

FEW = 1000
"""Numbers of which counting those that are not 0 is faster than `all`; of more it is several times as slow."""


class Counts:
    """People, or probabilities, by group × label × decision, with the rates they imply.

    Parameters
    ----------
    cells
        Array of shape (…, replicates, groups, 2, 2): ``cells[…, g, y, d]`` is the number (or probability) of people
        of group g with label y and decision d.

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
    >>> counts
    Counts(1 × 2 groups, 75.0% accepted)
    """

    accepted: Array
    """Accepted people, (…, groups)."""

    people: Array
    """All people, (…, groups)."""

    total: Array
    """All people of all groups, (…,)."""

    binned: Cells | None = None
    """The same people by score bin as well, (…, groups, bins, 2, 2), if that is known."""

    def __init__(self, cells: Any) -> None:
        self.cells: Cells = as_array(cells)
        if self.cells.ndim < 3 or self.cells.shape[-2:] != (2, 2):
            raise InputError(f"cells must have shape (…, groups, 2, 2), got {self.cells.shape}")
        self.accepted = self.cells[..., 0, 1] + self.cells[..., 1, 1]
        self.people = self.accepted + self.cells[..., 0, 0] + self.cells[..., 1, 0]
        self.total = across_groups(np.add, self.people)

    def __repr__(self) -> str:
        *many, groups = self.people.shape
        rates = self.overall[np.isfinite(self.overall)]
        low, high = (f"{end:.1%}" for end in (rates.min(), rates.max())) if rates.size else ("nobody", "nobody")
        times = " × ".join(f"{each:,}" for each in many)
        return (
            f"{type(self).__name__}({times} × {groups} groups, {low if low == high else f'{low} to {high}'} accepted)"
        )

    @classmethod
    def of_people(
        cls,
        scores: ArrayLike,
        groups: ArrayLike,
        decisions: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        grid: ArrayLike,
        group_count: int,
    ) -> Counts:
        """Count people, in one replicate, by group, label and decision, and by the bins that a grid cuts scores into.

        Parameters
        ----------
        scores, groups
            Score and number of the group of each person, (N,).
        decisions
            Whether each person was accepted, (N,); all were if not given, as those whose labels arrive later.
        labels
            0 or 1 per person; all are counted as 0 if not given, which is right where labels come later.
        grid
            Increasing thresholds, (K,); bin k holds scores of at least threshold k − 1 and below threshold k.
        group_count
            Number of groups.

        Examples
        --------
        >>> counts = Counts.of_people([0.2, 0.7, 0.9], [0, 1, 1], [0, 1, 1], [0, 1, 0], grid=[0.5, 0.8], group_count=2)
        >>> counts.accepted, counts.binned.shape
        (array([[0, 2]]), (1, 2, 3, 2, 2))
        """
        values, edges = np.asarray(scores, dtype=np.float64), np.asarray(grid, dtype=np.float64)
        label = np.zeros(len(values), dtype=np.int64) if labels is None else as_codes("labels", labels, len(values), 2)
        accepted = 1 if decisions is None else as_codes("decisions", decisions, len(values), 2)
        member = as_codes("groups", groups, len(values), group_count)
        if np.isnan(values).any():
            raise InputError(f"scores must be numbers, got nan at position {int(np.isnan(values).argmax())}")
        shape = (group_count, len(edges) + 1, 2, 2)
        place = np.searchsorted(edges, values, side="right")
        flat = np.ravel_multi_index((member, place, label, np.broadcast_to(accepted, label.shape)), shape)
        binned = np.bincount(flat, minlength=int(np.prod(shape))).reshape(1, *shape)
        return cls.of_bins(binned)

    @classmethod
    def of_bins(cls, binned: Cells) -> Counts:
        """Return counts of people who are known by score bin as well, (…, groups, bins, 2, 2)."""
        counts = cls(over_bins(binned))
        counts.binned = binned
        return counts

    @classmethod
    def of_decisions(cls, people: Array, accepted: Array) -> Counts:
        """Return counts of people and accepted (…, groups) as if all labels were 0: enough to read decisions off."""
        xp = namespace(people, accepted)
        decided = xp.stack((people - accepted, accepted), axis=-1)
        return cls(xp.stack((decided, xp.zeros_like(decided)), axis=-2))

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return int(self.cells.shape[-3])

    @property
    def shape(self) -> tuple[int, ...]:
        """How many of them there are: (…, replicates)."""
        return self.cells.shape[:-3]

    @cached_property
    def rates(self) -> Array:
        """Acceptance rate of each group, (…, groups); NaN for a group with nobody in the batch."""
        return per_person(self.accepted, self.people)

    @cached_property
    def overall(self) -> Array:
        """Acceptance rate of everybody, (…,); NaN if nobody came."""
        return per_person(across_groups(np.add, self.accepted), self.total)

    @cached_property
    def gap(self) -> Array:
        """Largest minus smallest acceptance rate among the groups present, (…,); 0 if only one is."""
        return as_array(across_groups(np.fmax, self.rates) - across_groups(np.fmin, self.rates))


class Decisions(Counts):
    """Acceptance rates of groups and their shares of all people: counts of which only decisions are known.

    Reads what depends on decisions alone, faster than counts of all cells; `cells` are as if all labels were 0.

    Parameters
    ----------
    shares
        (replicates, groups), above 0.
    rates
        (…, replicates, groups).

    Examples
    --------
    >>> decisions = Decisions(np.array([[0.5, 0.5]]), np.array([[0.6, 0.9]]))
    >>> decisions.overall, decisions.gap.round(2), decisions.cells[..., 1].sum(axis=-1)
    (array([0.75]), array([0.3]), array([[0.3 , 0.45]]))
    """

    def __init__(self, shares: Array, rates: Array) -> None:
        self.shares, self.rates = shares, rates
        self.total = across_groups(np.add, shares)

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return int(self.rates.shape[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """How many of them there are: (…, replicates)."""
        return self.rates.shape[:-1]

    @cached_property
    def overall(self) -> Array:
        """Acceptance rate of everybody, (…,)."""
        accepted = self.shares[..., 0] * self.rates[..., 0]  # group by group: those of all are large and soon forgotten
        for group in range(1, self.group_count):
            accepted += self.shares[..., group] * self.rates[..., group]
        return per_person(accepted, self.total)

    @cached_property
    def people(self) -> Array:  # type: ignore[override]
        """All people, (…, groups)."""
        return np.broadcast_to(self.shares, self.rates.shape)

    @cached_property
    def accepted(self) -> Array:  # type: ignore[override]
        """Accepted people, (…, groups)."""
        return np.asarray(self.shares * self.rates)

    @cached_property
    def cells(self) -> Cells:  # type: ignore[override]
        """People by group × label × decision, all with label 0."""
        decided = np.stack((self.people - self.accepted, self.accepted), axis=-1)
        return np.stack((decided, np.zeros_like(decided)), axis=-2)


def per_person(total: Cells, people: Cells) -> Array:
    """Divide by the number of people, NaN where there is nobody."""
    xp = namespace(total, people)
    if xp is not np:
        return as_array(xp.where(people > 0, total / xp.where(people > 0, people, 1), np.nan))
    if np.count_nonzero(people) == people.size if people.size < FEW else people.all():
        return np.asarray(total / people)
    unknown = np.full_like(total, np.nan, dtype=np.float64)  # laid out as the cells are, which is faster
    return np.asarray(np.divide(total, people, out=unknown, where=people > 0))


def as_codes(name: str, values: ArrayLike, length: int, count: int | None = None) -> NDArray[np.int64]:
    """Turn `values` into whole numbers from 0, below `count`, one per person, or say what is wrong with them."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {values!r}") from None
    if array.shape != (length,):
        raise InputError(f"{name} must have one entry per person, {length}, got shape {array.shape}")
    most = np.inf if count is None else count - 1
    wrong = np.flatnonzero((array != np.round(array)) | (array < 0) | (array > most))
    if wrong.size:
        what = "0 or 1" if count == 2 else "whole numbers from 0" + ("" if count is None else f" to {count - 1}")
        raise InputError(f"{name} must be {what}, got {array[wrong[0]]:g} at position {wrong[0]}")
    return array.astype(np.int64)


def across_groups(operation: np.ufunc, values: Cells) -> Cells:
    """Combine the groups, the last axis of `values`: what ``operation.reduce`` does, several times as fast for few."""
    xp = namespace(values)
    combined = operation if xp is np else getattr(xp, operation.__name__)
    found = values[..., 0]
    for group in range(1, values.shape[-1]):
        found = combined(found, values[..., group])
    return as_array(found)


def over_bins(cells: Cells) -> Cells:
    """Sum cells (replicates, groups, bins, …) over their score bins: what ``sum(axis=2)`` does, several times as fast.

    >>> over_bins(np.ones((1, 2, 5, 2, 2))).shape
    (1, 2, 2, 2)
    """
    if cells.dtype.kind == "f":  # one bin after the other however cells lie in memory, so that rounding is the same
        return np.asarray(np.ascontiguousarray(np.moveaxis(cells, 2, 0)).sum(axis=0))
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
