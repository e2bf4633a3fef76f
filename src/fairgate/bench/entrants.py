"""Entrants: the learners and tasks that take part, built-in ones by name and a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fairgate.errors import InputError
from fairgate.learners import LEARNERS, AnyLearner, Learner, as_learner, check_learner
from fairgate.learners.checks import LearnerCheckError
from fairgate.places import find_learner, find_task
from fairgate.simulation import simulate
from fairgate.tasks import Task, presets

LEFT_OUT = ("fixed",)
"""Built-in learners that need a setting nobody can choose for all tasks."""


def gather_tasks(tasks: Iterable[str | Task] | None) -> dict[str, Task]:
    """Return tasks by name: those named, given or found at a place, or all built-in ones.

    >>> list(gather_tasks(["german"]))
    ['german']
    """
    found: dict[str, Task] = {}
    for each in presets() if tasks is None else tasks:
        task = find_task(each) if isinstance(each, str) else each
        if found.setdefault(task.name, task) is not task:
            raise InputError(f"two tasks are called {task.name!r}: give each a name of its own")
    if not found:
        raise InputError("no task is left: name some")
    return found


def built_in(names: Sequence[str] | None, tasks: Mapping[str, Task]) -> dict[tuple[str, str], Learner[Any]]:
    """Make learners for tasks, by learner and task; without names, all built-in ones that can be made for a task.

    >>> sorted(built_in(["ofs"], gather_tasks(["german"])))
    [('ofs', 'german')]
    """
    if names is not None:
        return {(name, task): find_learner(name, tasks[task]) for name in names for task in tasks}
    found: dict[tuple[str, str], Learner[Any]] = {}
    for name in LEARNERS:
        for task in tasks if name not in LEFT_OUT else ():
            try:
                learner = find_learner(name, tasks[task])
                learner.start(tasks[task].setting, 1, np.random.default_rng(0))
            except InputError:  # it needs what this task has not, or a library that is not there
                continue
            found[name, task] = learner
    return found


def split_names(given: Sequence[str]) -> list[str]:
    """Part names given with commas or several times; commas between the settings of one learner part nothing.

    >>> split_names(["ofs,random", "ofs:c=0.1,exploration=0"])
    ['ofs', 'random', 'ofs:c=0.1,exploration=0']
    """
    parts = [part.strip() for text in given for part in re.split(r",(?!\s*\w+=)", text)]
    return list(dict.fromkeys(filter(None, parts)))


def checked_own(name: str, learner: AnyLearner, task: Task) -> Learner[Any]:
    """Return a user's learner, or refuse one that breaks the contract: a short trial, and all checks of a `Learner`.

    A learner that raises something else is left to the benchmark, which says on which tasks it did.
    """
    made = learner
    try:
        made = as_learner(learner)
        if made is learner:
            check_learner(made)
        else:
            simulate(task, made, rounds=20, seeds=2)
    except (InputError, LearnerCheckError) as error:
        raise InputError(f"learner {name!r} breaks the contract: {error}") from None
    except Exception:  # said where it happens, beside all other results
        return as_learner(made)
    return as_learner(made)
