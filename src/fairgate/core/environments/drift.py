"""Drift: normal scores that follow acceptance, in a world that also changes by itself."""

from __future__ import annotations

import math

from fairgate import environments
from fairgate.arrays import Array, namespace, record
from fairgate.core.environments.gaussian_scores import GaussianScores
from fairgate.core.environments.thresholded import Thresholded, number, per_group
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.random import Draws


@record
class DriftState:
    """The groups' mean scores before the shift, (groups,), and how many rounds have passed, ()."""

    means: Array
    round: Array


@record
class Drift(Thresholded):
    """Tables and rates of :class:`fairgate.environments.Drift`, which has the equations.

    The state is a :class:`DriftState`.

    Attributes
    ----------
    still
        The same without shifts: how means follow acceptance.
    swing, period
        How far each group's mean swings up and down, (groups,), and in how many rounds, ().
    jump, jump_round
        How far each group's mean jumps, (groups,), and in which round, ().
    """

    still: GaussianScores
    swing: Array
    period: Array
    jump: Array
    jump_round: Array

    @classmethod
    def of(cls, described: environments.Drift) -> Drift:
        """Return the tables of an environment."""
        swing, jump = (per_group(described, name) for name in ("swing", "jump"))
        period, jump_round = (number(described, name) for name in ("period", "jump_round"))
        return cls(GaussianScores.of(described), swing, period, jump, jump_round)

    def start(self) -> DriftState:
        """Return the means at the start, in round 0."""
        xp = namespace(self.swing)
        return DriftState(self.still.start(), xp.zeros(()))

    def shift(self, round_number: Array) -> Array:
        """Return how far the means are shifted in a round, (groups,)."""
        season = namespace(round_number).sin(2.0 * math.pi / self.period * round_number)
        return self.swing * season + self.jump * (round_number >= self.jump_round)

    def above(self, state: DriftState, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""
        return self.still.above(state.means + self.shift(state.round), thresholds)

    def everybody(self, state: DriftState) -> Array:
        """Return P(group, label), (groups, 2)."""
        return self.still.everybody(state.means + self.shift(state.round))

    def update(self, state: DriftState, policy: Policy, counts: Counts, draws: Draws) -> DriftState:
        """Return the means after a batch, in the next round; a group without applicants keeps its own."""
        return DriftState(self.still.update(state.means, policy, counts, draws), state.round + 1.0)
