"""Epochs: learners that keep a threshold for a while and learn from that while as a whole; and a table of arms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.learners.base import Learner, arms_of
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback, Problem, best_feasible
from fairgate.settings import Array, Between, Number

Rounds = Annotated[Number, Between(low=0.0)]

LONGEST_DELAY = 10_000
"""Rounds that labels are waited for: later ones count for nothing, so that a state stays small if some never come."""


def note(state: State, round_number: int, what: Any) -> None:
    """Note something of a round until its labels have arrived, and forget the oldest note if there are too many."""
    state.pending[round_number] = what
    if len(state.pending) > LONGEST_DELAY:
        del state.pending[next(iter(state.pending))]


def check_epoch(learner: object, epoch_length: Number, burn_in: Number) -> None:
    """Say so if an epoch leaves no round to learn from."""
    length, first = np.asarray(epoch_length), np.asarray(burn_in)
    if (length % 1).any() or (first % 1).any() or not np.all(first < length):
        raise InputError(
            f"{type(learner).__name__}: epoch_length and burn_in must be whole numbers, burn_in below epoch_length, "
            f"got {epoch_length} and {burn_in}"
        )


def of(setting: Number, rows: NDArray[np.int64]) -> Array:
    """Return a setting of these replicates: one number for all of them, or one each."""
    values = np.asarray(setting, dtype=np.float64)
    return values[rows] if values.ndim else values


@dataclass
class EpochState(State):
    """What an epoch has shown so far."""

    current: Annotated[Array, "R"]  # threshold played
    age: Annotated[NDArray[np.int64], "R"]  # rounds it has been played
    epochs: Annotated[NDArray[np.int64], "R"]  # epochs finished
    sums: Annotated[Array, "1+J R"]  # reward and residuals summed over the rounds that count
    known: Annotated[Array, "R"]  # rounds that count whose reward is known: parts of them where labels are delayed
    people: Annotated[Array, "R G"]  # of the rounds that count
    accepted: Annotated[Array, "R G"]
    multipliers: Annotated[Array, "J R"]  # price of each residual, for learners that price them


class Late(NamedTuple):
    """Labels of people accepted in epochs that are over, for N replicates."""

    rows: NDArray[np.int64]  # which replicates, (N,)
    arm: NDArray[np.intp]  # place in the grid of the threshold that accepted these people, (N,)
    epoch: NDArray[np.int64]  # number of the epoch, (N,)
    share: Array  # as much of the epoch as these labels stand for, (N,)
    reward: Array  # per person, going by these labels, (N,)

    def only(self, kept: NDArray[np.bool_]) -> Late:
        """Return some of them."""
        return Late(self.rows[kept], self.arm[kept], self.epoch[kept], self.share[kept], self.reward[kept])


E = TypeVar("E", bound=EpochState)


@dataclass(frozen=True)
class Epochs(Learner[E]):
    r"""Keep a threshold for `epoch_length` rounds, so that the state can settle, and learn from the last of them.

    The first `burn_in` rounds of an epoch are not learnt from. The others are pooled: constraints on decisions alone
    are read off the summed counts; reward, and constraints that need labels of the rejected, are means of the batches'.
    A mean of batch gaps would not do: it is about :math:`\sqrt{2 p (1 - p) (1/n_0 + 1/n_1) / \pi}` even where the true
    gap is 0, which is 0.05 for 256 people, and hardly any threshold would seem fair.

    A subclass picks thresholds in :meth:`pick` and takes in finished epochs in :meth:`digest`. An epoch in which
    something else was played than proposed begins again.

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
        check_epoch(self, self.epoch_length, self.burn_in)

    @abstractmethod
    def pick(self, state: E, fresh: NDArray[np.bool_]) -> Array:
        """Return the thresholds (R,) of the next epoch, for the replicates that are `fresh`; others are ignored."""

    @abstractmethod
    def digest(self, state: E, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Take in the reward and residuals (1 + J, R) of the epochs that are `over`.

        `share` (R,) is how much of the reward is known: 1 unless labels are delayed. Where it is 0 the reward is 0.
        """

    def settling(self, state: E) -> Array:
        """Rounds of the present epoch that are not learnt from, (R,) or one number; by default `burn_in`."""
        return np.asarray(self.burn_in, dtype=np.float64)

    def late(self, state: E, labels: Late) -> None:
        """Take in labels of people accepted in epochs that are over; by default it is too late."""

    def choose(self, state: E) -> Array:
        """Go on with an epoch, or begin the next."""
        fresh = state.age == 0
        if fresh.any():
            state.current = np.where(fresh, self.pick(state, fresh), state.current)
        return state.current

    def learn(self, state: E, played: Policy, feedback: Feedback) -> None:
        """Add the round to its epoch, and digest the epochs that it ends."""
        ours = (played.single == state.current[:, None]).all(axis=1)
        first, rounds = self.settling(state), np.asarray(self.epoch_length) - np.asarray(self.burn_in)
        counted = (state.age >= first) & ours
        if feedback.credits is None and type(self).credit is Epochs.credit:  # all labels are known, of this round
            state.sums[0] += np.where(counted, feedback.reward, 0.0)
            state.known += counted
        else:
            note(state, feedback.round, np.where(counted, state.epochs, -1))
            self.credit(state, feedback, feedback.credited(played))
        state.sums[1:] += np.where(counted, feedback.residuals, 0.0)
        state.people += counted[:, None] * feedback.observation.people
        state.accepted += counted[:, None] * feedback.observation.accepted
        state.age += 1
        over = (state.age >= first + rounds) & ours
        if over.any():
            table = state.sums / rounds
            table[0] = state.sums[0] / np.where(state.known > 0.0, state.known, 1.0)
            pooled = with_pooled_residuals(table, state.problem, state.people, state.accepted)
            self.digest(state, over, pooled, state.known / rounds)
            state.epochs += over
        ended = over | ~ours
        if ended.any():
            for field in (state.age, state.sums, state.known, state.people.T, state.accepted.T):
                field[..., ended] = 0

    def credit(self, state: E, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Add rewards to the epochs whose people they are about: the present one, or those that are over."""
        noted = list(state.noted(credited))
        if not noted:
            return
        epochs, shares = np.stack([epoch for _, epoch in noted]), np.stack([each.share for each, _ in noted])
        present = epochs == state.epochs
        for place in np.flatnonzero(present.any(axis=1)).tolist():
            each, now = noted[place][0], present[place]
            state.sums[0] += np.where(now, each.share * each.reward, 0.0)
            state.known += np.where(now, each.share, 0.0)
        if type(self).late is Epochs.late:
            return
        arms, known = arms_of(state.grid, [each for each, _ in noted])
        late = (epochs >= 0) & (epochs < state.epochs) & (shares > 0.0) & known
        shares /= np.asarray(self.epoch_length) - np.asarray(self.burn_in)
        for (each, epoch), arm, share, those in zip(noted, arms, shares, late, strict=True):
            rows = np.flatnonzero(those)
            if rows.size:
                self.late(state, Late(rows, arm[rows], epoch[rows], share[rows], each.reward[rows]))


def with_pooled_residuals(table: Array, problem: Problem, people: Array, accepted: Array) -> Array:
    """Return reward and residuals (1 + J, R) with those on decisions alone read off counts (R, G)."""
    somebody = np.where(people.sum(axis=1, keepdims=True) > 0, people, 1.0)  # replicates yet to count are ignored
    counts = Counts.of_decisions(somebody, accepted)
    rows = [table[:1]]
    for constraint in problem.constraints:
        taken = sum(map(len, rows))
        means = table[taken : taken + len(constraint.names)]
        rows.append(np.asarray(constraint.residuals(counts)) if constraint.needs == "decisions" else means)
    return np.concatenate(rows)


@dataclass
class ArmsState(EpochState):
    """An epoch, and what is known of each threshold of the grid, an arm."""

    plays: Annotated[Array, "R K"]  # finished epochs on each arm
    credited: Annotated[Array, "R K"]  # as many of them as its arrived labels stand for
    means: Annotated[Array, "1+J R K"]  # reward and residuals, pooled over its epochs
    arm_people: Annotated[Array, "R K G"]
    arm_accepted: Annotated[Array, "R K G"]

    def best(self) -> NDArray[np.int64]:
        """Return the best feasible of the arms played, else the least violating one, (R,)."""
        return best_feasible(self.means[0], self.means[1:], self.plays > 0)


class Arms:
    """How a learner with epochs keeps a table of the grid's thresholds; to be put before :class:`Epochs`."""

    version: ClassVar[int] = 4

    def digest(self, state: ArmsState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Add finished epochs to what is known of the arms they were on."""
        rows, everyone = np.flatnonzero(over), np.arange(state.replicates)
        arm = np.searchsorted(state.grid, state.current)
        place = (rows, arm[rows])
        state.plays[place] += 1.0
        state.credited[place] += share[rows]
        state.arm_people[place] += state.people[rows]
        state.arm_accepted[place] += state.accepted[rows]
        known = state.means[:, everyone, arm]
        known[1:] += (table[1:] - known[1:]) / np.maximum(1.0, state.plays[everyone, arm])
        total = state.credited[everyone, arm]
        known[0] += share * (table[0] - known[0]) / np.where(total > 0.0, total, 1.0)
        counts = state.arm_people[everyone, arm], state.arm_accepted[everyone, arm]
        state.means[:, *place] = with_pooled_residuals(known, state.problem, *counts)[:, rows]

    def late(self, state: ArmsState, labels: Late) -> None:
        """Add labels that arrived after the epoch to the threshold that accepted these people."""
        place = labels.rows * len(state.grid) + labels.arm
        total, means = state.credited.ravel(), state.means[0].ravel()  # flat, which is faster
        known, mean = total.take(place) + labels.share, means.take(place)
        total[place], means[place] = known, mean + labels.share * (labels.reward - mean) / known
