"""OneLoop: a learner whose rule is written for one loop, in the form that plays many replicates as arrays."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairgate.arrays import as_arrays
from fairgate.core.policy import Policy as Rule
from fairgate.core.setting import Setting as Core
from fairgate.errors import InputError
from fairgate.learners.base import Learner
from fairgate.learners.state import State
from fairgate.policy import Policy, as_policy
from fairgate.problem import Credit, Feedback, Observation
from fairgate.random import Draws
from fairgate.setting import Setting
from fairgate.settings import Array


@dataclass
class LoopsState(State):
    """The memory of each loop, and the key of their random numbers."""

    key: Array
    memories: list[Any]


@dataclass(frozen=True)
class OneLoop(Learner[LoopsState]):
    """Base of learners whose rule is a pure learner of :mod:`fairgate.core`.

    :func:`fairgate.simulate` plays the rule itself, compiled. This form is for callers that drive a learner round by
    round, such as a live gate; it plays the replicates one after another in NumPy.
    """

    @abstractmethod
    def rule(self, setting: Setting, replicate: int = 0) -> Any:
        """Return the pure learner that plays a replicate of a setting."""

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> LoopsState:
        """Make the memory of each loop."""
        loops = range(common["replicates"])
        memories = [self.rule(setting, loop).init(core_setting(setting, loop)) for loop in loops]
        key = common["rng"].integers(2**32, size=2, dtype=np.uint32)
        return LoopsState(**common, key=key, memories=memories)

    def propose(self, state: LoopsState) -> Policy:
        """Return the policy of each loop."""
        parts = self._each(state)
        return joined([rule.propose(own, memory, draws) for rule, own, draws, memory in parts], state.groups)

    def observe(self, state: LoopsState, played: Policy | Array, feedback: Feedback) -> None:
        """Take in a round; the rule itself knows what to do with an empty batch."""
        self.learn(state, as_policy(played), feedback)
        state.rounds += bool(feedback.observation.people.any())

    def learn(self, state: LoopsState, played: Policy, feedback: Feedback) -> None:
        """Let each loop observe its part of the round.

        Labels that arrive late are known by score bin; a learner of counts would need the policies that they belong to.
        """
        if self.level == "bandit" and feedback.credits is not None:
            raise InputError(
                f"{self!r} is in pure form and sees counts only: where labels are late, only simulate can play it"
            )
        state.memories = [
            rule.observe(own, memory, draws, one_policy(played, loop), one_feedback(feedback, loop))
            for loop, (rule, own, draws, memory) in enumerate(self._each(state))
        ]

    def credit(self, state: LoopsState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Nothing: :meth:`observe` takes in all rounds."""

    def save(self, state: LoopsState) -> dict[str, Any]:
        """Return the state as plain data; single numbers are saved as arrays, which they are after loading."""
        return super().save(replace(state, memories=[as_arrays(each) for each in state.memories]))

    def recommend(self, state: LoopsState) -> Policy | None:
        """Return the policy that each loop recommends."""
        return joined([rule.recommend(own, memory) for rule, own, _, memory in self._each(state)], state.groups)

    def trace(self, state: LoopsState, name: str) -> Array:
        """Return the values of a trace, (replicates,)."""
        return np.array([float(rule.traces(memory)[name]) for rule, _, _, memory in self._each(state)])

    def _each(self, state: LoopsState) -> list[tuple[Any, Core, Draws, Any]]:
        """Return rule, setting, random numbers of this round and memory of each loop."""
        now = np.array([state.rounds], dtype=np.uint32)
        return [
            (
                self.rule(state.setting, loop),
                core_setting(state.setting, loop),
                Draws(state.key, np.array([loop], dtype=np.uint32), now),
                memory,
            )
            for loop, memory in enumerate(state.memories)
        ]


def core_setting(setting: Setting, loop: int) -> Core:
    """Return the setting of one loop."""
    own = setting if setting.replicates is None else setting.rows(np.array([loop]))
    return Core(own.problem, setting.thresholds, setting.groups)


def one_policy(played: Policy, loop: int) -> Rule:
    """Return the policy of one loop."""
    return Rule(played.thresholds[:, loop], played.weights[:, loop])


def one_feedback(feedback: Feedback, loop: int) -> Feedback:
    """Return the feedback of one loop, without credits."""
    seen: list[Any] = [None if each is None else np.asarray(each[loop], dtype=float) for each in feedback.observation]
    return Feedback(feedback.reward[loop], feedback.residuals[:, loop], Observation(*seen))


def joined(policies: Sequence[Rule], groups: int) -> Policy:
    """Return the policies of all loops as one."""
    thresholds = np.stack([np.broadcast_to(each.thresholds, (len(each.weights), groups)) for each in policies], axis=1)
    return Policy(thresholds, np.stack([each.weights for each in policies], axis=1))
