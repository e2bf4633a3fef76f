"""Instances: tasks of one shape in one record, so that one compiled program plays all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgate.arrays import Array
from fairgate.core.setting import Task, register_parts
from fairgate.errors import InputError


def stacked(tasks: Sequence[Task]) -> Task:
    """Return tasks of one shape as one, whose arrays and numbers have the tasks along a new first axis.

    It is not a task to be played, but what `jax.vmap` maps over: within it, a function of one task sees each. Tasks
    are of one shape if they have environments of one class, as many groups and thresholds, and the same constraints;
    all else may differ. An environment whose arrays differ in length otherwise has a class method ``alike(several)``,
    which returns the same environments with arrays of equal lengths.
    """
    from jax import tree

    for task in tasks:
        register_parts(task.setting.problem)
    try:
        found: Task = tree.map(_together, *_alike(tasks))
    except ValueError as error:
        raise InputError(
            "tasks must be of one shape (environment, groups, size of the grid, constraints) to be stacked"
        ) from error
    return found


def _alike(tasks: Sequence[Task]) -> list[Task]:
    environments: list[Any] = [task.environment for task in tasks]
    kind = type(environments[0])
    if hasattr(kind, "alike") and all(type(each) is kind for each in environments):
        environments = kind.alike(environments)
    return [dataclasses.replace(task, environment=each) for each, task in zip(environments, tasks, strict=True)]


def _together(*values: Any) -> Array:
    return np.stack(values)
