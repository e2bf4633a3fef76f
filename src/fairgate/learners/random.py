"""Random: any threshold of the grid, a control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fairgate.learners.base import Learner
from fairgate.learners.memory import Memory
from fairgate.problem import Signals
from fairgate.settings import Array
from fairgate.tasks import Task


@dataclass(frozen=True)
class Random(Learner[Memory]):
    """Play a threshold of the grid, each as likely as any other.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.Random(), rounds=400, seeds=2)
    >>> len(set(run.thresholds[0, :, 0]))
    41
    """

    blind: ClassVar[bool] = True

    def remember(self, task: Task, common: Mapping[str, Any]) -> Memory:
        """Remember nothing of its own."""
        return Memory(**common)

    def choose(self, memory: Memory) -> Array:
        """Play any threshold."""
        return memory.grid[memory.rng.integers(len(memory.grid), size=memory.replicates)]

    def learn(self, memory: Memory, thresholds: Array, signals: Signals) -> None:
        """Learn nothing."""
