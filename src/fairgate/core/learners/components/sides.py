"""Sides: searches that play one side of a centre and then the other, on the grid's interval as [0, 1]."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.chance import side
from fairgate.core.setting import Setting
from fairgate.random import Draws, Purpose


@record
class Sides:
    """Where a search is.

    Attributes
    ----------
    epochs
        Finished, ().
    centre
        From 0 to 1, ().
    sign
        Side that was played first in this step, 1 or −1, ().
    first
        Reward and residuals that this showed, (1 + J,).
    multipliers
        Price of each residual, (J,).
    """

    epochs: Array
    centre: Array
    sign: Array
    first: Array
    multipliers: Array

    @classmethod
    def at(cls, setting: Setting, centre: Array) -> Sides:
        """Return a search that begins, with multipliers 0."""
        xp, residuals = namespace(setting.grid), len(setting.problem.names)
        return cls(xp.zeros(()), centre, xp.ones(()), xp.zeros(1 + residuals), xp.zeros(residuals))

    def next(self, opening: Array, draws: Draws) -> Array:
        """Return the side to play: any if a step is `opening`, else the other than was played first."""
        return namespace(self.sign).where(opening, side(draws.words(Purpose.LEARNER, 1)[0]), -self.sign)

    def side_of(self, grid: Array, threshold: Array) -> Array:
        """Return the side of the centre that a threshold is on."""
        return namespace(grid).where(threshold >= threshold_at(grid, self.centre), 1.0, -1.0)

    def lagrangian(self, shown: Array) -> Array:
        """Return reward minus priced residuals (1 + J,)."""
        return shown[0] - (self.multipliers * shown[1:]).sum()


def threshold_at(grid: Array, place: Array) -> Array:
    """Return the threshold at a place of the grid's interval, from 0 to 1.

    >>> import numpy as np
    >>> threshold_at(np.array([-1.0, 0.0, 3.0]), np.array([0.0, 0.5, 1.0]))
    array([-1.,  1.,  3.])
    """
    return grid[0] + place * (grid[-1] - grid[0])
