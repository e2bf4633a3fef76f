"""EpsilonGreedy: play the best threshold that seems feasible, and occasionally a random one."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.arms import Arms
from fairgate.core.learners.components.chance import any_of, happens
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.random import Draws, Purpose


@record
class EpsilonGreedy(Epochs):
    """Play the best threshold that seems feasible; in epoch m, a random one of K thresholds with probability eK/m.

    :class:`fairgate.learners.EpsilonGreedy` documents the rule and its settings.
    """

    epoch_length: Array = 5
    burn_in: Array = 2
    exploration: Array = 0.1

    def begin(self, setting: Setting) -> Arms:
        """Begin with arms that were never played."""
        return Arms.unknown(setting)

    def pick(self, setting: Setting, knows: Arms, draws: Draws) -> Array:
        """Pick a random threshold, or the best one so far."""
        xp, arms, epochs = namespace(knows.plays), len(setting.grid), knows.plays.sum()
        luck, anywhere = draws.words(Purpose.LEARNER, 2)
        explores = happens(luck, self.exploration * arms / (epochs + 1.0)) | (epochs == 0)
        return setting.grid[xp.where(explores, any_of(anywhere, arms), knows.best())]

    def digest(self, setting: Setting, knows: Arms, epoch: Epoch) -> Arms:
        """Add the epoch to its arm."""
        return knows.with_epoch(setting, epoch)

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the best threshold so far."""
        return Policy.at(setting.grid[memory.knows.best()])
