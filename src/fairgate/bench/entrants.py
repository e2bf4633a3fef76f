"""Entrants: the learners that take part, built-in ones by name and a user's own by their place in a module."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fairgate.errors import InputError, unknown_name
from fairgate.learners import LEARNERS, AnyLearner, Learner, check_learner, load_learner
from fairgate.learners.checks import LearnerCheckError
from fairgate.settings import Settings
from fairgate.simulation import simulate
from fairgate.tasks import Task, load_task

LEFT_OUT = ("fixed",)
"""Built-in learners that need a setting nobody can choose for all tasks."""

LEVELS = ("bandit", "scores", "selective-labels", "full-labels")

PARTS = ("start", "propose", "observe")
"""Methods that every learner has."""


def built_in(names: Sequence[str] | None, tasks: Sequence[str]) -> dict[tuple[str, str], AnyLearner]:
    """Make built-in learners for tasks, by learner and task; without names, all that can be made for a task.

    >>> sorted(built_in(["ofs"], ["german"]))
    [('ofs', 'german')]
    """
    if names is not None:
        return {(name, task): load_learner(name, task) for name in names for task in tasks}
    found: dict[tuple[str, str], AnyLearner] = {}
    for name in LEARNERS:
        for task in tasks if name not in LEFT_OUT else ():
            try:
                learner = load_learner(name, task)
                learner.start(load_task(task).setting, 1, np.random.default_rng(0))
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


def load_own(place: str) -> AnyLearner:
    """Make a user's own learner from ``package.module:Class`` or ``package.module:Class:key=value,key=value``.

    Modules of the current folder can be imported. What cannot be used is said in one sentence.
    """
    module_name, _, rest = place.partition(":")
    name, _, given = rest.partition(":")
    if not module_name or not name:
        raise InputError(f"--learner {place!r} must be a place such as package.module:Class")
    kind = _find(place, _import(place, module_name), name)
    settings = _settings(place, given)
    try:
        learner: Any = kind(**settings)
    except InputError as error:
        raise InputError(f"--learner {place!r}: {error}") from None
    except Exception as error:
        raise InputError(f"--learner {place!r} cannot be made with {settings or 'no settings'}: {error}") from None
    lacking = [part for part in PARTS if not callable(getattr(learner, part, None))]
    if lacking:
        raise InputError(f"--learner {place!r} must have the methods {', '.join(PARTS)}, it has no {lacking[0]}")
    return learner  # type: ignore[no-any-return]


def _import(place: str, name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise InputError(f"--learner {place!r}: there is no module {missing!r} here or installed") from None
        raise InputError(f"--learner {place!r}: module {name!r} needs {missing!r}, which is not installed") from None
    except Exception as error:
        raise InputError(
            f"--learner {place!r}: module {name!r} cannot be imported, {type(error).__name__}: {error}"
        ) from None


def _find(place: str, module: ModuleType, name: str) -> Callable[..., Any]:
    found: Any = getattr(module, name, None)
    if not callable(found):
        known = [key for key, value in vars(module).items() if inspect.isclass(value) and not key.startswith("_")]
        raise unknown_name(f"class in --learner {place}", name, known)
    return found  # type: ignore[no-any-return]


def _settings(place: str, given: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in filter(None, re.split(r",(?=\s*\w+=)", given)):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip().isidentifier():
            raise InputError(f"--learner {place!r}: {pair!r} must be a setting such as step=0.1")
        try:
            found[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            found[key.strip()] = value.strip()
    return found


def check_own(name: str, learner: AnyLearner, task: Task) -> None:
    """Refuse a learner that breaks the contract: a short trial, and every check there is if it is a `Learner`.

    A learner that raises something else is left to the benchmark, which says on which tasks it did.
    """
    level = level_of(learner)
    if level not in LEVELS:
        raise InputError(f"learner {name!r} must have a level among {', '.join(LEVELS)}, got {level!r}")
    try:
        policy = learner.propose(learner.start(task.setting, 2, np.random.default_rng(0)))
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


def level_of(learner: object) -> str:
    """Return what a learner may see, "bandit" to "full-labels"; one that does not say sees what all see."""
    return str(getattr(learner, "level", "bandit"))


def described(learner: AnyLearner) -> Any:
    """Return a learner's settings as plain data; of one that is no `Settings`, its class and attributes."""
    if isinstance(learner, Settings):
        return learner.describe()
    kept = {
        key: re.sub(r" at 0x[0-9a-f]+", "", repr(value))
        for key, value in sorted(getattr(learner, "__dict__", {}).items())
    }
    return {"kind": type(learner).__name__, **kept}


def code_of(learner: AnyLearner) -> str:
    """Fingerprint of a user's own code: the file of the learner's class, or its whole package; "" for built-in ones."""
    kind = type(learner)
    top = kind.__module__.partition(".")[0]
    if top == "fairgate":
        return ""
    package = getattr(sys.modules.get(top), "__path__", None)
    files = sorted(path for folder in package or () for path in Path(folder).rglob("*.py"))
    own = getattr(sys.modules.get(kind.__module__), "__file__", None)
    seen = hashlib.sha256(kind.__qualname__.encode())
    for path in files or [Path(own)] if own else ():
        seen.update(path.read_bytes())
    return seen.hexdigest()
