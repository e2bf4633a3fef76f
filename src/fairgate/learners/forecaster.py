"""Forecaster: what SafeForecast, PerGroup and Mixture share: a fair coin first, epochs, doubt, and beginning anew."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.base import Learner
from fairgate.learners.coin import allowed, toss
from fairgate.learners.response import RATES, TERMS, ResponseState, absorb, blank, forget, terms
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Feedback, Problem
from fairgate.settings import Array, NonNegative, Number, whole_number

SWINGS = 3
"""Stretches of high, low and high chance that the coin begins with, before it settles where the policy will be."""

EARLY = (6, 10)
"""The first so many epochs have so few rounds: forecasts improve quickly then."""


@dataclass
class ForecasterState(ResponseState):
    """The regression, what is in play, and how forecasts fared.

    Attributes
    ----------
    due, waited
        Age at which this epoch ends, and its rounds so far, (R,).
    coin, chance
        Whether everybody has the same chance of acceptance, and which, (R,).
    thresholds, weights
        The lottery played if not, (M, R, G) and (M, R).
    terms, rate, variance
        Forecast of what is in play: terms of acceptance, and of more kinds of count if there are, (N, R, G, 4); index
        of the rate ρ (R,); and squared error of acceptance (R, G).
    spell
        People, accepted and positives of this epoch, and N forecasts of counts, (3 + N, R, G).
    surprise, trials
        Sum of squared errors of forecast in units of their variance, and how many, (R,).
    doubtful
        Whether, or how often, forecasts have failed, (R,).
    infeasible
        Whether it is certain that nothing looked at is feasible, (R,).
    """

    due: NDArray[np.int64]
    waited: NDArray[np.int64]
    coin: NDArray[np.bool_]
    chance: Array
    thresholds: Array
    weights: Array
    terms: Array
    rate: NDArray[np.int64]
    variance: Array
    spell: Array
    surprise: Array
    trials: Array
    doubtful: NDArray[Any]
    infeasible: NDArray[np.bool_]


F = TypeVar("F", bound=ForecasterState)


class Forecaster(Learner[F]):
    """Base of learners that begin with a fair coin and then play what, by forecast, surely holds.

    They differ in what they look at and settle on, :meth:`settle`, and in how they judge an epoch, :meth:`review`.
    """

    caution: NonNegative
    swing: int
    epoch_length: int
    doubt: NonNegative
    change: NonNegative

    level: ClassVar[str] = "selective-labels"
    traces: ClassVar[tuple[str, ...]] = ("infeasible", "coin", "doubtful")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("swing", "epoch_length"):
            checked = whole_number(f"{type(self).__name__}: {name}", int(getattr(self, name)), 2)
            object.__setattr__(self, name, checked)

    @abstractmethod
    def settle(self, state: F, rows: NDArray[np.int64], window: Array) -> None:
        """Choose what replicates `rows` play in a new epoch; the coin's chance must lie in the `window` (2, rows)."""

    @abstractmethod
    def counted(self, state: F) -> NDArray[np.bool_]:
        """Return where this round is to be compared with its forecast, (R,)."""

    @abstractmethod
    def review(self, state: F, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare what an epoch showed with its forecast, and return where people have changed."""

    def steer(self, state: F) -> None:
        """Adapt what is in play to the present round; by default it is kept."""

    def propose(self, state: F) -> Policy:
        """Return the coin or what is in play."""
        rows = np.flatnonzero(state.age == state.due)
        if rows.size:
            self.decide(state, rows)
        self.steer(state)
        return toss(Policy(state.thresholds, state.weights), state.coin, state.chance)

    def choose(self, state: F) -> Array:
        """Return the first group's first threshold in play."""
        return np.where(state.coin, -np.inf, state.thresholds[0, :, 0])

    def decide(self, state: F, rows: NDArray[np.int64]) -> None:
        """Begin an epoch in replicates `rows`: one of the coin's swings, or what they settle on."""
        age = state.age[rows]
        window = np.broadcast_to(allowed(problem_of(state, rows), state.groups), (2, len(rows)))
        state.waited[rows] = 0
        state.due[rows] += self.stay(age)
        swinging = age < SWINGS * self.swing
        begin = rows[swinging]
        state.coin[begin] = True
        low, high = window[:, swinging]
        state.chance[begin] = np.where(age[swinging] // self.swing % 2 == 0, high, low)
        if not swinging.all():
            self.settle(state, rows[~swinging], window[:, ~swinging])

    def opening(self, age: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether nothing but the coin is played yet."""
        return age < (SWINGS + 1) * self.swing

    def early(self, age: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether epochs are still short."""
        return age < (SWINGS + 1) * self.swing + EARLY[0] * EARLY[1]

    def stay(self, age: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rounds of an epoch that begins at `age`."""
        later = np.where(self.early(age), min(EARLY[1], self.epoch_length), self.epoch_length)
        return np.where(self.opening(age), self.swing, later)

    def learn(self, state: F, played: Policy, feedback: Feedback) -> None:
        """Take in the batch; at the end of an epoch see how the forecast fared."""
        seen = feedback.observation
        foretold = (present(state) * state.terms).sum(axis=-1) * seen.people
        counted = ~state.coin & self.counted(state)
        state.spell += counted[:, None] * np.stack((seen.people, seen.accepted, seen.positives, *foretold))
        absorb(state, seen)
        state.waited += 1
        ended = np.flatnonzero((state.age == state.due) & ~state.coin)
        if ended.size:
            changed = self.review(state, ended)
            state.spell[:, ended] = 0.0
            if changed.any():
                self.begin_anew(state, ended[changed])

    def begin_anew(self, state: F, rows: NDArray[np.int64]) -> None:
        """Forget everything in replicates where people have changed."""
        forget(state, rows)
        state.due[rows] = state.doubtful[rows] = 0
        state.surprise[rows] = state.trials[rows] = 0.0
        state.infeasible[rows] = False


def unplayed(common: Mapping[str, Any], arms: int, parts: int, kinds: int) -> dict[str, Any]:
    """Return the fields of a memory that has seen nothing and decides at once.

    A lottery has `parts` thresholds, and forecasts are kept of so many `kinds` of count.
    """
    shape = (common["replicates"], common["setting"].groups)
    numbers, whole = np.zeros(shape[0]), np.zeros(shape[0], dtype=np.int64)
    return {
        **common,
        **blank(*shape, arms),
        "due": whole.copy(),
        "waited": whole.copy(),
        "coin": whole.astype(bool),
        "chance": numbers + 0.5,
        "thresholds": np.full((parts, *shape), np.inf),
        "weights": np.full((parts, shape[0]), 1.0 / parts),
        "terms": np.zeros((kinds, *shape, TERMS)),
        "rate": whole.copy(),
        "variance": np.zeros(shape),
        "spell": np.zeros((3 + kinds, *shape)),
        "surprise": numbers.copy(),
        "trials": numbers.copy(),
        "doubtful": whole.copy(),
        "infeasible": whole.astype(bool),
    }


def jumped(now: Array, people: Array, then: Array, earlier: Array, noise: Array, change: Array) -> NDArray[np.bool_]:
    """Whether a group's rate now, of so many people, and then, of so many, if any, are too far apart for chance, (R,).

    Too far is more than `change` (R,) squared standard errors; all else is (R, G), `noise` being a person's variance.
    """
    apart = (now - then) ** 2 / (noise * (1.0 / people + 1.0 / np.maximum(earlier, 1.0)))
    return np.asarray(np.where(earlier > 0.0, apart, 0.0).max(axis=1) > change)


def failed(surprise: Array, trials: Array, doubt: Array) -> NDArray[np.bool_]:
    """Whether so many forecasts have failed by more than `doubt` times their variance; a few may do so by chance."""
    return np.asarray(surprise > doubt * (trials + 3.0 / trials))


def present(state: ForecasterState) -> Array:
    """Return the regressors of the present round at the rate ρ of the forecast in play, (R, G, 4)."""
    heard = state.heard[state.rate, np.arange(state.replicates)]
    return terms(heard, ((1.0 - RATES)[state.rate] ** state.age)[:, None])


def each(value: Number, state: State, rows: NDArray[np.int64]) -> Array:
    """Return a setting for replicates `rows`, one number each."""
    return np.broadcast_to(np.asarray(value, dtype=np.float64), state.replicates)[rows]


def problem_of(state: State, rows: NDArray[np.int64]) -> Problem:
    """Return the problem that replicates `rows` are set."""
    problem = state.problem
    return problem if problem.replicates is None else problem.rows(rows)
