"""GaussianScores: normal scores whose means follow acceptance (the paper's MVE-S)."""

from __future__ import annotations

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.normal_scores import MovingScores
from fairgate.core.environments.thresholded import Thresholded, number
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.random import Draws


@record
class GaussianScores(Thresholded):
    """Tables and rates of :class:`fairgate.environments.GaussianScores`, which has the equations.

    The state is the groups' mean scores, (groups,).

    Attributes
    ----------
    scores
        P(group, label, score ≥ threshold).
    gain
        How far full acceptance moves a mean compared with none, ().
    rate
        Share of the way that a round goes, ().
    """

    scores: MovingScores
    gain: Array
    rate: Array

    @classmethod
    def of(cls, described: environments.GaussianScores | environments.Drift) -> GaussianScores:
        """Return the tables of an environment."""
        return cls(MovingScores.of(described), number(described, "gain"), number(described, "rate"))

    def start(self) -> Array:
        """Return the means at the start."""
        return self.scores.means

    def above(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""
        return self.scores.above(state, thresholds)

    def everybody(self, state: Array) -> Array:
        """Return P(group, label), (groups, 2)."""
        return self.scores.everybody(state)

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the means after a batch; a group without applicants keeps its own."""
        target = self.scores.means + self.gain * (counts.rates - 0.5)
        return namespace(state).where(counts.people > 0, state + self.rate * (target - state), state)
