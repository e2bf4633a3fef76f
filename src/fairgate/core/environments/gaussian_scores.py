"""GaussianScores: normal scores whose means follow acceptance (the paper's MVE-S)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.normal_scores import Moving, MovingScores
from fairgate.core.environments.thresholded import number
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.random import Draws

if TYPE_CHECKING:
    from fairgate.core.environments.drift import Drift


@record
class GaussianScores(Moving):
    """Tables and rates of :class:`fairgate.environments.GaussianScores`, which documents the equations.

    The state is the groups' mean scores, (groups,).

    Attributes
    ----------
    scores
        P(group, label, score ≥ threshold).
    gain
        Difference of a mean's target between full acceptance and none, ().
    rate
        Fraction of the way to its target that the state moves in a round, ().
    """

    scores: MovingScores
    gain: Array
    rate: Array

    @classmethod
    def of(cls, described: environments.GaussianScores) -> GaussianScores:
        """Return the tables of an environment."""
        return cls(MovingScores.of(described), number(described, "gain"), number(described, "rate"))

    def start(self) -> Array:
        """Return the initial means."""
        return self.scores.means

    def update(self, state: Array, policy: Policy, counts: Counts, draws: Draws) -> Array:
        """Return the means after a batch; a group without applicants keeps its mean."""
        return following(self, state, counts)


def following(world: GaussianScores | Drift, means: Array, counts: Counts) -> Array:
    """Return means (groups,) that follow the acceptance rates of a batch."""
    target = world.scores.means + world.gain * (counts.rates - 0.5)
    return namespace(means).where(counts.people > 0, means + world.rate * (target - means), means)
