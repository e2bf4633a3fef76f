"""Arms: estimates for each threshold of the grid."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.epochs import Epoch, pooled
from fairgate.core.setting import Setting
from fairgate.problem import best_feasible


@record
class Arms:
    """Epochs (K,), reward and residuals (1 + J, K) and people (K, groups) of each arm, a threshold of the grid."""

    plays: Array
    shown: Array
    people: Array
    accepted: Array

    @classmethod
    def unknown(cls, setting: Setting) -> Arms:
        """Return arms that were never played."""
        xp, arms = namespace(setting.grid), len(setting.grid)
        people = xp.zeros((arms, setting.groups))
        return cls(xp.zeros(arms), xp.zeros((1 + len(setting.problem.names), arms)), people, people)

    def with_epoch(self, setting: Setting, epoch: Epoch) -> Arms:
        """Return the arms after an epoch on one of them.

        Reward and residuals are means over an arm's epochs; residuals on decisions use all people of the arm. An epoch
        on a threshold that is not in the grid changes nothing.
        """
        xp, here = namespace(self.plays), arm_at(setting.grid, epoch.threshold)
        plays = self.plays + here
        people = self.people + here[:, None] * epoch.people
        accepted = self.accepted + here[:, None] * epoch.accepted
        step = here / xp.maximum(plays, 1.0)
        means = self.shown + step * (epoch.shown(setting.problem)[:, None] - self.shown)
        return Arms(plays, pooled(setting.problem, means, people, accepted), people, accepted)

    def best(self) -> Array:
        """Return the index of the best feasible arm played, else of the least violating one, ()."""
        return best_feasible(self.shown[0], self.shown[1:], self.plays > 0)


def arm_at(grid: Array, threshold: Array) -> Array:
    """Return 1 at the index of a threshold in the grid and 0 elsewhere, (K,); all 0 if it is not in the grid.

    >>> import numpy as np
    >>> arm_at(np.array([0.0, 0.5, 1.0]), 0.5)
    array([0., 1., 0.])
    """
    return (grid == threshold) * 1.0
