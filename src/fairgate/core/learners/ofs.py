"""OFS: Optimistic Feasible Search, exactly as in the paper's Algorithm 1."""

from __future__ import annotations

from typing import ClassVar

from fairgate.arrays import Array, add_at, namespace, record
from fairgate.core.labels import Credits
from fairgate.core.learners.components.chance import any_of, happens
from fairgate.core.learners.components.memory import taught
from fairgate.core.learners.components.played import arm_played
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import Feedback
from fairgate.random import Draws, Purpose


@record
class Memory:
    """Rounds so far, (); plays (K,), mean reward (K,) and mean residuals (J, K) of each threshold of the grid.

    `credited` (K,) is the number of plays with known labels, which are all plays unless labels arrive late.
    """

    rounds: Array
    plays: Array
    credited: Array
    reward: Array
    residuals: Array


@record
class OFS:
    """Search a grid for the best threshold that seems feasible; if none does, play the least violating one.

    :class:`fairgate.OFS` documents the rule and its settings.
    """

    c: Array = 0.5
    delta: Array = 0.05
    exploration: Array = 0.03

    level: ClassVar[str] = "bandit"
    learns_late: ClassVar[bool] = True

    def init(self, setting: Setting) -> Memory:
        """Begin with no plays and all estimates 0."""
        xp, arms = namespace(setting.grid), len(setting.grid)
        none = xp.zeros(arms)
        return Memory(xp.zeros(()), none, none, none, xp.zeros((len(setting.problem.names), arms)))

    def radius(self, memory: Memory) -> Array:
        """Return the radius b_i(t) of each threshold."""
        xp, arms = namespace(memory.plays), len(memory.plays)
        width = self.c * xp.log((memory.rounds + 2.0) * arms / self.delta)
        return xp.sqrt(width / xp.maximum(memory.plays, 1.0))

    def propose(self, setting: Setting, memory: Memory, draws: Draws) -> Policy:
        """Choose a threshold: lines 4 to 8 of Algorithm 1."""
        xp, arms, radius = namespace(memory.plays), len(memory.plays), self.radius(memory)
        excess = xp.maximum(memory.residuals + radius, 0.0).sum(axis=0)
        feasible = excess <= 0.0  # exactly where ĝ + b ≤ 0 for all residuals
        optimistic = xp.where(feasible, memory.reward + radius, -xp.inf)
        chosen = xp.where(feasible.any(), optimistic.argmax(), excess.argmin())
        luck, anywhere = draws.words(Purpose.LEARNER, 2)
        explores = happens(luck, self.exploration)
        return Policy.at(setting.grid[xp.where(explores, any_of(anywhere, arms), chosen)])

    def observe(self, setting: Setting, memory: Memory, draws: Draws, played: Policy, feedback: Feedback) -> Memory:
        """Update the means of the threshold that was played: line 10."""
        xp = namespace(memory.plays)
        here = arm_played(setting.grid, played)
        plays = memory.plays + here
        residuals = memory.residuals + here / xp.maximum(plays, 1.0) * (feedback.residuals[:, None] - memory.residuals)
        if feedback.credits is None:
            reward = memory.reward + here / xp.maximum(plays, 1.0) * (feedback.reward - memory.reward)
            return taught(feedback, memory, Memory(memory.rounds + 1.0, plays, plays, reward, residuals))
        share, earned = late(setting, feedback.credits)  # also after an empty batch
        credited = memory.credited + share
        reward = memory.reward + (earned - share * memory.reward) / xp.where(credited > 0.0, credited, 1.0)
        before = Memory(memory.rounds, memory.plays, credited, reward, memory.residuals)
        return taught(feedback, before, Memory(memory.rounds + 1.0, plays, credited, reward, residuals))

    def traces(self, memory: Memory) -> dict[str, Array]:
        """Return the number of thresholds that seem feasible."""
        return {"feasible": ((memory.residuals + self.radius(memory)).max(axis=0, initial=-1.0) <= 0.0).sum()}


def late(setting: Setting, credited: Credits) -> tuple[Array, Array]:
    """Return the plays of each threshold that arrived labels credit, and the sum of their rewards, (K,) each."""
    threshold = credited.policies.thresholds[:, 0, 0]
    xp = namespace(threshold)
    arm = xp.minimum(xp.searchsorted(setting.grid, threshold), len(setting.grid) - 1)
    share, none = credited.share * (setting.grid[arm] == threshold), xp.zeros(len(setting.grid))
    return add_at(none, (arm,), share), add_at(none, (arm,), share * credited.reward)
