"""DoublyOptimistic: optimistic in reward and in feasibility, with bounds that hold at every round."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.evidence import Evidence
from fairgate.core.learners.components.memory import taught
from fairgate.core.learners.components.played import as_proposed
from fairgate.core.learners.components.schedule import when
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import Feedback, best_feasible
from fairgate.random import Draws

EXACT = 1e-6
"""Differences of residuals below this count as none: bounds of rates are found to within 1e-8."""


@record
class Memory:
    """Progress of the current visit to a threshold, and the evidence on all thresholds.

    Attributes
    ----------
    arm, age
        Index of the threshold in the grid, and number of rounds of this visit, ().
    visits, evidence
        Number of finished visits, (K,), and evidence from the rounds that count.
    lower, upper, worst
        Bounds of the reward, and lower bound of the largest residual, as of the end of the last visit, (K,).
    """

    arm: Array
    age: Array
    visits: Array
    evidence: Evidence
    lower: Array
    upper: Array
    worst: Array


@record
class DoublyOptimistic:
    """Play the threshold that could earn most among those that could be feasible.

    :class:`fairgate.learners.DoublyOptimistic` documents the equations and the settings.
    """

    delta: Array = 0.05
    epoch_length: Array = 4
    burn_in: Array = 2
    bias: Array = 0.0

    level: ClassVar[str] = "bandit"

    def init(self, setting: Setting) -> Memory:
        """Begin at the lowest threshold, without evidence."""
        xp, arms = namespace(setting.grid), len(setting.grid)
        none, far = xp.zeros(arms), xp.full((arms,), xp.inf)
        return Memory(none.argmax(), xp.zeros(()), none, Evidence.none(setting), -far, far, -far)

    def propose(self, setting: Setting, memory: Memory, draws: Draws) -> Policy:
        """Play the threshold of this visit."""
        return Policy.at(setting.grid[memory.arm])

    def observe(self, setting: Setting, memory: Memory, draws: Draws, played: Policy, feedback: Feedback) -> Memory:
        """Add the round if it counts; after a visit's last round, compute its bounds and choose the next threshold.

        A visit starts again after a round in which another policy was played.
        """
        xp, ours = namespace(setting.grid), as_proposed(setting.grid, played, setting.grid[memory.arm])
        here = (xp.arange(len(setting.grid)) == memory.arm) & ours & (memory.age >= self.burn_in)
        evidence = memory.evidence.with_batch(setting, feedback, here)
        after = replace(memory, evidence=evidence, age=xp.where(ours, memory.age + 1.0, 0.0))
        length = self.epoch_length * 2.0 ** xp.minimum(memory.visits[memory.arm], 40.0)  # longer than any run
        over: Memory = when(after.age >= length, lambda: self.visited(setting, after), lambda: after)
        return taught(feedback, memory, over)

    def visited(self, setting: Setting, memory: Memory) -> Memory:
        """Return the memory after the last round of a visit, with the next threshold to play."""
        xp, here = namespace(setting.grid), memory.arm == namespace(setting.grid).arange(len(setting.grid))
        visits = memory.visits + here
        times = visits[memory.arm]
        kept = self.epoch_length * (2.0**times - 1.0) - self.burn_in * times
        wider = self.bias * times / xp.maximum(kept, 1.0)
        bounds = memory.evidence.bounds(setting, memory.arm, self.delta, wider)
        before = memory.lower, memory.upper, memory.worst
        lower, upper, worst = (xp.where(here, now, old) for now, old in zip(bounds, before, strict=True))
        return Memory(choice(visits, upper, worst), 0.0 * memory.age, visits, memory.evidence, lower, upper, worst)

    def recommend(self, setting: Setting, memory: Memory) -> Policy:
        """Recommend the visited threshold with feasible pooled residuals whose lower bound of the reward is highest."""
        residuals = memory.evidence.pooled_residuals(setting)
        return Policy.at(setting.grid[best_feasible(memory.lower, residuals, memory.visits > 0)])

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return 1 where the bounds rule out that any threshold is feasible."""
        return {"infeasible": (memory.worst.min() > EXACT) * 1.0}


def choice(visits: Array, upper: Array, worst: Array) -> Array:
    """Return the arm that could earn most among those that could be feasible; ties go to the least visited, ()."""
    xp = namespace(worst)
    could_earn = xp.where(worst <= xp.maximum(worst.min(), 0.0) + EXACT, upper, -xp.inf)
    return xp.where(could_earn == could_earn.max(), visits, xp.inf).argmin()
