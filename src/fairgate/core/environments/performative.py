"""Performative: mean scores follow the threshold that people believe in (Perdomo et al. 2020)."""

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
    """Tables and rates of :class:`fairgate.environments.Performative`, which has the equations.

    The state is the threshold that each group believes in, (groups,). Beliefs move a mean by no more than a threshold
    does that lies four standard deviations from all means.

    Attributes
    ----------
    scores
        P(group, label, score ≥ threshold).
    rate
        Share of the way that a round goes, ().
    expected
        Threshold that all groups believe in at the start, ().
    response
        How far a believed threshold of 1 moves each group's mean, (groups,).
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
        """Return the beliefs at the start."""
        return namespace(self.response).full(self.response.shape, self.expected)

    def means(self, state: Array) -> Array:
        """Return the mean scores that beliefs lead to, (groups,)."""
        return self.scores.means + self.response * state

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the beliefs after a batch; a group without applicants keeps its own."""
        return learned(state, policy, counts, self.rate)
