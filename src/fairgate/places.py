"""Places: tasks and learners by name, or one's own by where they are: ``package.module:Name:key=value``.

A text that comes here was typed by a person, as an option or in a call, who thereby allows the code that it names. No
text of a file comes here.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from fairgate.errors import InputError
from fairgate.importing import import_place
from fairgate.learners import LEARNERS, Learner, as_learner, load_learner
from fairgate.tasks import Task, load_task, presets


def find_task(text: str) -> Task:
    """Return a task by its name, or one's own from the place of a `Task` or of a function that returns one.

    >>> find_task("german").name
    'german'
    >>> find_task("fairgate:load_task:name=german").name
    'german'
    """
    if ":" not in text:
        return load_task(text)
    found = _made("task", text)
    if not isinstance(found, Task):
        raise InputError(f"task {text!r} must be a Task or a function that returns one, got {type(found).__name__}")
    return found


def find_learner(text: str, task: Task) -> Learner[Any]:
    """Make a learner by its name, with the settings that the task's preset has for it, or one's own from its place.

    >>> find_learner("primal-dual", find_task("german")).dual_step
    0.1
    >>> find_learner("fairgate.learners:OFS:c=0.1", find_task("german"))
    OFS(c=0.1, delta=0.05, exploration=0.03)
    """
    name, _, rest = text.partition(":")
    if name in LEARNERS or not rest or "=" in rest.partition(":")[0]:
        return load_learner(text, task.name if task.name in presets() and load_task(task.name) is task else None)
    return own_learner(text)


def own_learner(place: str) -> Learner[Any]:
    """Make a user's own learner from ``package.module:Class`` or ``package.module:Class:key=value,key=value``."""
    made = _made("learner", place)
    try:
        return as_learner(made)
    except InputError as error:
        raise InputError(f"learner {place!r}: {error}") from None


def _made(kind: str, place: str) -> Any:
    """Return what is at a place, called with the settings given there if it can be called; say what cannot be used."""
    module_name, _, rest = place.partition(":")
    name, colon, given = rest.partition(":")
    if colon and not given:
        raise InputError(f"{kind} {place!r} must have settings such as step=0.1 after its last colon, or no such colon")
    typed = f"{module_name}:{name}" if name else place
    found = import_place(typed, kind, allow=[typed])
    settings = _settings(kind, place, given)
    if not callable(found) and not settings:
        return found
    try:
        return found(**settings)
    except InputError as error:
        raise InputError(f"{kind} {place!r}: {error}") from None
    except Exception as error:
        raise InputError(f"{kind} {place!r} cannot be made with {settings or 'no settings'}: {error}") from None


def _settings(kind: str, place: str, given: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in filter(None, re.split(r",(?=\s*\w+=)", given)):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip().isidentifier():
            raise InputError(f"{kind} {place!r}: {pair!r} must be a setting such as step=0.1")
        try:
            found[key.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            found[key.strip()] = value.strip()
    return found
