"""Sides: searches that play one side of a centre and then the other, with the grid's interval scaled to [0, 1]."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.chance import side
from fairgate.core.setting import Setting
from fairgate.random import Draws, Purpose


@record
class Sides:
    """State of a search.

    Attributes
    ----------
    epochs
        Number of finished epochs, ().
    centre
        Centre of the search, from 0 to 1, ().
    sign
        Side that was played first in this step, 1 or −1, ().
    first
        Reward and residuals on that side, (1 + J,).
    multipliers
        Multiplier of each residual, (J,).
    """

    epochs: Array
    centre: Array
    sign: Array
    first: Array
    multipliers: Array

    @classmethod
    def at(cls, setting: Setting, centre: Array) -> Sides:
        """Return a search at its start, with multipliers 0."""
        xp, residuals = namespace(setting.grid), len(setting.problem.names)
        return cls(xp.zeros(()), centre, xp.ones(()), xp.zeros(1 + residuals), xp.zeros(residuals))

    def next(self, opening: Array, draws: Draws) -> Array:
        """Return the side to play: random if a step is `opening`, else opposite to the side played first."""
        return namespace(self.sign).where(opening, side(draws.words(Purpose.LEARNER, 1)[0]), -self.sign)

    def side_of(self, grid: Array, threshold: Array) -> Array:
        """Return the side of the centre on which a threshold lies."""
        return namespace(grid).where(threshold >= threshold_at(grid, self.centre), 1.0, -1.0)

    def lagrangian(self, shown: Array) -> Array:
        """Return the Lagrangian of reward and residuals (1 + J,): reward minus residuals times multipliers."""
        return shown[0] - (self.multipliers * shown[1:]).sum()


def threshold_at(grid: Array, place: Array) -> Array:
    """Return the threshold at a place of the grid's interval, from 0 to 1.

    >>> import numpy as np
    >>> threshold_at(np.array([-1.0, 0.0, 3.0]), np.array([0.0, 0.5, 1.0]))
    array([-1.,  1.,  3.])
    """
    return grid[0] + place * (grid[-1] - grid[0])
