"""Epochs: base of learners that keep a threshold for several rounds and learn from them as a whole."""

from __future__ import annotations

import dataclasses
import operator
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.memory import came, either
from fairgate.core.learners.components.played import as_proposed
from fairgate.core.learners.components.schedule import when
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.counts import Counts
from fairgate.problem import Feedback, Problem
from fairgate.random import Draws


@record
class Epoch:
    """Data of an epoch so far.

    Attributes
    ----------
    threshold
        Threshold of the epoch, ().
    age
        Rounds since the start of the epoch, ().
    rounds
        Number of those rounds that count, ().
    sums
        Sums of reward and residuals over the rounds that count, (1 + J,).
    people, accepted, positives
        People, accepted people and accepted people of label 1 in these rounds, (groups,).
    binned
        People (groups, K + 1) and labels (groups, K + 1, 2) in these rounds by score bin; () at level ``"bandit"``.
    """

    threshold: Array
    age: Array
    rounds: Array
    sums: Array
    people: Array
    accepted: Array
    positives: Array
    binned: tuple[Array, ...] = ()

    @classmethod
    def begun(cls, setting: Setting, threshold: Array, level: str) -> Epoch:
        """Return an epoch without data."""
        xp = namespace(setting.grid)
        none, sums = xp.zeros(setting.groups), xp.zeros(1 + len(setting.problem.names))
        shape = setting.groups, len(setting.grid) + 1
        binned = () if level == "bandit" else (xp.zeros(shape), xp.zeros((*shape, 2)))
        return cls(threshold, xp.zeros(()), xp.zeros(()), sums, none, none, none, binned)

    def with_round(self, feedback: Feedback) -> Epoch:
        """Return the epoch after another round that counts."""
        seen = feedback.observation
        shown = namespace(self.sums).concatenate((feedback.reward[None], feedback.residuals))
        return dataclasses.replace(
            self, rounds=self.rounds + 1.0, sums=self.sums + shown, people=self.people + seen.people,
            accepted=self.accepted + seen.accepted, positives=self.positives + seen.positives,
            binned=tuple(map(operator.add, self.binned, (seen.scores, seen.labels))),
        )  # fmt: skip

    def shown(self, problem: Problem) -> Array:
        """Return the mean reward and residuals, (1 + J,); see :func:`pooled`."""
        means = self.sums / namespace(self.sums).maximum(self.rounds, 1.0)
        return pooled(problem, means, self.people, self.accepted)


@record
class Memory:
    """The current epoch, and the estimates from earlier epochs, `knows`."""

    epoch: Epoch
    knows: Any


class Epochs(ABC):
    r"""Keep a threshold for `epoch_length` rounds, so that the state can settle, and learn from the last of them.

    All loops end an epoch in the same round, so the cost of :meth:`digest` and :meth:`pick` arises once per epoch. The
    first `burn_in` rounds do not count, nor do rounds without applicants, or with another policy than the proposed one.
    An epoch without any round that counts is discarded.
    """

    level: ClassVar[str] = "bandit"
    epoch_length: Array
    burn_in: Array

    @abstractmethod
    def begin(self, setting: Setting) -> Any:
        """Return the estimates before the first epoch."""

    @abstractmethod
    def pick(self, setting: Setting, knows: Any, draws: Draws) -> Array:
        """Return the threshold of the next epoch, ()."""

    @abstractmethod
    def digest(self, setting: Setting, knows: Any, epoch: Epoch) -> Any:
        """Return the estimates after an epoch."""

    def clock(self, memory: Memory, draws: Draws) -> tuple[Array, Array]:
        """Return whether this round counts, and whether it is the last of its epoch."""
        place = draws.round[0] % self.epoch_length
        return place >= self.burn_in, place == self.epoch_length - 1

    def init(self, setting: Setting) -> Memory:
        """Begin the first epoch; its threshold is picked in round 0, once random numbers are available."""
        return Memory(Epoch.begun(setting, setting.grid[0], self.level), self.begin(setting))

    def threshold(self, setting: Setting, memory: Memory, draws: Draws) -> Array:
        """Return the threshold of the epoch."""
        begins = draws.round[0] == 0
        return when(begins, lambda: self.pick(setting, memory.knows, draws), lambda: memory.epoch.threshold)

    def propose(self, setting: Setting, memory: Memory, draws: Draws) -> Policy:
        """Play the threshold of the epoch."""
        return Policy.at(self.threshold(setting, memory, draws))

    def observe(self, setting: Setting, memory: Memory, draws: Draws, played: Policy, feedback: Feedback) -> Memory:
        """Add the round to its epoch; after the last round, digest the epoch and pick the next threshold."""
        counts, last = self.clock(memory, draws)
        threshold = self.threshold(setting, memory, draws)
        epoch = dataclasses.replace(memory.epoch, threshold=threshold, age=memory.epoch.age + 1.0)
        ours = as_proposed(setting.grid, played, threshold)
        epoch = either(counts & ours & came(feedback), epoch.with_round(feedback), epoch)

        def digested() -> Memory:
            knows = either(epoch.rounds > 0, self.digest(setting, memory.knows, epoch), memory.knows)
            return Memory(Epoch.begun(setting, self.pick(setting, knows, draws.next()), self.level), knows)

        found: Memory = when(last, digested, lambda: Memory(epoch, memory.knows))
        return found


def pooled(problem: Problem, means: Array, people: Array, accepted: Array) -> Array:
    r"""Return reward and residuals (1 + J, …) of several batches, given their `means`.

    Residuals on decisions alone are computed from the summed counts (…, groups) instead. A mean of batch gaps is about
    :math:`\sqrt{2 p (1 - p) (1/n_0 + 1/n_1) / \pi}` even where the true gap is 0. This is 0.05 for 256 people, so that
    almost no threshold would seem fair.
    """
    xp = namespace(means)
    somebody = xp.where(people.sum(axis=-1, keepdims=True) > 0, people, 1.0)
    counts = Counts.of_decisions(somebody, accepted)
    rows = [means[0]]
    for constraint in problem.constraints:
        own = means[len(rows) : len(rows) + len(constraint.names)]
        rows.extend(constraint.residuals(counts) if constraint.needs == "decisions" else own)
    return xp.stack(rows)
