"""Worlds by number: one as a task, or many of one shape as a task that varies by replicate."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgate.environments.responsive_scores import GROUPED, ResponsiveScores
from fairgate.errors import InputError
from fairgate.settings import whole_number
from fairgate.tasks import Task, make_problem
from fairgate.worlds.distribution import World, draw_world
from fairgate.worlds.reference import Reference, reference_of
from fairgate.worlds.shapes import shape_of

AT_STAKE = 0.02
"""Least reward per person that the best lottery must earn beyond the best uniform one, else a world is drawn again."""

ATTEMPTS = 50
"""A world is drawn so often at most; more would mean that something else is wrong."""

SHARED = ("label_arrival", "label_loss")
"""Settings of an environment that all worlds of a shape have in common."""


def load_world(number: int) -> World:
    """Return a world by its number, the first of its draws in which something is at stake.

    Something is at stake if, in round 0, some uniform lottery is feasible and the best lottery earns at least 0.02 more
    per person than the best uniform one.
    """
    return solve_world(whole_number("world", number, 0))[0]


@functools.lru_cache(maxsize=4096)
def solve_world(number: int) -> tuple[World, Reference]:
    """Return a world by its number, and what its best fixed policies earn in round 0."""
    for attempt in range(ATTEMPTS):
        world = draw_world(number, attempt)
        found = reference_of(task_of([world]).at(0))
        if found.lottery - found.fair >= AT_STAKE:
            return world, found
    raise InputError(f"world {number} has nothing at stake in {ATTEMPTS} draws")


def world_task(number: int) -> Task:
    """Return a world as a task, called ``world-…``.

    >>> world_task(3).name
    'world-3'
    """
    return task_of([load_world(number)])


def world_named(name: str) -> Task:
    """Return the world whose name as a task is given, ``world-`` and its number.

    >>> world_named("world-3").name
    'world-3'
    """
    if not is_world(name):
        raise InputError(f"task {name!r} must be world- and a number from 0, such as world-10003")
    return world_task(int(name.removeprefix("world-")))


def is_world(name: str) -> bool:
    """Whether this is the name of a world.

    >>> is_world("world-3"), is_world("world-x"), is_world("german")
    (True, False, False)
    """
    digits = name.removeprefix("world-")
    return digits != name and digits.isascii() and digits.isdigit()


def batch_of(name: str, otherwise: int = 256) -> int:
    """Return the people per round of a world by its name; `otherwise` for any other task.

    >>> batch_of("world-12"), batch_of("german")
    (64, 256)
    """
    return shape_of(int(name.removeprefix("world-"))).batch if is_world(name) else otherwise


def task_of(worlds: Sequence[World]) -> Task:
    """Return worlds of one shape as a task, one per replicate; a single one fits any number of replicates."""
    shape = worlds[0].shape
    if any(each.shape != shape for each in worlds):
        raise InputError("worlds must be of one shape to stand side by side")
    one = len(worlds) == 1
    environment: dict[str, Any] = {}
    for name in worlds[0].environment:
        values = [each.environment[name] for each in worlds]
        environment[name] = values[0] if one or name in SHARED else np.array(values).tolist()
        if name in GROUPED:
            environment[name] = np.array(values[0] if one else values)
    problem: dict[str, Any] = {}
    for name, first in worlds[0].problem.items():
        if isinstance(first, dict):
            problem[name] = {key: _by_world([each.problem[name][key] for each in worlds]) for key in first}
        else:
            problem[name] = _by_world([each.problem[name] for each in worlds])
    name = f"world-{worlds[0].number}" if one else f"worlds-{worlds[0].number}-{worlds[-1].number}"
    return Task(ResponsiveScores(**environment), make_problem(**problem), shape.grid, name)


def _by_world(values: Sequence[float]) -> Any:
    return float(values[0]) if len(values) == 1 else [float(value) for value in values]
