"""Dwelling and Arms: bases of learners that keep a threshold for a while and learn from that while as a whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.learners.base import Learner
from fairgate.learners.state import State
from fairgate.problem import Feedback, Problem, is_feasible, violation
from fairgate.settings import Array, Between, Number
from fairgate.tasks import Task

Rounds = Annotated[Number, Between(low=0.0)]


@dataclass
class EpochState(State):
    """What an epoch has shown so far.

    Attributes
    ----------
    current, age
        Threshold played and rounds it has been played, (R,).
    epochs
        Epochs finished, (R,).
    sums
        Reward and residuals summed over the rounds that count, (1 + J, R).
    people, accepted
        Counts of those rounds, (R, G).
    """

    current: Array
    age: NDArray[np.int64]
    epochs: NDArray[np.int64]
    sums: Array
    people: Array
    accepted: Array


D = TypeVar("D", bound=EpochState)


@dataclass(frozen=True)
class Epochs(Learner[D]):
    r"""Keep a threshold for `epoch_length` rounds, so that the state can settle, and learn from the last of them.

    The first `burn_in` rounds of an epoch are not learnt from. The others are pooled: constraints on decisions alone
    are read off the summed counts; reward, and constraints that need labels of the rejected, are means of the batches'.
    A mean of batch gaps would not do: it is about :math:`\sqrt{2 p (1 - p) (1/n_0 + 1/n_1) / \pi}` even where the true
    gap is 0, which is 0.05 for 256 people, and hardly any threshold would seem fair.

    A subclass picks thresholds in :meth:`pick` and takes in finished epochs in :meth:`digest`.

    Parameters
    ----------
    epoch_length
        Rounds for which a threshold is kept.
    burn_in
        Rounds at the start of an epoch that are not learnt from.
    """

    epoch_length: Rounds = 10
    burn_in: Rounds = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        epoch_length, burn_in = np.asarray(self.epoch_length), np.asarray(self.burn_in)
        if (epoch_length % 1).any() or (burn_in % 1).any() or not np.all(burn_in < epoch_length):
            raise InputError(
                f"{type(self).__name__}: epoch_length and burn_in must be whole numbers, burn_in below epoch_length, "
                f"got {self.epoch_length} and {self.burn_in}"
            )

    def epoch_fields(self, task: Task, common: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that :class:`DwellMemory` starts with."""
        replicates = common["replicates"]
        return {
            **common,
            "current": np.full(replicates, task.thresholds[0]),
            "age": np.zeros(replicates, dtype=np.int64),
            "epochs": np.zeros(replicates, dtype=np.int64),
            "sums": np.zeros((1 + len(task.problem.names), replicates)),
            "people": np.zeros((replicates, common["groups"])),
            "accepted": np.zeros((replicates, common["groups"])),
        }

    @abstractmethod
    def pick(self, state: D, fresh: NDArray[np.bool_]) -> Array:
        """Return thresholds (R,) to epoch on, for the replicates that are `fresh` to begin one; others are ignored."""

    @abstractmethod
    def digest(self, state: D, over: NDArray[np.bool_], table: Array) -> None:
        """Take in the reward and residuals (1 + J, R) of the epochs that are `over`."""

    def choose(self, state: D) -> Array:
        """Go on with an epoch, or begin the next."""
        fresh = state.age == 0
        if fresh.any():
            state.current = np.where(fresh, self.pick(state, fresh), state.current)
        return state.current

    def learn(self, state: D, thresholds: Array, feedback: Feedback) -> None:
        """Add the round to its epoch, and digest the epochs that it ends."""
        if feedback.observation is None:
            raise InputError(f"{type(self).__name__} pools counts: give it signals of Problem.reveal, not of assess")
        counted = state.age >= np.asarray(self.burn_in)
        state.sums += np.where(counted, np.concatenate((feedback.reward[None], feedback.residuals)), 0.0)
        state.people += counted[:, None] * feedback.observation.people
        state.accepted += counted[:, None] * feedback.observation.accepted
        state.age += 1
        over = state.age >= np.asarray(self.epoch_length)
        if over.any():
            table = state.sums / (np.asarray(self.epoch_length) - np.asarray(self.burn_in))
            self.digest(state, over, with_pooled_residuals(table, state.problem, state.people, state.accepted))
            state.epochs += over
            for field in (state.age, state.sums, state.people.T, state.accepted.T):
                field[..., over] = 0


def with_pooled_residuals(table: Array, problem: Problem, people: Array, accepted: Array) -> Array:
    """Return reward and residuals (1 + J, R) with those on decisions alone read off counts (R, G)."""
    somebody = np.where(people.sum(axis=1, keepdims=True) > 0, people, 1.0)  # replicates yet to count are ignored
    rejected_accepted = np.stack((somebody - accepted, accepted), axis=-1)
    counts = Counts(np.stack((rejected_accepted, np.zeros_like(rejected_accepted)), axis=-2))  # as if all labels were 0
    rows = [table[:1]]
    for constraint in problem.constraints:
        taken = sum(map(len, rows))
        means = table[taken : taken + len(constraint.names)]
        rows.append(np.asarray(constraint.residuals(counts)) if constraint.needs == "decisions" else means)
    return np.concatenate(rows)


@dataclass
class ArmsState(EpochState):
    """What is known of each threshold of the grid, an arm.

    Attributes
    ----------
    arm
        Arm played, (R,).
    plays
        Finished epochs on each arm, (R, K).
    means
        Reward and residuals of each arm, (1 + J, R, K), pooled over its epochs.
    arm_people, arm_accepted
        Those counts, (R, K, G).
    """

    arm: NDArray[np.int64]
    plays: Array
    means: Array
    arm_people: Array
    arm_accepted: Array


A = TypeVar("A", bound=ArmsState)


@dataclass(frozen=True)
class Arms(Epochs[A]):
    """Epoch on thresholds of the grid, and keep the pooled reward and residuals of each.

    A subclass picks an arm in :meth:`pick_arm`.
    """

    def arms(self, task: Task, common: Mapping[str, Any]) -> dict[str, Any]:
        """Fields that :class:`ArmsMemory` starts with."""
        fields = self.epoch_fields(task, common)
        shape = (common["replicates"], len(task.thresholds))
        return {
            **fields,
            "arm": np.zeros(shape[0], dtype=np.int64),
            "plays": np.zeros(shape),
            "means": np.zeros((len(fields["sums"]), *shape)),
            "arm_people": np.zeros((*shape, common["groups"])),
            "arm_accepted": np.zeros((*shape, common["groups"])),
        }

    @abstractmethod
    def pick_arm(self, state: A, fresh: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return arms (R,) to epoch on, for the replicates that are `fresh`; others are ignored."""

    def pick(self, state: A, fresh: NDArray[np.bool_]) -> Array:
        """Return the thresholds of the arms picked."""
        state.arm = np.where(fresh, self.pick_arm(state, fresh), state.arm)
        return state.grid[state.arm]

    def digest(self, state: A, over: NDArray[np.bool_], table: Array) -> None:
        """Add finished epochs to what is known of their arms."""
        rows, everyone = np.flatnonzero(over), np.arange(state.replicates)
        place = (rows, state.arm[rows])
        state.plays[place] += 1.0
        state.arm_people[place] += state.people[rows]
        state.arm_accepted[place] += state.accepted[rows]
        known = state.means[:, everyone, state.arm]
        known += (table - known) / np.maximum(1.0, state.plays[everyone, state.arm])
        counts = state.arm_people[everyone, state.arm], state.arm_accepted[everyone, state.arm]
        state.means[:, *place] = with_pooled_residuals(known, state.problem, *counts)[:, rows]


def best_arm(means: Array, known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the arm of highest reward among those whose residuals are all at most 0, else the least violating one.

    `means` is (1 + J, R, K), reward first; only arms `known` (R, K) are looked at. Ties go to the lowest arm.

    >>> means = np.array([[[0.1, 0.3, 0.9]], [[-0.2, -0.1, 0.2]]])     # reward and one residual of 3 arms
    >>> best_arm(means, np.array([[True, True, True]])), best_arm(means, np.array([[False, False, True]]))
    (array([1]), array([2]))
    """
    feasible = known & is_feasible(means[1:])
    best = np.where(feasible, means[0], -np.inf).argmax(axis=1)
    least = np.where(known, violation(means[1:]), np.inf).argmin(axis=1)
    return np.asarray(np.where(feasible.any(axis=1), best, least))
