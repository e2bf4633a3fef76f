"""What every learner is: settings in the constructor, memory made by `start`, two short methods."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from fairgate.errors import InputError
from fairgate.learners.state import VERSION, State, decode, encode
from fairgate.policy import Lottery
from fairgate.problem import Feedback, Problem
from fairgate.settings import Array, Settings
from fairgate.tasks import Task

M = TypeVar("M", bound=State)


LEVELS = ("bandit", "scores", "selective-labels", "full-labels")
"""What a learner may see: see :class:`~fairgate.problem.Observation`."""


def check_labels(learner: object, task: Task) -> None:
    """Refuse a learner that may not see what the task's constraints ask for: labels of the rejected."""
    level = getattr(learner, "level", "bandit")
    needy = [repr(each) for each in task.problem.constraints if each.needs == "all-labels"]
    if needy and level in ("bandit", "scores") and not getattr(learner, "blind", False):
        raise InputError(
            f"{needy[0]} asks for labels of the rejected, which a learner of level {level} such as {learner!r} neither "
            "sees nor estimates: choose one of level `selective-labels` or D"
        )


class AnyLearner(Protocol):
    """What a simulation needs of a learner; a user's own need not inherit from anything."""

    def start(self, task: Task, replicates: int, rng: np.random.Generator) -> Any:
        """Return a fresh memory."""

    def propose(self, state: Any) -> Array | Lottery:
        """Return the thresholds to play, (replicates, groups), or a lottery of them."""

    def observe(self, state: Any, thresholds: Array, feedback: Feedback) -> None:
        """Take in what playing `thresholds` (of a lottery: its first ones) revealed."""


@dataclass(frozen=True)
class Learner(Settings, ABC, Generic[M]):
    """Base of the built-in learners: keeps the bookkeeping, so that a learner is its rule.

    A subclass makes its memory in :meth:`remember` (from the common fields), picks a threshold for
    each replicate in :meth:`choose`, and takes in the signals in :meth:`learn`. Memory is changed in place.

    Attributes
    ----------
    memory_type
        Class of its memory.
    level
        What it may see: "bandit" is reward and residuals of what was played.
    traces
        Fields of its memory, one number a replicate each, that a run records every round.
    blind
        Whether it looks at no residual, so that it may be judged by any constraint.
    """

    state_type: ClassVar[type[State]] = State
    level: ClassVar[str] = "bandit"
    traces: ClassVar[tuple[str, ...]] = ()
    blind: ClassVar[bool] = False

    def start(self, task: Task, replicates: int = 1, rng: np.random.Generator | None = None) -> M:
        """Return a fresh memory for `replicates` independent loops."""
        common: dict[str, Any] = {
            "rng": rng if rng is not None else np.random.default_rng(),
            "problem": task.problem,
            "grid": task.thresholds,
            "replicates": replicates,
            "groups": task.environment.group_count,
            "rounds": 0,
        }
        return self.remember(task, common)

    def propose(self, state: M) -> Array:
        """Return the thresholds to play now, (replicates, groups)."""
        return np.repeat(self.choose(state)[:, None], state.groups, axis=1)

    def observe(self, state: M, thresholds: Array, feedback: Feedback) -> None:
        """Take in the signals of a round in which `thresholds` were played."""
        self.learn(state, thresholds, feedback)
        state.rounds += 1

    @abstractmethod
    def remember(self, task: Task, common: Mapping[str, Any]) -> M:
        """Make the memory a run starts with; `common` holds the fields of :class:`State`."""

    @abstractmethod
    def choose(self, state: M) -> Array:
        """Pick one shared threshold a replicate, (replicates,)."""

    @abstractmethod
    def learn(self, state: M, thresholds: Array, feedback: Feedback) -> None:
        """Change the memory by what the round revealed."""

    def save(self, state: M) -> dict[str, Any]:
        """Return the memory as plain data for JSON, with a version number; see :meth:`load`."""
        fields = {name: value for name, value in vars(state).items() if name != "problem"}
        described = {"learner": self.describe(), "problem": _named(state.problem)}
        return {"version": VERSION, **described, "memory": encode(fields)}

    def load(self, saved: Mapping[str, Any], task: Task) -> M:
        """Return the memory that :meth:`save` gave; on the same task it goes on exactly as the saved one would have."""
        parts = ("version", "learner", "problem", "memory")
        if not saved.keys() >= set(parts):
            raise InputError(f"this is no saved learner state: it has {sorted(saved)}, not {', '.join(parts)}")
        if saved["version"] != VERSION:
            raise InputError(
                f"the saved learner state has version {saved['version']!r}, "
                f"but this fairgate reads version {VERSION}: save it again with this version"
            )
        if saved["learner"] != self.describe():
            raise InputError(
                f"the saved learner state belongs to {saved['learner']}, but is loaded into {self.describe()}"
            )
        fields = decode(saved["memory"])
        if not np.array_equal(fields["grid"], task.thresholds):
            raise InputError(f"the saved learner state belongs to a task with another grid than {task.name!r}")
        if saved["problem"] != _named(task.problem):
            raise InputError(
                f"the saved learner state belongs to the problem {saved['problem']}, but {task.name!r} sets "
                f"{_named(task.problem)}: with other limits or costs, begin anew"
            )
        return self.recall({**fields, "problem": task.problem})

    def recall(self, fields: dict[str, Any]) -> M:
        """Rebuild a memory from its fields."""
        state: Any = self.state_type(**fields)
        return state  # type: ignore[no-any-return]


def _named(problem: Problem) -> Any:
    """Describe a problem in a way that survives a file and another process, where objects have other addresses."""
    return json.loads(re.sub(r" at 0x[0-9a-fA-F]+", "", json.dumps(problem.describe())))
