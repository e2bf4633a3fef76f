"""Random, Fixed and AcceptAll: controls that learn nothing."""

from __future__ import annotations

from typing import ClassVar

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.chance import any_of
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.problem import Feedback
from fairgate.random import Draws, Purpose


class Control:
    """A learner that learns nothing."""

    level: ClassVar[str] = "bandit"
    learns_late: ClassVar[bool] = True

    def init(self, setting: Setting) -> tuple[()]:
        """Remember nothing."""
        return ()

    def observe(
        self, setting: Setting, memory: tuple[()], draws: Draws, played: Policy, feedback: Feedback
    ) -> tuple[()]:
        """Learn nothing."""
        return ()


@record
class Random(Control):
    """Play a random threshold of the grid, all equally likely."""

    def propose(self, setting: Setting, memory: tuple[()], draws: Draws) -> Policy:
        """Play a random threshold."""
        return Policy.at(setting.grid[any_of(draws.words(Purpose.LEARNER, 1)[0], len(setting.grid))])


@record
class Fixed(Control):
    """Play one threshold in every round."""

    threshold: Array

    def propose(self, setting: Setting, memory: tuple[()], draws: Draws) -> Policy:
        """Play the threshold."""
        return Policy.at(namespace(setting.grid).asarray(self.threshold))


@record
class AcceptAll(Control):
    """Accept every applicant at any score."""

    def propose(self, setting: Setting, memory: tuple[()], draws: Draws) -> Policy:
        """Return the threshold −∞."""
        xp = namespace(setting.grid)
        return Policy.at(xp.full((), -xp.inf))
