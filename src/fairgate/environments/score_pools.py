"""ScorePools: real people in a high and a low pool per group, mixed by acceptance (the paper's German and COMPAS)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.counts import Counts
from fairgate.environments.base import Environment, State, slowest_approach
from fairgate.errors import InputError
from fairgate.settings import Array, PositiveShare, Real, as_floats


@dataclass(frozen=True, eq=False, repr=False)
class ScorePools(Environment):
    r"""Applicants drawn from a table of real people; acceptance brings more of a group's better half.

    Description
    -----------
    In each group the people above its `split` quantile of score form the high pool, the rest the low
    pool. A person is of group g with that group's share of the table, comes from its high pool with
    probability :math:`w_g`, and is then drawn uniformly from the pool, score and label together. After a batch

    .. math:: w_g \leftarrow \mathrm{clip}(w_g + rate \cdot (floor + (ceiling - floor) \cdot acc_g - w_g), 0, 1).

    Action
    ------
    Thresholds, one a replicate and group: accept if :math:`s \ge \theta_g`. Ties with the threshold are accepted.

    Observation
    -----------
    Counts of the batch by group × label × decision.

    Reward
    ------
    None of its own: a :class:`~fairgate.Problem` reads reward and residuals off the counts.

    State, start and end
    --------------------
    :math:`w` (replicates, groups), started at ``1 − split``, the table's own composition. The loop
    never ends by itself. A group with nobody in the batch keeps its weight.

    Parameters
    ----------
    scores, labels, groups
        One entry a person: score, label 0 or 1, group 0…G−1.
    split
        Quantile of a group's scores that parts its low from its high pool.
    floor, ceiling
        Weight of the high pool that nobody accepted and everybody accepted lead to; may vary by replicate.
    rate
        Share of the way to its target that a weight moves in a round; may vary by replicate.

    Examples
    --------
    >>> env = ScorePools(scores=[0, 1, 2, 3, 0, 1, 2, 3], labels=[0, 0, 1, 1, 0, 1, 0, 1], groups=[0] * 4 + [1] * 4)
    >>> env
    ScorePools(8 people, 2 groups, split=0.5, floor=0.1, ceiling=0.9, rate=0.1)
    >>> thresholds = np.array([[2.0, 1.0]])     # group 1: all of its high pool, half of its low pool
    >>> env.steady_state(thresholds).round(3)
    array([[0.5  , 0.833]])

    Version history
    ---------------
    v0: first version.
    """

    scores: ArrayLike
    labels: ArrayLike
    groups: ArrayLike
    split: float = 0.5
    floor: Real = 0.1
    ceiling: Real = 0.9
    rate: PositiveShare = 0.1
    _distinct: Array = field(init=False, repr=False)
    _shares: Array = field(init=False, repr=False)
    _low: Array = field(init=False, repr=False)
    _lift: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        scores = as_floats("ScorePools: scores", self.scores, ndim=1)
        labels = as_codes("labels", self.labels, len(scores))
        groups = as_codes("groups", self.groups, len(scores))
        if labels.max() > 1:
            raise InputError(f"ScorePools: labels must be 0 or 1, got {labels.max()}")
        sizes = np.bincount(groups)
        if (sizes == 0).any():
            raise InputError(f"ScorePools: groups must be numbered 0…G−1 with nobody left out, group sizes are {sizes}")
        if np.ndim(self.split) or not 0.0 < self.split < 1.0:
            raise InputError(f"ScorePools: split must be in (0, 1), got {self.split!r}")

        distinct = np.unique(scores)
        high = pool_table(distinct, scores, labels, groups, self.split, upper=True)
        low = pool_table(distinct, scores, labels, groups, self.split, upper=False)
        object.__setattr__(self, "_distinct", distinct)
        object.__setattr__(self, "_shares", sizes / sizes.sum())
        object.__setattr__(self, "_low", low)
        object.__setattr__(self, "_lift", high - low)
        if self._feedback() >= 1.0:
            raise InputError(
                "ScorePools: ceiling − floor must be within ±1 (else no unique steady state), "
                f"got floor={self.floor} and ceiling={self.ceiling}"
            )

    def __repr__(self) -> str:
        return (
            f"ScorePools({np.size(self.scores)} people, {self.group_count} groups, split={self.split}, "
            f"floor={self.floor}, ceiling={self.ceiling}, rate={self.rate})"
        )

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self._shares)

    @cached_property
    def _floor(self) -> Array:
        return np.asarray(self.floor, dtype=np.float64)[..., None]

    @cached_property
    def _span(self) -> Array:
        return np.asarray(self.ceiling, dtype=np.float64)[..., None] - self._floor

    @cached_property
    def _rate(self) -> Array:
        return np.asarray(self.rate, dtype=np.float64)[..., None]

    def _feedback(self) -> float:
        return float(np.max(np.abs(self._span)) * np.max(self._lift[..., 1].sum(axis=-1) / self._shares))

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart."""
        return slowest_approach(self._rate, self._feedback())

    def start(self, replicates: int = 1) -> State:
        """Return ``1 − split``, the table's own composition, in every replicate."""
        return np.full((replicates, self.group_count), 1.0 - self.split)

    def _place(self, thresholds: Array) -> NDArray[np.int64]:
        """Rows of the flattened tables (distinct scores × groups) that belong to thresholds (replicates, groups)."""
        return np.searchsorted(self._distinct, thresholds) * self.group_count + np.arange(self.group_count)

    def probabilities(self, state: State, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2): one look-up into all scores."""
        place = self._place(thresholds)
        low, lift = (table.reshape(-1, 4).take(place, axis=0) for table in (self._low, self._lift))
        lift *= state[..., None]
        low += lift
        return low.reshape(*place.shape, 2, 2)

    def histogram(self, state: State, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores that `edges` (K,) part."""
        low, lift = self._bins(np.asarray(edges, dtype=np.float64))
        found = lift * state[..., None, None]
        found += low
        return np.maximum(found, 0.0, out=found)  # sums of rounded numbers

    @cached_property
    def _kept(self) -> dict[bytes, tuple[Array, Array]]:
        """Tables of :meth:`_bins`, by their edges."""
        return {}

    def _bins(self, edges: Array) -> tuple[Array, Array]:
        """P(group, bin, label) if all came from the low pools, and what the high pools add, (groups, bins, 2) each."""
        key = edges.tobytes()
        if key not in self._kept:
            weights = np.repeat([[0.0], [1.0]], self.group_count, axis=1)
            low, high = super().histogram(weights, edges)
            self._kept[key] = low, high - low
        return self._kept[key]

    def update(self, state: State, counts: Counts, thresholds: Array) -> State:
        """Return the weights after a batch."""
        moved = state + self._rate * (self._floor + self._span * counts.rates - state)
        return np.where(np.isnan(moved), state, np.minimum(np.maximum(moved, 0.0), 1.0))

    def steady_state(self, thresholds: Array) -> State:
        """Return the weights that solve w = floor + (ceiling − floor) · acc(w), linear in w, clipped to [0, 1]."""
        thresholds = np.asarray(thresholds, dtype=np.float64)
        none = Counts(self.probabilities(np.zeros_like(thresholds), thresholds)).rates
        full = Counts(self.probabilities(np.ones_like(thresholds), thresholds)).rates
        return np.clip((self._floor + self._span * none) / (1.0 - self._span * (full - none)), 0.0, 1.0)

    def candidates(self, low: float, high: float) -> Array:
        """Return every distinct score between `low` and `high`: nothing changes in between."""
        inside = self._distinct[(self._distinct > low) & (self._distinct < high)]
        return np.concatenate(([low], inside, [high]))


def as_codes(name: str, values: ArrayLike, length: int) -> NDArray[np.int64]:
    """Turn `values` into whole numbers from 0, one a person, or say what is wrong with them."""
    array = as_floats(f"ScorePools: {name}", values, ndim=1)
    if len(array) != length:
        raise InputError(f"ScorePools: {name} must have one entry a person, {length}, got {len(array)}")
    wrong = np.flatnonzero((array != np.round(array)) | (array < 0))
    if wrong.size:
        what = "0 or 1" if name == "labels" else "whole numbers from 0"
        raise InputError(f"ScorePools: {name} must be {what}, got {array[wrong[0]]:g} at position {wrong[0]}")
    return array.astype(np.int64)


def pool_table(
    distinct: Array, scores: Array, labels: NDArray[np.int64], groups: NDArray[np.int64], split: float, *, upper: bool
) -> Array:
    """Tabulate P(group, label, decision) at every distinct score as threshold, if all came from their group's one pool.

    Shape (distinct scores + 1, groups, 2, 2); the last row is for thresholds above everybody.
    """
    table = np.zeros((len(distinct) + 1, groups.max() + 1, 2, 2))
    for group in range(groups.max() + 1):
        cut = np.quantile(scores[groups == group], split)
        pool = (groups == group) & ((scores > cut) if upper else (scores <= cut))
        if not pool.any():
            raise InputError(
                f"ScorePools: nobody of group {group} scores above its split quantile {cut:g}, "
                f"too many scores are tied there: choose a smaller split than {split:g} or finer scores"
            )
        for label in (0, 1):
            place = np.searchsorted(distinct, scores[pool & (labels == label)])
            below = np.concatenate(([0], np.bincount(place, minlength=len(distinct)).cumsum()))
            share = np.mean(groups == group) / pool.sum()
            table[:, group, label, 0] = share * below
            table[:, group, label, 1] = share * (len(place) - below)
    return table
