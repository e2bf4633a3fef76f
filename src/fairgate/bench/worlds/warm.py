"""Warm: an old threshold is played before a learner starts, which gets to know what was decided under it.

The old policy of a world is a threshold that somebody may well have had who knew what is required, but not how people
respond: the threshold of the grid whose acceptance rate in the world's first state is nearest to the middle of those at
which a uniform lottery is feasible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.bench.worlds.blocks import WorldBlock
from fairgate.history import History
from fairgate.learners import Learner
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.state import State
from fairgate.learners.warm import takes_history, with_history
from fairgate.people.past import UNKNOWN, Past
from fairgate.policy import Policy
from fairgate.problem import Feedback, Observation
from fairgate.setting import Setting
from fairgate.settings import Array, Real
from fairgate.tasks import Task


def rounds_before(block: WorldBlock, people: int) -> int:
    """Return the rounds in which an old policy decides on so many people: none if there are none, else at least one.

    >>> rounds_before(WorldBlock((0,)), 0)
    0
    """
    return math.ceil(people / block.shape.batch)


def old_thresholds(task: Task, replicates: int) -> Array:
    """Return the threshold that was played before, (R,)."""
    environment, grid = task.environment, task.thresholds
    people = environment.histogram(environment.start(replicates), grid).sum(axis=(1, 3))  # by score bin
    rates = people[:, ::-1].cumsum(axis=1)[:, -2::-1]  # accepted by each threshold, (R, K)
    middle = np.broadcast_to(acceptance_window(task.problem, environment.group_count).mean(axis=0), replicates)
    return np.asarray(grid[np.abs(rates - middle[:, None]).argmin(axis=1)])


@dataclass
class FollowingState(State):
    """What was seen under the old threshold, and the state of the learner once it has started."""

    seen: list[Observation]
    learner: Learner[Any]
    own: Any = None


@dataclass(frozen=True)
class Following(Learner[FollowingState]):
    """A learner that starts after so many rounds of an old threshold; from their history, if it takes one.

    Parameters
    ----------
    learner
        Who starts then.
    threshold
        What is played before.
    before
        Rounds before.
    """

    learner: Learner[Any]
    threshold: Real
    before: int

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("level", "traces", "policies", "searched", "blind"):
            object.__setattr__(self, name, getattr(self.learner, name))

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> FollowingState:
        """Begin with the old threshold."""
        return FollowingState(**common, seen=[], learner=self.learner)

    def propose(self, state: FollowingState) -> Policy:
        """Return the old threshold, or what the learner proposes."""
        if state.own is not None:
            return state.learner.propose(state.own)
        return Policy.shared(np.broadcast_to(np.asarray(self.threshold), state.replicates), state.groups)

    def observe(self, state: FollowingState, played: Policy | Array, feedback: Feedback) -> None:
        """Keep what is seen under the old threshold, start the learner after it, and tell it all that follows."""
        if state.own is not None:
            state.learner.observe(state.own, played, feedback)
            return
        state.seen.append(feedback.observation)
        if len(state.seen) == self.before:
            if takes_history(state.learner):
                cuts = np.broadcast_to(np.asarray(self.threshold), state.replicates)
                state.learner = with_history(state.learner, history_of(state.setting, state.seen, cuts))
            state.own, state.seen = state.learner.start(state.setting, state.replicates, state.rng), []

    def learn(self, state: FollowingState, played: Policy, feedback: Feedback) -> None:
        """Do as :meth:`observe` says."""
        self.observe(state, played, feedback)

    def trace(self, state: FollowingState, name: str) -> Array:
        """Return what the learner tells; nothing before it has started."""
        return np.full(state.replicates, np.nan) if state.own is None else state.learner.trace(state.own, name)

    def recommend(self, state: FollowingState) -> Policy | None:
        """Ask the learner."""
        return None if state.own is None else state.learner.recommend(state.own)


def history_of(setting: Setting, seen: Sequence[Observation], thresholds: Array) -> History:
    """Return the decisions of rounds in which one threshold per replicate (R,) was played, as a table for each.

    People are as exact as their score bin. Labels that arrived are those of the people of their bin who were accepted
    first, so that those of the last rounds lack theirs where labels are late.
    """
    grid = setting.thresholds
    people, labels = (np.stack(each).astype(np.int64) for each in zip(*(one.binned for one in seen), strict=True))
    arms = np.searchsorted(grid, thresholds)
    lowest = np.concatenate(([grid[0] - 1.0], grid))
    names = tuple(map(str, range(setting.groups)))
    tables = []
    for replicate, arm in enumerate(arms):
        cells = people[:, replicate].reshape(len(seen), -1)  # rounds, group and bin
        who = np.repeat(np.tile(np.arange(cells.shape[1]), len(seen)), cells.ravel())
        group, place = np.divmod(who, len(lowest))
        accepted = place > arm
        outcomes = np.full(len(who), UNKNOWN, dtype=np.int8)
        outcomes[accepted] = _matched(who[accepted], labels[:, replicate].reshape(len(seen), -1, 2))
        tables.append(Past(names, lowest[place], group.astype(np.int16), accepted, outcomes))
    return History(tuple(tables))


def _matched(who: Any, labels: Any) -> Any:
    """Return the label of each person, known by a cell; labels (rounds, cells, 2) go to a cell's first people."""
    rounds, cells, _ = labels.shape
    kind = np.repeat(np.tile(np.arange(cells * 2), rounds), labels.ravel())
    kind = kind[np.argsort(kind // 2, kind="stable")]  # by cell, in the order they arrived
    come = labels.sum(axis=(0, 2))
    order = np.argsort(who, kind="stable")
    count = np.bincount(who, minlength=cells)
    rank = np.arange(len(who)) - np.repeat(count.cumsum() - count, count)
    known = rank < come[who[order]]
    found = np.full(len(who), UNKNOWN, dtype=np.int8)
    found[order[known]] = (kind % 2)[((come.cumsum() - come)[who[order]] + rank)[known]]
    return found
