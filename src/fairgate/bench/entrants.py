"""Entrants: the learners and tasks that take part, built-in ones by name and a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairgate.errors import InputError
from fairgate.learners import LEARNERS, AnyLearner, Learner, check_learner
from fairgate.learners.base import LEVELS, level_of
from fairgate.learners.checks import LearnerCheckError
from fairgate.places import find_learner, find_task
from fairgate.policy import Lottery
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


def built_in(names: Sequence[str] | None, tasks: Mapping[str, Task]) -> dict[tuple[str, str], AnyLearner]:
    """Make learners for tasks, by learner and task; without names, all built-in ones that can be made for a task.

    >>> sorted(built_in(["ofs"], gather_tasks(["german"])))
    [('ofs', 'german')]
    """
    if names is not None:
        return {(name, task): find_learner(name, tasks[task]) for name in names for task in tasks}
    found: dict[tuple[str, str], AnyLearner] = {}
    for name in LEARNERS:
        for task in tasks if name not in LEFT_OUT else ():
            try:
                learner = find_learner(name, tasks[task])
                learner.start(tasks[task], 1, np.random.default_rng(0))
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


def check_own(name: str, learner: AnyLearner, task: Task) -> None:
    """Refuse a learner that breaks the contract: a short trial, and every check there is if it is a `Learner`.

    A learner that raises something else is left to the benchmark, which says on which tasks it did.
    """
    level = level_of(learner)
    if level not in LEVELS:
        raise InputError(f"learner {name!r} must have a level among {', '.join(LEVELS)}, got {level!r}")
    try:
        policy = learner.propose(learner.start(task, 2, np.random.default_rng(0)))
        if isinstance(policy, Lottery) and not getattr(learner, "lottery", False):
            raise InputError("it proposes a lottery and must say so with a class attribute lottery = True")
        if isinstance(learner, Learner):
            check_learner(learner)
        else:
            simulate(task, learner, rounds=20, seeds=2)
    except (InputError, LearnerCheckError) as error:
        raise InputError(f"learner {name!r} breaks the contract: {error}") from None
    except Exception:  # said where it happens, beside all other results
        return
