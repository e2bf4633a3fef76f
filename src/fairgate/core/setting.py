"""Setting and task of one loop: what a learner is told, and the environment that it acts on."""

from __future__ import annotations

from typing import Any

from fairgate.arrays import Array, record, register, static
from fairgate.core.labels import LabelDelay
from fairgate.problem import Problem


@record
class Setting:
    """What a learner is told.

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
    """An environment, what its learner is told, and when labels arrive: None if all do at once."""

    environment: Any
    setting: Setting
    delay: LabelDelay | None = None


def register_parts(problem: Problem) -> None:
    """Tell JAX of a problem's classes."""
    register(type(problem), type(problem.utility), *(type(each) for each in problem.constraints))
