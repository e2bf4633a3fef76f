"""What every learner is: settings in the constructor, state made by `start`, two short methods."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as brief
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import across_groups
from fairgate.errors import InputError
from fairgate.learners.state import State, decode, encode, keep_rows
from fairgate.policy import Policy, as_policy
from fairgate.problem import Credit, Feedback, Problem
from fairgate.reading import check_depth, told
from fairgate.setting import Setting
from fairgate.settings import Array, Settings

S = TypeVar("S", bound=State)

FEW = 10_000
"""Replicates that any saved state may say it has; more need at least a character each."""


class AnyLearner(Protocol):
    """The least a learner must have; a user's own need not inherit from anything. See :mod:`fairgate.learners.own`."""

    def start(self, setting: Setting, replicates: int, rng: np.random.Generator) -> Any:
        """Return a fresh state."""

    def propose(self, state: Any) -> Any:
        """Return a :class:`~fairgate.Policy`, or plain thresholds (replicates, groups)."""

    def observe(self, state: Any, played: Policy, feedback: Feedback) -> None:
        """Take in what playing a policy revealed; `played` may differ from what was proposed."""


class AnyPure(Protocol):
    """The least that a learner in pure form must have; :mod:`fairgate.core` describes the methods."""

    def init(self, setting: Any) -> Any:
        """Return the memory before the first round."""

    def propose(self, setting: Any, memory: Any, draws: Any) -> Any:
        """Return the policy to play now."""

    def observe(self, setting: Any, memory: Any, draws: Any, played: Any, feedback: Any) -> Any:
        """Return the memory after a round."""


@dataclass(frozen=True)
class Learner(Settings, ABC, Generic[S]):
    """Base of the built-in learners: keeps the bookkeeping, so that a learner is its rule.

    A subclass makes its state in :meth:`remember` (from the common fields), picks a threshold for each replicate in
    :meth:`choose` (or proposes any policy), and takes in the feedback in :meth:`learn`. State is changed in place.

    Attributes
    ----------
    level
        What it may see: see :class:`~fairgate.Observation`.
    traces
        Fields of its state, one number per replicate each, that a run records every round.
    policies
        The policies it plays: "threshold" (one for everybody), "lottery" (of shared thresholds, accepting all and
        nobody among them) or "per-group" (a threshold per group).
    searched
        The policies that its trace ``infeasible`` speaks of, if it has one; by default a threshold for everybody.
    blind
        Whether it looks at no residual, so that it may be judged by any constraint.
    version
        Version of its saved state; a reader refuses any other.
    """

    level: ClassVar[str] = "bandit"
    traces: ClassVar[tuple[str, ...]] = ()
    policies: ClassVar[str] = "threshold"
    searched: ClassVar[str] = "threshold"
    blind: ClassVar[bool] = False
    version: ClassVar[int] = 2

    def start(self, setting: Setting, replicates: int = 1, rng: np.random.Generator | None = None) -> S:
        """Return a fresh state for `replicates` independent loops."""
        common: dict[str, Any] = {
            "rng": rng if rng is not None else np.random.default_rng(),
            "setting": setting,
            "replicates": replicates,
            "rounds": 0,
            "pending": {},
        }
        return self.remember(setting, common)

    def propose(self, state: S) -> Policy:
        """Return the policy to play now."""
        return Policy.shared(self.choose(state), state.groups)

    def observe(self, state: S, played: Policy | Array, feedback: Feedback) -> None:
        """Take in the feedback of a round in which `played` was played. A batch of nobody teaches nothing."""
        if not isinstance(feedback, Feedback):
            got = type(feedback).__name__
            raise InputError(f"{type(self).__name__} needs the feedback of Problem.reveal, got {got}")
        policy, people = as_policy(played), feedback.observation.people
        if np.count_nonzero(people) == people.size or (came := np.asarray(people.any(axis=1))).all():
            self.learn(state, policy, feedback)
            state.rounds += 1
        elif not came.any():
            self.credit(state, feedback, feedback.credits or ())
        else:
            self._observe_some(state, policy, feedback, came)

    def _observe_some(self, state: S, played: Policy, feedback: Feedback, came: NDArray[np.bool_]) -> None:
        """Take in a round in which nobody came in some replicates, which stay as they were."""
        before = copy.deepcopy(state)
        self.credit(before, feedback, [each.only(~came) for each in feedback.credits or ()])
        known = [np.where(came, values, 0.0) for values in (feedback.reward, feedback.residuals)]
        self.learn(state, played, feedback._replace(reward=known[0], residuals=known[1]))
        state.rounds += 1
        empty = np.flatnonzero(~came)
        small, large = (
            self.rows(np.zeros(count, dtype=np.int64)).start(
                state.setting.rows(np.zeros(count, dtype=np.int64)), count, np.random.default_rng(0)
            )
            for count in (2, 3)
        )
        keep_rows(state, before, empty, small, large)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> S:
        """Make the state a run starts with; `common` holds the fields of :class:`State`, by default all there are."""
        plain: Any = State(**common)
        made: S = plain
        return made

    def choose(self, state: S) -> Array:
        """Pick one shared threshold per replicate, (replicates,)."""
        raise InputError(f"{type(self).__name__} must have a method choose or propose")

    @abstractmethod
    def learn(self, state: S, played: Policy, feedback: Feedback) -> None:
        """Change the state by what the round revealed."""

    def credit(self, state: S, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Take in labels that arrived in a round in which nobody came."""

    def recommend(self, state: S) -> Policy | None:
        """Return the policy it would keep for good, or None if it has none to recommend."""
        return None

    def trace(self, state: S, name: str) -> Array:
        """Return the values of a trace, (replicates,)."""
        return np.asarray(getattr(state, name))

    def save(self, state: S) -> dict[str, Any]:
        """Return the state as plain data for JSON, with a version number; see :meth:`load`."""
        described = {"learner": self.describe(), "problem": _named(state.problem), "grid": state.grid.tolist()}
        return {"version": self.version, **described, "replicates": state.replicates, "state": encode(state)}

    def load(self, saved: Mapping[str, Any], setting: Setting) -> S:
        """Return the state that :meth:`save` gave; in the same setting it goes on exactly as the saved one would."""
        parts = ("version", "learner", "problem", "grid", "replicates", "state")
        if not isinstance(saved, Mapping):
            raise InputError(f"a saved learner state must be a table of names and values, got {brief(saved)}")
        if not saved.keys() >= set(parts):
            raise InputError(f"this is no saved learner state: it has {sorted(saved)}, not {', '.join(parts)}")
        if saved["version"] != self.version:
            raise InputError(
                f"the saved learner state has version {brief(saved['version'])}, "
                f"but this {type(self).__name__} reads version {self.version}: save it again with this version"
            )
        if saved["learner"] != json.loads(json.dumps(self.describe())):
            raise InputError(
                f"the saved learner state belongs to {brief(saved['learner'])}, but is loaded into {self.describe()}"
            )
        if saved["grid"] != setting.thresholds.tolist():
            raise InputError("the saved learner state belongs to another grid than that of the setting")
        if saved["problem"] != _named(setting.problem):
            raise InputError(
                f"the saved learner state belongs to the problem {brief(saved['problem'])}, but the setting has "
                f"{_named(setting.problem)}: with other limits or costs, start with a fresh state"
            )
        with told("the saved learner state is damaged"):
            check_depth(saved)
            replicates, most = saved["replicates"], max(FEW, len(json.dumps(saved["state"])))
            if type(replicates) is not int or not 1 <= replicates <= most:
                raise ValueError(f"replicates must be 1 to {most} in a state of this size, got {brief(replicates)}")
            fresh = self.start(setting, replicates, np.random.default_rng(0))
            loaded: S = decode(saved["state"], fresh)
            loaded.pending = {int(key): value for key, value in loaded.pending.items()}
            return loaded


def check_level(learner: Learner[Any], problem: Problem) -> None:
    """Refuse a learner that may not see what the constraints ask for: labels of rejected people."""
    needy = [repr(each) for each in problem.constraints if each.needs == "all-labels"]
    if needy and learner.level in ("bandit", "scores") and not learner.blind:
        raise InputError(
            f"{needy[0]} asks for labels of the rejected, which a learner of level {learner.level!r} such as "
            f"{learner!r} neither sees nor estimates: choose one of level 'selective-labels' or 'full-labels'"
        )


def arm_of(grid: Array, played: Policy) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the place in the grid of the one threshold that all groups were held to, (R,), and whether there is one.

    >>> arm_of(np.array([0.0, 0.5]), Policy.of([[0.5, 0.5], [0.5, 0.0], [0.2, 0.2]]))
    (array([1, 1, 1]), array([ True, False, False]))
    """
    groups = played.single.T
    arm = grid[:-1].searchsorted(groups[0])
    found = grid[arm]
    known = found == groups[0]
    for each in groups[1:]:
        known &= found == each
    return arm, known


def arms_of(grid: Array, credited: Sequence[Credit]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return :func:`arm_of` of the policies that N labels are credited to, (N, R) each: faster than one by one."""
    if not credited:
        return np.zeros((0, 0), dtype=np.intp), np.zeros((0, 0), dtype=bool)
    single = np.concatenate([each.played.single for each in credited])
    arm = grid[:-1].searchsorted(single[:, 0])
    known = across_groups(np.logical_and, grid[arm][:, None] == single)
    return arm.reshape(len(credited), -1), known.reshape(len(credited), -1)


def _named(problem: Problem) -> Any:
    """Describe a problem as a file has it."""
    return json.loads(json.dumps(problem.describe()))
