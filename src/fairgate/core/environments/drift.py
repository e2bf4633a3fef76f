"""Drift: normal scores whose means follow acceptance and also change with time."""

from __future__ import annotations

import math

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.gaussian_scores import following
from fairgate.core.environments.normal_scores import Moving, MovingScores
from fairgate.core.environments.thresholded import number, per_group
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.random import Draws


@record
class DriftState:
    """The groups' mean scores before the shift, (groups,), and the number of rounds so far, ()."""

    means: Array
    round: Array


@record
class Drift(Moving):
    """Tables and rates of :class:`fairgate.environments.Drift`, which documents the equations.

    The state is a :class:`DriftState`.

    Attributes
    ----------
    scores, gain, rate
        See :class:`~fairgate.core.environments.gaussian_scores.GaussianScores`.
    swing, period
        Amplitude of the periodic shift of each group's mean, (groups,), and its period in rounds, ().
    jump, jump_round
        Size of the jump of each group's mean, (groups,), and the round of the jump, ().
    """

    scores: MovingScores
    gain: Array
    rate: Array
    swing: Array
    period: Array
    jump: Array
    jump_round: Array

    @classmethod
    def of(cls, described: environments.Drift) -> Drift:
        """Return the tables of an environment."""
        numbers = {name: number(described, name) for name in ("gain", "rate", "period", "jump_round")}
        by_group = {name: per_group(described, name) for name in ("swing", "jump")}
        return cls(scores=MovingScores.of(described), **numbers, **by_group)

    def start(self) -> DriftState:
        """Return the initial means, in round 0."""
        return DriftState(self.scores.means, namespace(self.swing).zeros(()))

    def shift(self, round_number: Array) -> Array:
        """Return the shift of the means in a round, (groups,)."""
        season = namespace(round_number).sin(2.0 * math.pi / self.period * round_number)
        return self.swing * season + self.jump * (round_number >= self.jump_round)

    def means(self, state: DriftState) -> Array:
        """Return the groups' mean scores in the state's round, (groups,)."""
        return state.means + self.shift(state.round)

    def update(self, state: DriftState, policy: Policy, counts: Counts, draws: Draws) -> DriftState:
        """Return the state of the next round; a group without applicants keeps its mean before the shift."""
        return DriftState(following(self, state.means, counts), state.round + 1.0)
