"""Performative: mean scores follow the believed threshold (Perdomo et al. 2020)."""

from __future__ import annotations

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.beliefs import learned
from fairgate.core.environments.normal_scores import Moving, MovingScores
from fairgate.core.environments.thresholded import number, per_group
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.random import Draws


@record
class Performative(Moving):
    """Tables and rates of :class:`fairgate.environments.Performative`, which documents the equations.

    The state is each group's believed threshold, (groups,). A belief moves a mean at most as far as a threshold four
    standard deviations from all means does.

    Attributes
    ----------
    scores
        P(group, label, score ≥ threshold).
    rate
        Fraction of the way to its target that the state moves in a round, ().
    expected
        Initial believed threshold of all groups, ().
    response
        Shift of each group's mean per unit of the believed threshold, (groups,).
    """

    scores: MovingScores
    rate: Array
    expected: Array
    response: Array

    @classmethod
    def of(cls, described: environments.Performative) -> Performative:
        """Return the tables of an environment."""
        rate, expected = (number(described, name) for name in ("rate", "expected"))
        return cls(MovingScores.of(described), rate, expected, per_group(described, "response"))

    def start(self) -> Array:
        """Return the initial beliefs."""
        return namespace(self.response).full(self.response.shape, self.expected)

    def means(self, state: Array) -> Array:
        """Return the mean scores under these beliefs, (groups,)."""
        return self.scores.means + self.response * state

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the beliefs after a batch; a group without applicants keeps its belief."""
        return learned(state, policy, counts, self.rate)
