"""ConformalTracker: move the threshold by the slack or violation of the tightest constraint."""

from __future__ import annotations

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.learners.components.memory import either
from fairgate.core.learners.components.sides import threshold_at
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.random import Draws


@record
class Tracked:
    """Epochs finished (), the centre (), reward and largest residual `before` (2,), and their discounted `slopes` (2,).

    `before` refers to the epoch before; during the scan, to the centre.
    """

    epochs: Array
    centre: Array
    before: Array
    slopes: Array


@record
class ConformalTracker(Epochs):
    """Move the threshold by the slack or violation of the tightest constraint, as adaptive conformal inference does.

    :class:`fairgate.learners.ConformalTracker` documents the equations, their guarantees and the settings.
    """

    epoch_length: Array = 5
    burn_in: Array = 1
    step: Array = 0.2
    radius: Array = 0.025
    memory: Array = 0.9
    scan: Array = 5

    def begin(self, setting: Setting) -> Tracked:
        """Begin in the middle, with slopes 0 and a result that any other improves on."""
        xp = namespace(setting.grid)
        return Tracked(xp.zeros(()), xp.full((), 0.5), xp.stack((0.0, xp.inf)), xp.zeros(2))

    @property
    def reach(self) -> Array:
        """Distance of the played thresholds from the centre."""
        return namespace(self.radius).minimum(0.5, self.radius)

    def pick(self, setting: Setting, knows: Tracked, draws: Draws) -> Array:
        """Pick the next place of the scan, or above and below the centre in turn."""
        xp = namespace(setting.grid)
        centred = xp.clip(knows.centre, self.reach, 1.0 - self.reach) + self.side(knows) * self.reach
        return threshold_at(setting.grid, xp.where(knows.epochs < self.scan, self.place(knows), centred))

    def place(self, knows: Tracked) -> Array:
        """Return the current place of the scan."""
        return (knows.epochs + 0.5) / self.scan

    def side(self, knows: Tracked) -> Array:
        """Return 1 in epochs above the centre and −1 in those below."""
        return namespace(knows.epochs).where((knows.epochs - self.scan) % 2 == 0, 1.0, -1.0)

    def digest(self, setting: Setting, knows: Tracked, epoch: Epoch) -> Tracked:
        """Keep the best place of the scan; after it, update the slopes of reward and residual, and move the centre."""
        xp, epochs, (reward, *residuals) = namespace(setting.grid), knows.epochs + 1.0, epoch.shown(setting.problem)
        largest = xp.stack([-1.0, *residuals]).max()
        shown = xp.stack((reward, largest))
        best = Tracked(epochs, self.place(knows), shown, knows.slopes)
        still = Tracked(epochs, knows.centre, knows.before, knows.slopes)
        scanned = either(is_better(shown, knows.before), best, still)
        gained = xp.where(knows.epochs > self.scan, self.side(knows) * (shown - knows.before), 0.0)
        slopes = self.memory * knows.slopes + gained
        towards = xp.sign(xp.where(largest > 0.0, slopes[1], slopes[0]))
        centre = xp.clip(knows.centre - self.step * towards * largest, self.reach, 1.0 - self.reach)
        return either(knows.epochs < self.scan, scanned, Tracked(epochs, centre, shown, slopes))

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the centre."""
        return Policy.at(threshold_at(setting.grid, memory.knows.centre))

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return the centre."""
        return {"centre": memory.knows.centre}


def is_better(shown: Array, best: Array) -> Array:
    """Return whether a reward and largest residual (2,) are better: feasible with more reward, else less violating."""
    feasible = shown[1] <= 0.0
    both = feasible & (best[1] <= 0.0)
    better = namespace(shown).where(both, shown[0] > best[0], shown[1] < best[1])
    return better & (feasible | (best[1] > 0.0))
