"""TwoPoint: two-point gradient ascent on the Lagrangian with epochs (SPSA), with dual ascent."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.learners.components.memory import either
from fairgate.core.learners.components.sides import Sides, threshold_at
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.random import Draws


@record
class TwoPoint(Epochs):
    """Play one epoch slightly above the centre and one slightly below it, and move to the better side.

    :class:`fairgate.learners.TwoPoint` documents the equations and the settings.
    """

    epoch_length: Array = 30
    burn_in: Array = 15
    step: Array = 0.3
    dual_step: Array = 2.0
    radius: Array = 0.05
    start_at: Array = 0.5

    def begin(self, setting: Setting) -> Sides:
        """Begin at `start_at`."""
        xp = namespace(setting.grid)
        reach = self.reach(xp.ones(()))
        return Sides.at(setting, xp.clip(self.start_at, reach, 1.0 - reach))

    def reach(self, pair: Array) -> Array:
        """Return the distance δ_m of the thresholds of pair m from the centre."""
        return namespace(pair).minimum(0.5, self.radius * pair**-0.101)

    def pick(self, setting: Setting, knows: Sides, draws: Draws) -> Array:
        """Pick a random side of the centre, and then the other."""
        side = knows.next(knows.epochs % 2 == 0, draws)
        return threshold_at(setting.grid, knows.centre + side * self.reach(knows.epochs // 2 + 1.0))

    def digest(self, setting: Setting, knows: Sides, epoch: Epoch) -> Sides:
        """Keep the result of the first side; after the second, move the centre and then the multipliers."""
        xp, shown, epochs = namespace(setting.grid), epoch.shown(setting.problem), knows.epochs + 1.0
        sign = knows.side_of(setting.grid, epoch.threshold)
        opened = Sides(epochs, knows.centre, sign, shown, knows.multipliers)
        pair = knows.epochs // 2 + 1.0
        reach = self.reach(pair)
        slope = knows.sign * knows.lagrangian(knows.first - shown) / (2.0 * reach)
        centre = xp.clip(knows.centre + self.step * pair**-0.602 * slope, reach, 1.0 - reach)
        raised = knows.multipliers + self.dual_step * pair**-0.5 * 0.5 * (knows.first + shown)[1:]
        closed = Sides(epochs, centre, knows.sign, knows.first, xp.maximum(0.0, raised))
        return either(knows.epochs % 2 == 0, opened, closed)

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the centre."""
        return Policy.at(threshold_at(setting.grid, memory.knows.centre))

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return the centre."""
        return {"centre": memory.knows.centre}
