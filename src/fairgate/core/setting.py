"""Setting: the information that a learner receives, and the task of one loop, which adds the environment."""

from __future__ import annotations

from typing import Any

from fairgate.arrays import Array, record, register, static
from fairgate.core.labels import LabelDelay
from fairgate.problem import Problem


@record
class Setting:
    """Information that a learner receives.

    Attributes
    ----------
    problem
        Utility and constraints.
    grid
        Thresholds to choose from, increasing, (K,).
    groups
        Number of groups.
    """

    problem: Problem
    grid: Array
    groups: int = static()


@record
class Task:
    """An environment, the setting of its learner, and the delay of labels (None if all arrive at once)."""

    environment: Any
    setting: Setting
    delay: LabelDelay | None = None


def register_parts(problem: Problem) -> None:
    """Register a problem's classes with JAX."""
    register(type(problem), type(problem.utility), *(type(each) for each in problem.constraints))
