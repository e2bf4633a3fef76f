"""Strategic: people just below the believed threshold raise their score to it (Hardt et al. 2016)."""

from __future__ import annotations

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.beliefs import learned
from fairgate.core.environments.normal_scores import FixedScores
from fairgate.core.environments.thresholded import Thresholded, number, per_group
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.environments.strategic import NEAR
from fairgate.random import Draws


@record
class Strategic(Thresholded):
    """Tables and rates of :class:`fairgate.environments.Strategic`, which documents the equations.

    The state is each group's believed threshold, (groups,).

    Attributes
    ----------
    scores
        P(group, label, true score ≥ threshold).
    rate
        Fraction of the way to its target that the state moves in a round, ().
    expected
        Initial believed threshold of all groups, ().
    budgets
        Largest amount by which people of each group can raise their score, (groups,).
    """

    scores: FixedScores
    rate: Array
    expected: Array
    budgets: Array

    @classmethod
    def of(cls, described: environments.Strategic) -> Strategic:
        """Return the tables of an environment."""
        rate, expected = (number(described, name) for name in ("rate", "expected"))
        return cls(FixedScores.of(described), rate, expected, per_group(described, "budgets"))

    def start(self) -> Array:
        """Return the initial beliefs."""
        return namespace(self.budgets).full(self.budgets.shape, self.expected)

    def above(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1).

        A threshold of at most the belief also accepts all people who can raise their score to the belief. A threshold
        above the belief accepts none of the people who raised their score.
        """
        xp = namespace(state)
        honest, able = self.scores.above(thresholds), self.scores.above((state - self.budgets)[None])
        return xp.where((thresholds > state + NEAR)[..., None], honest, xp.maximum(honest, able))

    def everybody(self, state: Array) -> Array:
        """Return P(group, label), (groups, 2)."""
        return self.scores.everybody()

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the beliefs after a batch; a group without applicants keeps its belief."""
        return learned(state, policy, counts, self.rate)
