"""PerformativeGradient: gradient ascent on a model of the applicants that thresholds attract (Izzo et al. 2021)."""

from __future__ import annotations

from typing import ClassVar

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.arms import arm_at
from fairgate.core.learners.components.chance import side
from fairgate.core.learners.components.epochs import Epoch, Epochs, Memory
from fairgate.core.learners.components.location_scale import LocationScale, between
from fairgate.core.learners.components.worth import worth
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import is_feasible
from fairgate.random import Draws, Purpose


@record
class Knows:
    """Finished epochs, (); the centre from 0 to 1, (); the side played first in this pair, (); and the model."""

    epochs: Array
    centre: Array
    sign: Array
    model: LocationScale


@record
class PerformativeGradient(Epochs):
    """Estimate how scores follow the threshold, and ascend the reward that accounts for this response.

    :class:`fairgate.learners.PerformativeGradient` documents the equations and the settings.
    """

    epoch_length: Array = 20
    burn_in: Array = 10
    step: Array = 0.1
    radius: Array = 0.05
    trust: Array = 0.1
    discount: Array = 0.98
    width: Array = 1.0
    start_at: Array = 0.5

    level: ClassVar[str] = "selective-labels"

    def begin(self, setting: Setting) -> Knows:
        """Begin at `start_at`, without data."""
        xp = namespace(setting.grid)
        return Knows(xp.zeros(()), xp.full((), self.start_at), xp.ones(()), LocationScale.unknown(setting))

    def reach(self, knows: Knows) -> Array:
        """Return the distance δ_k of this pair's thresholds from the centre."""
        return self.radius * (knows.epochs // 2 + 1.0) ** -0.25

    def pick(self, setting: Setting, knows: Knows, draws: Draws) -> Array:
        """Pick the threshold nearest to a random side of the centre, and then the one nearest to the other side."""
        drawn = side(draws.words(Purpose.LEARNER, 1)[0])
        here = namespace(drawn).where(knows.epochs % 2 == 0, drawn, -knows.sign)
        return setting.grid[nearest(places_of(setting.grid), knows.centre + here * self.reach(knows))]

    def digest(self, setting: Setting, knows: Knows, epoch: Epoch) -> Knows:
        """Add the epoch to the model; after the second of a pair, move the centre."""
        xp, opening = namespace(setting.grid), knows.epochs % 2 == 0
        model = knows.model.faded(self.discount).with_epoch(setting.grid, epoch.threshold, *epoch.binned)
        away = places_of(setting.grid) @ arm_at(setting.grid, epoch.threshold) - knows.centre
        at_end = xp.where(knows.centre < 0.5, -1.0, 1.0)  # the grid ends on this side
        sign = xp.where(opening, xp.where(away == 0.0, at_end, xp.sign(away)), knows.sign)
        centre = xp.where(opening, knows.centre, self.moved(setting, knows, model))
        return Knows(knows.epochs + 1.0, centre, sign, model)

    def moved(self, setting: Setting, knows: Knows, model: LocationScale) -> Array:
        """Return the centre after a step along the model's gradient, towards its feasible set."""
        xp, places, reach = namespace(setting.grid), places_of(setting.grid), self.reach(knows)
        found = worth(setting.problem, model.rates(setting.grid))
        sides = xp.clip(xp.stack((knows.centre - reach, knows.centre + reach)), 0.0, 1.0)
        low, high = between(places, found.reward, sides) if len(places) > 1 else xp.zeros(2)
        slope = (high - low) / xp.maximum(sides[1] - sides[0], 1e-9)
        wanted = xp.clip(knows.centre + xp.clip(self.step * slope, -self.trust, self.trust), 0.0, 1.0)
        upper = found.residual + self.width * found.residual_error
        feasible = is_feasible(upper[None])
        nearby = xp.where(feasible, abs(places - wanted), xp.inf).argmin()
        projected = places[xp.where(feasible.any(), nearby, upper.argmin())]
        allowed = xp.where(feasible[nearest(places, wanted)], wanted, projected)
        return knows.centre + xp.clip(allowed - knows.centre, -self.trust, self.trust)

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the threshold nearest to the centre."""
        return Policy.at(setting.grid[nearest(places_of(setting.grid), memory.knows.centre)])

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return the centre."""
        return {"centre": memory.knows.centre}


def places_of(grid: Array) -> Array:
    """Return the positions of thresholds in the grid's interval, from 0 to 1, (K,)."""
    width = grid[-1] - grid[0]
    return (grid - grid[0]) / namespace(grid).where(width > 0, width, 1.0)


def nearest(places: Array, at: Array) -> Array:
    """Return the index of the nearest of increasing places, the lower one of a tie, ()."""
    return abs(places - at).argmin()
