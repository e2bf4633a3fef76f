"""Origin: what a run was made of, the objects or the recipe for them, and the versions of the code that ran."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from fairgate.errors import InputError
from fairgate.learners import Learner
from fairgate.reading import told
from fairgate.recipe import pack, unpack
from fairgate.settings import Index
from fairgate.store import code_digest
from fairgate.tasks import Task

LIBRARIES = ("fairgate", "numpy", "scipy", "scikit-learn")
"""Packages whose version a run's numbers depend on."""


def versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers depend on."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in libraries}}


@dataclass(frozen=True, repr=False)
class Origin:
    """Task and learner that a run was made of, and the function that made it."""

    task: Task
    learner: Learner[Any]
    maker: Callable[..., Any]

    def rows(self, index: Index) -> Origin:
        """Return the origin of these replicates only."""
        return Origin(self.task.rows(index), self.learner.rows(index), self.maker)

    def made(self, what: str, own: tuple[type, ...]) -> Any:
        """Return the task or the learner."""
        return getattr(self, what)

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which :class:`Kept` makes task and learner again."""
        return {"task": self.task.to_json(), "learner": pack(self.learner), "versions": self.versions}

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what runs now, and a digest of the code."""
        return {**versions(), "code": code_digest(self.maker, self.task, self.learner)}


@dataclass(frozen=True, repr=False)
class Kept:
    """What a file keeps of the origin of a run."""

    plain: Mapping[str, Any]

    def rows(self, index: Index) -> Kept:
        """Return the origin of these replicates only, which is that of all."""
        return self

    def made(self, what: str, own: tuple[type, ...]) -> Any:
        """Return the task or the learner, made again; `own` are classes in them that are none of fairgate's."""
        with told(f"the {what} that the run's file keeps is damaged"):
            if what == "task":
                return Task.from_json(self.plain["task"], *own)
            found = unpack(self.plain["learner"], own)
        if not isinstance(found, Learner):
            raise InputError(f"what is kept of the run's learner is a {type(found).__name__}, no learner")
        return found

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what ran, and a digest of the code."""
        with told("the versions that the run's file keeps are damaged"):
            return dict(self.plain["versions"])

    def to_json(self) -> dict[str, Any]:
        """Return the plain data."""
        return dict(self.plain)
