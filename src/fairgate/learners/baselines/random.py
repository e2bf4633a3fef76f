"""Random: any threshold of the grid, a control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairgate.learners.base import Learner
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.settings import Array


@dataclass(frozen=True)
class Random(Learner[State]):
    """Play a threshold of the grid, each as likely as any other.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.Random(), rounds=400, seeds=2)
    >>> len(set(run.thresholds[0, :, 0]))
    41
    """

    blind: ClassVar[bool] = True

    def choose(self, state: State) -> Array:
        """Play any threshold."""
        return state.grid[state.rng.integers(len(state.grid), size=state.replicates)]

    def learn(self, state: State, played: Policy, feedback: Feedback) -> None:
        """Learn nothing."""
