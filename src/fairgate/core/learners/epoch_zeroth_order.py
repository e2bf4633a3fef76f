"""EpochZerothOrder: zeroth-order ascent with growing epochs, so that the state settles (Ray et al. 2022)."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.learners.components.memory import either
from fairgate.core.learners.components.sides import Sides, threshold_at
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.random import Draws


@record
class EpochZerothOrder(Epochs):
    """Keep a threshold until the state has settled, observe it, and take a step from one or two such points.

    :class:`fairgate.learners.EpochZerothOrder` documents the equations and the settings.
    """

    epoch_length: Array = 20
    burn_in: Array = 10
    memory: Array = 5.0
    points: Array = 2
    step: Array = 0.3
    dual_step: Array = 8.0
    radius: Array = 0.05
    start_at: Array = 0.5

    def begin(self, setting: Setting) -> Sides:
        """Begin at `start_at`."""
        xp = namespace(setting.grid)
        begun = Sides.at(setting, xp.zeros(()))
        return Sides.at(setting, self.project(begun, xp.asarray(self.start_at)))

    def number(self, knows: Sides) -> Array:
        """Return the number m of the current step, counted from 1."""
        return knows.epochs // self.points + 1.0

    def reach(self, knows: Sides) -> Array:
        """Return the distance δ_m of the played thresholds from the centre."""
        return namespace(knows.epochs).minimum(0.5, self.radius) * self.number(knows) ** -0.25

    def project(self, knows: Sides, centre: Array) -> Array:
        """Move the centre so that all points played around it lie in the grid's interval."""
        reach = self.reach(knows)
        return namespace(centre).clip(centre, reach, 1.0 - reach)

    def clock(self, memory: Memory, draws: Draws) -> tuple[Array, Array]:
        """Return whether the state has had n_m rounds to settle, and whether this is the epoch's last round."""
        xp, age = namespace(memory.epoch.age), memory.epoch.age
        settling = self.burn_in + xp.ceil(self.memory * 0.5 * xp.log(self.number(memory.knows)))
        return age >= settling, age == settling + self.epoch_length - self.burn_in - 1

    def pick(self, setting: Setting, knows: Sides, draws: Draws) -> Array:
        """Pick a random side of the centre; if each step uses two points, pick the other side second."""
        side = knows.next(knows.epochs % self.points == 0, draws)
        return threshold_at(setting.grid, knows.centre + side * self.reach(knows))

    def digest(self, setting: Setting, knows: Sides, epoch: Epoch) -> Sides:
        """After the last point of a step, move the centre and then the multipliers; keep the first point's result."""
        xp, shown, epochs = namespace(setting.grid), epoch.shown(setting.problem), knows.epochs + 1.0
        here = knows.side_of(setting.grid, epoch.threshold)
        opened = Sides(epochs, knows.centre, here, shown, knows.multipliers)
        two = self.points == 2
        rise = xp.where(two, 0.5 * knows.sign * knows.lagrangian(knows.first - shown), here * knows.lagrangian(shown))
        mean = xp.where(two, 0.5 * (knows.first + shown), shown)[1:]
        number = self.number(knows)
        centre = self.project(knows, knows.centre + self.step / number * rise / self.reach(knows))
        raised = xp.maximum(0.0, knows.multipliers + self.dual_step * number**-0.5 * mean)
        closed = Sides(epochs, centre, knows.sign, knows.first, raised)
        return either(knows.epochs % self.points == self.points - 1, closed, opened)

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the centre."""
        return Policy.at(threshold_at(setting.grid, memory.knows.centre))

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return the centre."""
        return {"centre": memory.knows.centre}
