"""CreditScores: tables of scores by group, where the last loan raises or lowers a score (Liu et al. 2018)."""

from __future__ import annotations

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.thresholded import Thresholded, number
from fairgate.core.policy import Policy
from fairgate.counts import Counts, per_person
from fairgate.random import Draws


@record
class CreditScores(Thresholded):
    """Tables and rates of :class:`fairgate.environments.CreditScores`, which documents the equations.

    The state is the share of each group whose last loan was repaid, and the share whose last loan was not, (groups, 2).

    Attributes
    ----------
    distinct
        Distinct scores, including raised and lowered ones, in increasing order, (S,).
    none, raised, lowered
        P(group, label, score ≥ threshold) with each of them as threshold if no person had a record, (S + 1, groups, 2).
        The other two are its change per unit share of people whose last loan was repaid, and was not.
    rate
        Fraction of the way to its target that the state moves in a round, ().
    carry
        Share of the records that persist until people apply again, ().
    """

    distinct: Array
    none: Array
    raised: Array
    lowered: Array
    rate: Array
    carry: Array

    @classmethod
    def of(cls, described: environments.CreditScores) -> CreditScores:
        """Return the tables of an environment."""
        tables = described.tables
        none, raised, lowered = (each[..., 1].copy() for each in (tables.none, tables.raised, tables.lowered))
        return cls(tables.distinct, none, raised, lowered, number(described, "rate"), number(described, "carry"))

    def start(self) -> Array:
        """Return 0, the shares before any person has a record."""
        return namespace(self.none).zeros(self.none.shape[1:])

    def above(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""
        xp = namespace(state)
        place = xp.searchsorted(self.distinct, xp.reshape(thresholds, (-1,)))
        return self._mixed(state, (xp.reshape(place, thresholds.shape), xp.arange(len(state))))

    def everybody(self, state: Array) -> Array:
        """Return P(group, label), (groups, 2)."""
        return self._mixed(state, 0)

    def _mixed(self, state: Array, place: Array) -> Array:
        """Combine people without a record and with either record, at a place of the tables."""
        repaid, defaulted = state[:, 0, None], state[:, 1, None]
        return self.none[place] + repaid * self.raised[place] + defaulted * self.lowered[place]

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the records after a batch; a group without applicants keeps its records."""
        people = counts.people[:, None]
        happened = per_person(counts.cells[:, ::-1, 1], people)  # repaid, then not repaid
        moved = state + self.rate * (self.carry * happened - state)
        return namespace(state).where(people > 0, moved, state)
