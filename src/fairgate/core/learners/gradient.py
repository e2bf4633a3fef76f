"""BanditGradient and PrimalDual: one-point bandit gradient descent."""

from __future__ import annotations

from typing import ClassVar

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.chance import side
from fairgate.core.learners.components.memory import taught
from fairgate.core.learners.components.played import as_proposed
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import Feedback
from fairgate.random import Draws, Purpose


@record
class Memory:
    """Centre of the search, (), and multiplier of each residual, (J,)."""

    centre: Array
    multipliers: Array


@record
class BanditGradient:
    """Play slightly above or below a centre, and move the centre against the observed loss.

    :class:`fairgate.BanditGradient` documents the equations and the settings.
    """

    step: Array = 0.03
    radius: Array = 0.3
    start_at: Array = 0.5

    level: ClassVar[str] = "bandit"

    def init(self, setting: Setting) -> Memory:
        """Begin at `start_at`, with multipliers 0."""
        grid, xp = setting.grid, namespace(setting.grid)
        centre = grid[0] + self.start_at * (grid[-1] - grid[0])
        return Memory(self.project(grid, centre), xp.zeros(len(setting.problem.names)))

    def reach(self, grid: Array) -> Array:
        """Return the distance of the played thresholds from the centre: `radius`, at most half the grid's interval."""
        return namespace(grid).minimum(self.radius, 0.5 * (grid[-1] - grid[0]))

    def project(self, grid: Array, centre: Array) -> Array:
        """Move the centre so that both points played around it lie in the grid's interval."""
        reach = self.reach(grid)
        return namespace(grid).clip(centre, grid[0] + reach, grid[-1] - reach)

    def propose(self, setting: Setting, memory: Memory, draws: Draws) -> Policy:
        """Play x = y + ρu, on a random side u of the centre y."""
        return Policy.at(memory.centre + self.reach(setting.grid) * self.side(draws))

    def side(self, draws: Draws) -> Array:
        """Return the side u that is played in this round, 1 or −1."""
        return side(draws.words(Purpose.LEARNER, 1)[0])

    def loss(self, memory: Memory, feedback: Feedback) -> Array:
        """Return the loss to minimise."""
        return -feedback.reward

    def raised(self, memory: Memory, feedback: Feedback) -> Array:
        """Return the multipliers after a round."""
        return memory.multipliers

    def observe(self, setting: Setting, memory: Memory, draws: Draws, played: Policy, feedback: Feedback) -> Memory:
        """Move the centre by −ηℓu/ρ, if the proposed side was played."""
        proposed = self.propose(setting, memory, draws).thresholds[0, 0]
        here = as_proposed(setting.grid, played, proposed) * self.side(draws)
        gradient = self.loss(memory, feedback) * here / self.radius
        centre = self.project(setting.grid, memory.centre - self.step * gradient)
        return taught(feedback, memory, Memory(centre, self.raised(memory, feedback)))

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return the centre."""
        return {"centre": memory.centre}


@record
class PrimalDual(BanditGradient):
    """Descend the Lagrangian, and raise the multiplier of each constraint while it is violated."""

    dual_step: Array = 0.1

    def loss(self, memory: Memory, feedback: Feedback) -> Array:
        """Return −r + Σ λ g."""
        return -feedback.reward + (memory.multipliers * feedback.residuals).sum()

    def raised(self, memory: Memory, feedback: Feedback) -> Array:
        """Return max(0, λ + μg)."""
        return namespace(memory.centre).maximum(0.0, memory.multipliers + self.dual_step * feedback.residuals)

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return the centre and the sum of the multipliers."""
        return {"centre": memory.centre, "price": memory.multipliers.sum()}
