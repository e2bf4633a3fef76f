"""BestLottery: a control that accepts every applicant with the same probability."""

from __future__ import annotations

from typing import ClassVar

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.memory import taught
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import Feedback, Problem
from fairgate.random import Draws


@record
class Memory:
    """Rounds so far, and the reward that uniform lotteries have earned, () each."""

    rounds: Array
    earned: Array


@record
class BestLottery:
    """Accept every applicant with the same probability, as high or as low as the constraints allow.

    The learner plays the middle of the allowed window for `collect` rounds. After that, it plays the high end while the
    rewards sum to more than 0, else the low end. :class:`fairgate.learners.BestLottery` gives the reasons.
    """

    collect: Array = 10

    level: ClassVar[str] = "bandit"

    def init(self, setting: Setting) -> Memory:
        """Begin with no reward."""
        xp = namespace(setting.grid)
        return Memory(xp.zeros(()), xp.zeros(()))

    def propose(self, setting: Setting, memory: Memory, draws: Draws) -> Policy:
        """Return the uniform lottery of the middle or of an end of the window."""
        xp, (low, high) = namespace(setting.grid), uniform_window(setting.problem)
        end = xp.where(memory.earned > 0.0, high, low)
        accepted = xp.where(memory.rounds < self.collect, 0.5 * (low + high), end)
        return Policy.lottery(xp.stack((-xp.inf, xp.inf)), xp.stack((accepted, 1.0 - accepted)))

    def observe(self, setting: Setting, memory: Memory, draws: Draws, played: Policy, feedback: Feedback) -> Memory:
        """Add the reward if a uniform lottery was played; other policies give no information."""
        xp = namespace(memory.earned)
        uniform = xp.isinf(played.thresholds).all()
        earned = memory.earned + xp.where(uniform, feedback.reward, 0.0)
        return taught(feedback, memory, Memory(memory.rounds + 1.0, earned))


def uniform_window(problem: Problem) -> tuple[Array, Array]:
    """Return the lowest and highest probability of a uniform lottery that satisfies all constraints."""
    windows = [constraint.uniform_window() for constraint in problem.constraints]
    lows, highs = zip((0.0, 1.0), *windows, strict=True)
    xp = namespace(*lows, *highs)
    return xp.stack([*map(xp.asarray, lows)]).max(), xp.stack([*map(xp.asarray, highs)]).min()
