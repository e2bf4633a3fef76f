"""ScorePools: real people in a high and a low pool per group, mixed by acceptance (the paper's German and COMPAS)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairgate.counts import Counts, as_codes
from fairgate.environments.base import Environment, approach, at_once, slowest_approach
from fairgate.errors import InputError
from fairgate.settings import Array, PositiveShare, Real, as_floats


class _Tables(NamedTuple):
    """Distinct scores, shares of groups, and P(group, label, decision) at every distinct score as threshold.

    `low` holds if all came from the low pools, (distinct scores + 1, groups, 2, 2), `lift` is what high pools add.
    """

    distinct: Array
    shares: Array
    low: Array
    lift: Array


@dataclass(frozen=True, eq=False, repr=False)
class ScorePools(Environment):
    r"""Applicants drawn from a table of real people; acceptance brings more of a group's better half.

    In each group the people above its `split` quantile of score form the high pool, the rest the low
    pool. A person is of group g with that group's share of the table, comes from its high pool with
    probability :math:`w_g`, and is then drawn uniformly from the pool, score and label together. Ties with the
    threshold are accepted. After a batch

    .. math:: w_g \leftarrow \mathrm{clip}(w_g + rate \cdot (floor_g + (ceiling - floor) \cdot acc_g - w_g), 0, 1).

    The state is :math:`w` (replicates, groups), started at ``1 − split``, the table's own composition.

    Parameters
    ----------
    scores, labels, groups
        One entry per person: score, label 0 or 1, group 0…G−1.
    split
        Quantile of a group's scores that parts its low from its high pool.
    floor, ceiling
        Weight of the high pool that nobody accepted and everybody accepted lead to; may vary by replicate. A ceiling
        below the floor is adverse selection: accepting more brings more of the worse half.
    rate
        Share of the way to its target that a weight moves per round; may vary by replicate.
    weights
        How many people each entry stands for, at least 0; 1 each if not given. Whole numbers do what repeating the
        entry does.
    shift
        What is added to the floor and the ceiling in each group, (groups,); nothing if not given.

    Examples
    --------
    >>> env = ScorePools(scores=[0, 1, 2, 3, 0, 1, 2, 3], labels=[0, 0, 1, 1, 0, 1, 0, 1], groups=[0] * 4 + [1] * 4)
    >>> env
    ScorePools(8 people, 2 groups, split=0.5, floor=0.1, ceiling=0.9, rate=0.1)
    >>> thresholds = np.array([[2.0, 1.0]])     # group 1: all of its high pool, half of its low pool
    >>> env.steady_state(thresholds).round(3)
    array([[0.5  , 0.833]])
    """

    scores: ArrayLike
    labels: ArrayLike
    groups: ArrayLike
    split: float = 0.5
    floor: Real = 0.1
    ceiling: Real = 0.9
    rate: PositiveShare = 0.1
    weights: ArrayLike | None = None
    shift: ArrayLike | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._feedback() >= 1.0:
            raise InputError(
                "ScorePools: ceiling − floor must be within ±1 (else no unique steady state), "
                f"got floor={self.floor} and ceiling={self.ceiling}"
            )
        if self.shift is not None and len(self.least.T) != self.group_count:
            raise InputError(f"ScorePools: shift must have one number per group, {self.group_count}, got {self.shift}")

    @cached_property
    def tables(self) -> _Tables:
        """What every distinct score as threshold does, from either pool."""
        scores = as_floats("ScorePools: scores", self.scores, ndim=1)
        labels = as_codes("ScorePools: labels", self.labels, len(scores), 2)
        groups = as_codes("ScorePools: groups", self.groups, len(scores))
        given = np.ones(len(scores)) if self.weights is None else self.weights
        weights = as_floats("ScorePools: weights", given, ndim=1)
        if len(weights) != len(scores):
            raise InputError(f"ScorePools: weights must have one entry per person, {len(scores)}, got {len(weights)}")
        if (weights < 0).any():
            where = int(np.flatnonzero(weights < 0)[0])
            raise InputError(f"ScorePools: weights must be at least 0, got {weights[where]:g} at position {where}")
        sizes = np.bincount(groups, weights)
        if (sizes == 0).any():
            raise InputError(f"ScorePools: groups must be numbered 0…G−1 with nobody left out, group sizes are {sizes}")
        if np.ndim(self.split) or not 0.0 < self.split < 1.0:
            raise InputError(f"ScorePools: split must be in (0, 1), got {self.split!r}")

        distinct, place = np.unique(scores, return_inverse=True)
        pools = np.zeros((2, len(distinct) + 1, len(sizes), 2, 2))  # the last row of scores is above everybody
        for group in range(len(sizes)):
            members = groups == group
            known = (scores[members], self.split)
            cut = np.quantile(*known) if self.weights is None else quantile(*known, weights[members])
            for upper in (1, 0):
                pool = members & ((scores > cut) == upper)
                size = weights[pool].sum()
                if size == 0.0:
                    raise InputError(
                        f"ScorePools: nobody of group {group} scores above its split quantile {cut:g}, "
                        f"too many scores are tied there: choose a smaller split than {self.split:g} or finer scores"
                    )
                share = weights[members].sum() / weights.sum() / size
                for label in (0, 1):
                    chosen = pool & (labels == label)
                    people = np.bincount(place[chosen], weights[chosen], minlength=len(distinct))
                    below = np.concatenate(([0.0], people.cumsum()))
                    pools[upper, :, group, label, 0] = share * below
                    pools[upper, :, group, label, 1] = share * (below[-1] - below)
        return _Tables(distinct, sizes / sizes.sum(), pools[0], pools[1] - pools[0])

    def __repr__(self) -> str:
        people = np.size(self.scores) if self.weights is None else round(float(np.sum(self.weights)))
        return (
            f"ScorePools({people} people, {self.group_count} groups, split={self.split}, "
            f"floor={self.floor}, ceiling={self.ceiling}, rate={self.rate})"
        )

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.tables.shares)

    def describe(self) -> dict[str, Any]:
        """Return the settings as plain data; weights and shift only if there are any."""
        absent = {name for name in ("weights", "shift") if getattr(self, name) is None}
        return {key: value for key, value in super().describe().items() if key not in absent}

    @cached_property
    def least(self) -> Array:
        """Weights that no acceptance leads to."""
        floor = self._by_replicate["floor"]
        return floor if self.shift is None else floor + as_floats("ScorePools: shift", self.shift, ndim=1)

    @cached_property
    def span(self) -> Array:
        """How much more full acceptance leads to."""
        return self._by_replicate["ceiling"] - self._by_replicate["floor"]

    def _feedback(self) -> float:
        return float(np.max(np.abs(self.span)) * np.max(self.tables.lift[..., 1].sum(axis=-1) / self.tables.shares))

    @cached_property
    def hastened(self) -> ScorePools:
        """The same at rate 1, if that too is sure to come to rest; a class made from this one is kept as it is."""
        return at_once(self) if type(self) is ScorePools else self

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart."""
        return slowest_approach(self._by_replicate["rate"], self._feedback())

    def start(self, replicates: int = 1) -> Array:
        """Return ``1 − split``, the table's own composition, in every replicate."""
        return np.full((replicates, self.group_count), 1.0 - self.split)

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2): one look-up into all scores."""
        distinct, shares, *tables = self.tables
        place = distinct.searchsorted(thresholds) * len(shares) + np.arange(len(shares))
        low, lift = (table.reshape(-1, 4).take(place, axis=0) for table in tables)
        lift *= state[..., None]
        low += lift
        return low.reshape(*place.shape, 2, 2)

    def histogram(self, state: Array, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores that `edges` (K,) part."""
        edges = np.asarray(edges, dtype=np.float64)
        key = edges.tobytes()
        if key not in self._kept:
            unmixed = np.repeat([[0.0], [1.0]], self.group_count, axis=1)  # all from the low pools, or from the high
            low, high = (np.ascontiguousarray(each.swapaxes(1, 2)) for each in super().histogram(unmixed, edges))
            self._kept[key] = low, high - low
        low, lift = self._kept[key]  # label before bin, which is faster
        found = lift * state[..., None, None]
        found += low
        return np.maximum(found, 0.0, out=found).swapaxes(2, 3)  # sums of rounded numbers

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        """Return the weights after a batch."""
        target = self.least + self.span * counts.rates
        moved = approach(state, target, self._by_replicate["rate"])
        return np.minimum(np.maximum(moved, 0.0), 1.0)

    def steady_state(self, thresholds: Array) -> Array:
        """Return the weights that solve w = floor + (ceiling − floor) · acc(w), linear in w, clipped to [0, 1]."""
        thresholds = np.asarray(thresholds, dtype=np.float64)
        none = Counts(self.probabilities(np.zeros_like(thresholds), thresholds)).rates
        full = Counts(self.probabilities(np.ones_like(thresholds), thresholds)).rates
        return np.clip((self.least + self.span * none) / (1.0 - self.span * (full - none)), 0.0, 1.0)

    def candidates(self, low: float, high: float) -> Array:
        """Return every distinct score between `low` and `high`: nothing changes in between."""
        inside = self.tables.distinct[(self.tables.distinct > low) & (self.tables.distinct < high)]
        return np.concatenate(([low], inside, [high]))


def quantile(scores: Array, split: float, weights: Array) -> float:
    """Return the score that parts entries as ``np.quantile`` parts them if each is repeated as its weight says.

    >>> quantile(np.array([3.0, 1.0, 2.0]), 0.5, np.array([1.0, 5.0, 2.0]))
    1.0
    """
    order = np.argsort(scores, kind="stable")
    people = weights[order].cumsum()
    place = np.searchsorted(people, split * (people[-1] - 1.0) + 1e-9 * people[-1], side="right")
    return float(scores[order][min(place, len(scores) - 1)])
