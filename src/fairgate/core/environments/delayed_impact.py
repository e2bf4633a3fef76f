"""DelayedImpact: credit scores that repayment raises and default lowers (Liu et al. 2018)."""

from __future__ import annotations

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.normal_scores import Moving, MovingScores
from fairgate.core.environments.thresholded import number
from fairgate.core.policy import Policy
from fairgate.counts import Counts, per_person
from fairgate.random import Draws


@record
class DelayedImpact(Moving):
    """Tables and rates of :class:`fairgate.environments.DelayedImpact`, which documents the equations.

    The state is the groups' mean scores, (groups,).

    Attributes
    ----------
    scores
        P(group, label, score ≥ threshold).
    rate
        Fraction of the way to its target that the state moves in a round, ().
    carry
        Share of a batch's mean score change that carries over to the next applicants, ().
    rise, fall
        Points gained on repayment and lost on default, ().
    """

    scores: MovingScores
    rate: Array
    carry: Array
    rise: Array
    fall: Array

    @classmethod
    def of(cls, described: environments.DelayedImpact) -> DelayedImpact:
        """Return the tables of an environment."""
        numbers = (number(described, name) for name in ("rate", "carry", "rise", "fall"))
        return cls(MovingScores.of(described), *numbers)

    def start(self) -> Array:
        """Return the initial means."""
        return self.scores.means

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the means after a batch; a group without applicants keeps its mean."""
        repaid, defaulted = (per_person(counts.cells[:, label, 1], counts.people) for label in (1, 0))
        target = self.scores.means + self.carry * (self.rise * repaid - self.fall * defaulted)
        return namespace(state).where(counts.people > 0, state + self.rate * (target - state), state)
