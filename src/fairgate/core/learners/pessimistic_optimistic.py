"""PessimisticOptimistic: choose thresholds by optimistic estimates and tightened virtual queues."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.arms import Arms
from fairgate.core.learners.components.epochs import Epoch, Epochs
from fairgate.core.setting import Setting
from fairgate.random import Draws


@record
class Knows:
    """The arms, and a queue of violations of each constraint, (J,)."""

    arms: Arms
    queues: Array


@record
class PessimisticOptimistic(Epochs):
    """Play the best optimistic reward minus optimistic residuals, each priced by a queue of past violations.

    :class:`fairgate.learners.PessimisticOptimistic` documents the equations and the settings.
    """

    epoch_length: Array = 5
    burn_in: Array = 2
    width: Array = 0.02
    trade_off: Array = 0.03
    tightness: Array = 0.0
    rectified: Array = True

    def begin(self, setting: Setting) -> Knows:
        """Begin with empty queues."""
        return Knows(Arms.unknown(setting), namespace(setting.grid).zeros(len(setting.problem.names)))

    def pick(self, setting: Setting, knows: Knows, draws: Draws) -> Array:
        """Pick the first threshold never played, or the best Lagrangian of optimistic estimates."""
        xp, plays, m = namespace(setting.grid), knows.arms.plays, knows.arms.plays.sum() + 1.0
        radius = self.width * xp.sqrt(xp.log(1.0 + m) / xp.maximum(plays, 1.0))
        price = knows.queues / (self.trade_off * xp.sqrt(m))
        cost = (price[:, None] * self.counted(knows.arms.shown[1:] - radius)).sum(axis=0)
        score = knows.arms.shown[0] + radius - cost
        return setting.grid[xp.where(plays == 0, xp.inf, score).argmax()]

    def counted(self, residuals: Array) -> Array:
        """Return residuals, or only their positive parts if slack cannot offset violations."""
        xp = namespace(residuals)
        return xp.where(self.rectified, xp.maximum(residuals, 0.0), residuals)

    def digest(self, setting: Setting, knows: Knows, epoch: Epoch) -> Knows:
        """Add the epoch to its arm and to the queues."""
        xp, m = namespace(knows.queues), knows.arms.plays.sum() + 1.0
        grown = self.counted(epoch.shown(setting.problem)[1:]) + self.tightness / xp.sqrt(m)
        return Knows(knows.arms.with_epoch(setting, epoch), xp.maximum(0.0, knows.queues + grown))
