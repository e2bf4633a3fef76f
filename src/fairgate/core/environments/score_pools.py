"""ScorePools: the applicants of a table in a high and a low pool per group, mixed by acceptance."""

from __future__ import annotations

import numpy as np

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.random import Draws


@record
class ScorePools:
    """Tables of :class:`fairgate.environments.ScorePools`, which documents the equations.

    The state is the weight of each group's high pool, (groups,).

    Attributes
    ----------
    distinct
        Distinct scores of the table in increasing order, (S,).
    low, lift
        P(group, label, decision) with each of them as threshold if all applicants came from the low pools. The other
        is its change if all came from the high pools, (S + 1, groups, 2, 2) each.
    floor, span
        Target weights at zero acceptance, and their increase at full acceptance, (groups,).
    rate
        Fraction of the way to its target that the state moves in a round, ().
    first
        Initial weights, (groups,).
    """

    distinct: Array
    low: Array
    lift: Array
    floor: Array
    span: Array
    rate: Array
    first: Array

    @classmethod
    def of(cls, described: environments.ScorePools) -> ScorePools:
        """Return the tables of an environment."""
        distinct, shares, low, lift = described.tables
        floor, span = (np.broadcast_to(each, shares.shape) for each in (described.least, described.span))
        first = np.full(shares.shape, 1.0 - described.split)
        return cls(distinct, low, lift, floor, span, np.asarray(described.rate), first)

    def start(self) -> Array:
        """Return the initial weights."""
        return self.first

    def above(self, state: Array, place: Array) -> Array:
        """Return P(group, label, decision) with distinct scores as thresholds, given by index (…, groups or 1)."""
        group = namespace(state).arange(len(state))
        return self.low[place, group] + state[:, None, None] * self.lift[place, group]

    def cells(self, state: Array, policy: Policy) -> Array:
        """Return P(group, label, decision), (groups, 2, 2)."""
        xp = namespace(state)
        place = xp.searchsorted(self.distinct, xp.reshape(policy.thresholds, (-1,)))
        found = self.above(state, xp.reshape(place, policy.thresholds.shape))
        return (found * policy.weights[:, None, None, None]).sum(axis=0)

    def histogram(self, state: Array, edges: Array) -> Array:
        """Return P(group, bin, label), (groups, bins, 2), of scores binned by `edges` (K,)."""
        xp = namespace(state)
        place = xp.searchsorted(self.distinct, edges)
        ends = xp.asarray([len(self.distinct)]), xp.asarray([0])
        above = self.above(state, xp.concatenate((ends[1], place, ends[0]))[:, None])[..., 1]  # (K + 2, groups, labels)
        return xp.moveaxis(xp.maximum(above[:-1] - above[1:], 0.0), 0, 1)

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the weights after a batch; a group without applicants keeps its weight."""
        xp = namespace(state)
        moved = state + self.rate * (self.floor + self.span * counts.rates - state)
        return xp.where(counts.people > 0, xp.clip(moved, 0.0, 1.0), state)
