"""LocationScale: scores shift and spread with the believed threshold (Perdomo et al. 2020)."""

from __future__ import annotations

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.beliefs import learned
from fairgate.core.environments.normal_scores import FixedScores
from fairgate.core.environments.thresholded import Thresholded, number, per_group
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.environments.location_scale import NARROWEST
from fairgate.random import Draws


@record
class LocationScale(Thresholded):
    """Tables and rates of :class:`fairgate.environments.LocationScale`, which documents the equations.

    The state is each group's believed threshold, (groups,).

    Attributes
    ----------
    qualities
        P(group, label, quality ≥ threshold).
    rate
        Fraction of the way to its target that the state moves in a round, ().
    expected
        Initial believed threshold of all groups, ().
    location, scale
        Shift of each group's scores, and relative increase of their spread, per unit of the believed threshold,
        (groups,).
    """

    qualities: FixedScores
    rate: Array
    expected: Array
    location: Array
    scale: Array

    @classmethod
    def of(cls, described: environments.LocationScale) -> LocationScale:
        """Return the tables of an environment."""
        rate, expected = (number(described, name) for name in ("rate", "expected"))
        location, scale = (per_group(described, name) for name in ("location", "scale"))
        return cls(FixedScores.of(described), rate, expected, location, scale)

    def start(self) -> Array:
        """Return the initial beliefs."""
        return namespace(self.scale).full(self.scale.shape, self.expected)

    def quality_of(self, state: Array, scores: Array) -> Array:
        """Return the quality (N, groups) of people who present scores (N, groups or 1) in a state."""
        means = self.qualities.means
        spread = namespace(state).maximum(1.0 + self.scale * state, NARROWEST)
        return means + (scores - means - self.location * state) / spread

    def above(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""
        return self.qualities.above(self.quality_of(state, thresholds))

    def everybody(self, state: Array) -> Array:
        """Return P(group, label), (groups, 2)."""
        return self.qualities.everybody()

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the beliefs after a batch; a group without applicants keeps its belief."""
        return learned(state, policy, counts, self.rate)
