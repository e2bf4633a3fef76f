"""ExploreThenCommit: play every threshold for one epoch, then the best one permanently."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.arms import Arms
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.learners.components.memory import either
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.random import Draws


@record
class ExploreThenCommit(Epochs):
    """Play every threshold for one epoch, from the lowest to the highest; from then on, play the best of them.

    :class:`fairgate.learners.ExploreThenCommit` documents the rule and its settings.
    """

    epoch_length: Array = 3
    burn_in: Array = 1

    def begin(self, setting: Setting) -> Arms:
        """Begin with arms that were never played."""
        return Arms.unknown(setting)

    def pick(self, setting: Setting, knows: Arms, draws: Draws) -> Array:
        """Pick the lowest threshold not played yet, or the best one if all have been played."""
        known = knows.plays > 0
        return setting.grid[namespace(known).where(known.all(), knows.best(), known.argmin())]

    def digest(self, setting: Setting, knows: Arms, epoch: Epoch) -> Arms:
        """Learn from the first epoch on each threshold only."""
        return either((knows.plays > 0).all(), knows, knows.with_epoch(setting, epoch))

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the best threshold so far."""
        return Policy.at(setting.grid[memory.knows.best()])
