"""Entrants: the learners and tasks that take part, built-in ones by name and a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fairgate.bench.matrix import Pair
from fairgate.bench.measures import TARGET
from fairgate.errors import InputError, unknown_name
from fairgate.learners import LEARNERS, AnyLearner, Learner, as_learner, check_learner
from fairgate.learners.checks import LearnerCheckError
from fairgate.learners.registry import is_baseline
from fairgate.places import find_learner, find_task, own_learner
from fairgate.simulation import Size, simulate
from fairgate.tasks import Task, presets

LEFT_OUT = ("fixed",)
"""Built-in learners that need a setting nobody can choose for all tasks."""


def pair_up(
    learners: Sequence[str] | None,
    tasks: Sequence[str | Task] | None,
    size: Size,
    own: Mapping[str, AnyLearner] | Sequence[str] = (),
    levels: Sequence[str] = (),
) -> list[Pair]:
    """Return every learner with every task, or say which name is none."""
    for level in levels:
        if level not in TARGET:
            raise unknown_name("level", level, TARGET)
    loaded = gather_tasks(tasks)
    made = built_in(learners, loaded)
    mine = own if isinstance(own, Mapping) else {place: own_learner(place) for place in own}
    for name, learner in mine.items():
        checked = checked_own(name, learner, next(iter(loaded.values())))
        made |= {(name, task): checked for task in loaded}
    wanted = {key: learner for key, learner in made.items() if not levels or learner.level in levels}
    if not wanted:
        raise InputError(f"no learner is left of {', '.join(sorted({name for name, _ in made})) or 'none'}: name some")
    return [Pair(name, learner, loaded[task], size) for (name, task), learner in wanted.items()]


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
    if name.partition(":")[0] in LEARNERS and (name in LEARNERS or is_baseline(name)):
        raise InputError(f"learner {name!r} must have a name that no built-in learner has")
    try:
        made = as_learner(learner)
        if made is learner:
            check_learner(made)
        else:
            simulate(task, made, rounds=20, seeds=2)
    except (InputError, LearnerCheckError) as error:
        raise InputError(f"learner {name!r} breaks the contract: {error}") from None
    except Exception:  # said where it happens, beside all other results
        pass
    return as_learner(learner)
