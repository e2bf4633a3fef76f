"""Own: a user's learner, written for arrays or for one loop, with everything that a built-in learner has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from fairgate.arrays import is_record
from fairgate.core.setting import Setting as Core
from fairgate.errors import InputError, unknown_name
from fairgate.learners.base import AnyLearner, AnyPure, Learner
from fairgate.learners.one_loop import LoopsState, OneLoop
from fairgate.learners.state import State
from fairgate.policy import CLASSES, Policy, as_policy
from fairgate.problem import LEVELS, Feedback, Problem, Utility
from fairgate.setting import Setting
from fairgate.settings import Array, described

S = TypeVar("S", bound=State)

SMALL = Core(Problem(Utility(1.0)), np.array([0.0, 1.0]), 2)
"""A setting in which a learner in pure form is asked for the names of its traces."""


@dataclass(frozen=True, repr=False)
class Own(Learner[S]):
    """Base of both: a stable name, checks, save and load.

    The user's class may declare ``level``, ``policies``, ``searched`` and ``blind``; those that it does not are as in
    :class:`Learner`.
    """

    own: Any

    methods: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        for part in self.methods:
            if not callable(getattr(self.own, part, None)):
                *others, last = self.methods
                needed = f"{', '.join(others)} and {last}"
                raise InputError(f"{self.name} must have the methods {needed}, it has no {part}")
        for name in ("level", "policies", "searched", "blind"):
            object.__setattr__(self, name, getattr(self.own, name, getattr(Learner, name)))
        if self.level not in LEVELS:
            raise unknown_name(f"level of {self.name}", self.level, LEVELS)
        for name in ("policies", "searched"):
            if getattr(self, name) not in CLASSES:
                raise unknown_name(f"{name} of {self.name}", getattr(self, name), CLASSES)

    @property
    def name(self) -> str:
        """Name of its class."""
        return type(self.own).__name__

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.describe().items() if name != "kind")
        return f"{self.name}({settings})"

    def describe(self) -> dict[str, Any]:
        """Return its class and attributes, without addresses of memory."""
        return described(self.own)


@dataclass
class PlainState(State):
    """The state of a learner that keeps its own."""

    own: Any


@dataclass(frozen=True, repr=False)
class Plain(Own[PlainState]):
    """A learner that has only ``start``, ``propose`` and ``observe``; ``traces`` and ``recommend`` are optional."""

    methods: ClassVar[tuple[str, ...]] = ("start", "propose", "observe")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "traces", getattr(self.own, "traces", Learner.traces))

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> PlainState:
        """Ask the learner for its own state."""
        return PlainState(**common, own=self.own.start(setting, common["replicates"], common["rng"]))

    def propose(self, state: PlainState) -> Policy:
        """Ask the learner."""
        return as_policy(self.own.propose(state.own))

    def learn(self, state: PlainState, played: Policy, feedback: Feedback) -> None:
        """Tell the learner."""
        self.own.observe(state.own, played, feedback)

    def trace(self, state: PlainState, name: str) -> Array:
        """Return a field of the learner's own state."""
        return np.asarray(getattr(state.own, name))

    def recommend(self, state: PlainState) -> Policy | None:
        """Ask the learner, if it recommends anything."""
        return as_policy(self.own.recommend(state.own)) if callable(getattr(self.own, "recommend", None)) else None


@dataclass(frozen=True, repr=False)
class OwnRule(Own[LoopsState], OneLoop):
    """A learner in pure form, as :mod:`fairgate.core` describes; its class must declare ``level``."""

    methods: ClassVar[tuple[str, ...]] = ("init", "propose", "observe")

    def __post_init__(self) -> None:
        if callable(getattr(self.own, "propose", None)) and not hasattr(self.own, "level"):
            raise InputError(f"{self.name} must have a level, such as 'bandit'; it has none")
        super().__post_init__()
        if hasattr(self.own, "traces"):
            object.__setattr__(self, "traces", tuple(self.own.traces(self.own.init(SMALL))))

    @property
    def compiles(self) -> bool:
        """Whether JAX can compile it, for which its class must be a record."""
        return is_record(self.own)

    def rule(self, setting: Setting, replicate: int = 0) -> Any:
        """Return the learner itself."""
        return self.own

    def recommend(self, state: LoopsState) -> Policy | None:
        """Return the policy that each loop recommends, if the learner recommends any."""
        return super().recommend(state) if hasattr(self.own, "recommend") else None


def as_learner(learner: AnyLearner | AnyPure) -> Learner[Any]:
    """Return a learner with everything a :class:`Learner` has: itself, or a user's own in one that adds the rest."""
    if isinstance(learner, type):
        raise InputError(f"learner must be an object such as {learner.__name__}(), got the class {learner.__name__}")
    if isinstance(learner, Learner):
        return learner
    pure = hasattr(learner, "init") and not hasattr(learner, "start")
    return OwnRule(learner) if pure else Plain(learner)
