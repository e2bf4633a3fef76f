"""Foresight: what PerGroup and Mixture share: a fair coin first, then whatever the forecast says will surely hold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.base import Learner
from fairgate.learners.memory import Memory
from fairgate.learners.outlook import Outlook, Worth
from fairgate.learners.response import (
    NEWTON_STEPS,
    RATES,
    STEEPEST,
    TERMS,
    Forecast,
    ResponseMemory,
    absorb,
    blank,
    foresee,
    forget,
    terms,
    terms_now,
)
from fairgate.learners.safe_forecast import CERTAIN, EARLY, SWINGS, allowed, problem_of
from fairgate.policy import Lottery
from fairgate.problem import Problem, Signals
from fairgate.settings import Array, NonNegative, Number, whole_number
from fairgate.tasks import Task

RARER = 6
"""A trusted choice is kept for a sixth of its age, and not for less than a dwell: forecasts improve slowly later on."""

FADE = 0.5
"""What a dwell leaves of the weight of earlier ones, where only the latest is believed."""

LOOSE = 0.2
"""Error of a failed forecast per unit of acceptance between what is played and what is asked about."""

UTTERLY = 4.0
"""How many times as large errors must be for corrected forecasts to count as failed: a slow drift is no failure."""

SURPRISES = 0.8
"""What a dwell leaves of the weight of earlier surprises."""


class Response(NamedTuple):
    """What is known of R replicates' answer to acceptance. The K + 2 options are -inf, the grid and inf.

    Attributes
    ----------
    shares
        Share of each group, (R, G).
    rates, positives
        P(s ≥ option | g) and P(y=1, s ≥ option | g) as terms of what is heard of, (R, G, 4, K + 2).
    inverse
        Covariance of the terms in units of the noise, (R, G, 4, 4).
    people
        People of each group so far, and in a batch, (2, R, G).
    speed
        Rate ρ at which acceptance is heard of, (R,).
    failed
        How often forecasts have failed, (R,): 0, 1 or 2.
    shift, weight, near
        Where forecasts have failed: what to add to rates and to positives (2, R, G), the people that is known from
        (R, G), and the forecast rate of what was played meanwhile (R, G).
    """

    shares: Array
    rates: Array
    positives: Array
    inverse: Array
    people: Array
    speed: Array
    failed: NDArray[np.int64]
    shift: Array
    weight: Array
    near: Array

    def outlook(
        self, rates: Array, positives: Array, steep: Array, spread: Array | None = None, sway: bool = True
    ) -> Outlook:
        """Make an outlook (R, G, C) of forecast rates, positives, and slopes of S in acceptance.

        `spread` is the variance, over the scores of a group, of the chance of acceptance: p(1 − p) for a threshold, and
        by default; 0 for a coin, whose rate is certain. The error of a rate has two parts: that of the fit, and the
        swaying of the state as batches differ,

            var(h) = ρ² · p(1 − p) / n / (1 − (1 − ρ(1 − S′))²),

        which moves rates by S′ times as much; without `sway` only the first counts. Where forecasts have failed, the
        first is that of the correction.
        """
        regressors = terms(rates)
        leverage = ((regressors @ self.inverse) * regressors).sum(axis=-1)
        everybody, batch = self.people[..., None]
        noise = np.maximum(rates * (1.0 - rates), 1.0 / np.maximum(everybody, 1.0))
        spread = noise if spread is None else spread
        fitted = spread * leverage / (1.0 - steep) ** 2
        failed = self.failed[:, None, None] > 0
        away = LOOSE * (rates - self.near[..., None])
        variance = np.where(failed, noise / np.maximum(self.weight[..., None], 1.0) + away**2, fitted)
        speed = self.speed[:, None, None]
        moved = speed**2 * noise / np.maximum(batch, 1.0) / (1.0 - (1.0 - speed * (1.0 - steep)) ** 2)
        whole = (regressors * self.positives[..., :1].swapaxes(-1, -2)).sum(axis=-1)
        shifted = np.clip(rates + self.shift[0][..., None], 0.0, 1.0)
        good = np.clip(positives + self.shift[1][..., None], 0.0, shifted)
        label_error = np.where(failed, np.sqrt(variance), 0.0)
        error = np.sqrt(variance + steep**2 * moved) if sway else np.sqrt(variance)
        return Outlook(self.shares, shifted, good, np.clip(whole, good, 1.0), error, label_error)


class Plan(NamedTuple):
    """What to play, (M, R, G) with weights (M, R), and what it should do.

    Attributes
    ----------
    rates, error
        Forecast acceptance, before any correction, and its standard error, (R, G).
    terms
        Of acceptance and of accepted positives, (2, R, G, 4).
    lower, upper
        Largest residual minus and plus so many standard errors as it takes to be certain, and to be sure, (R,).
    """

    policy: Lottery
    rates: Array
    error: Array
    terms: Array
    lower: Array
    upper: Array


@dataclass
class ForesightMemory(ResponseMemory):
    """The regression, what is in play, and how forecasts fared.

    Attributes
    ----------
    due, fresh
        Age at which a dwell ends, and from which on a new choice is worth its while, (R,).
    coin, chance
        Whether everybody has the same chance of acceptance, and which, (R,).
    thresholds, weights
        The lottery played if not, (M, R, G) and (M, R).
    waited
        Rounds of this dwell, (R,).
    rates, positives, inverse, speed
        The latest response that was believed in; see :class:`Response`.
    near, variance, terms
        Forecast of what is in play: rates, their squared error (R, G), and terms (2, R, G, 4).
    spell
        People, accepted, positives, and forecasts of the latter two, in this dwell, (5, R, G).
    before
        People of the last dwell, and accepted beyond forecast, if nothing has changed since, (2, R, G).
    shift, weight
        Latest errors of forecast for rates and positives (2, R, G), and the people they are from (R, G).
    surprise, trials
        Sum of squared errors of forecast in units of their variance, and how many, older ones fading, (R,).
    doubtful
        How often forecasts have failed: 0, 1 (only differences are believed) or 2 (not even those), (R,).
    infeasible
        Whether it is certain that no policy looked at is feasible, (R,).
    """

    due: NDArray[np.int64]
    fresh: NDArray[np.int64]
    coin: NDArray[np.bool_]
    chance: Array
    thresholds: Array
    weights: Array
    waited: NDArray[np.int64]
    rates: Array
    positives: Array
    inverse: Array
    speed: Array
    near: Array
    variance: Array
    terms: Array
    spell: Array
    before: Array
    shift: Array
    weight: Array
    surprise: Array
    trials: Array
    doubtful: NDArray[np.int64]
    infeasible: NDArray[np.bool_]


@dataclass(frozen=True)
class Foresight(Learner[ForesightMemory]):
    """Base of learners that foretell what a policy leads to: they differ in :meth:`plan`, the policies looked at.

    Parameters
    ----------
    caution
        Standard errors by which a policy must be feasible.
    swing
        Rounds of each of the coin's first four stretches.
    dwell
        Rounds after which forecasts are compared with what happened.
    doubt
        Mean squared error of forecasts, in units of their variance, beyond which only differences are believed.
    change
        Squared standard errors between two dwells on the same policy beyond which everything begins anew.
    """

    caution: NonNegative = 2.0
    swing: int = 15
    dwell: int = 25
    doubt: NonNegative = 3.5
    change: NonNegative = 36.0

    memory_type: ClassVar[type[Memory]] = ForesightMemory
    tier: ClassVar[str] = "C"
    lottery: ClassVar[bool] = True
    traces: ClassVar[tuple[str, ...]] = ("infeasible", "coin", "doubtful")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("swing", "dwell"):
            checked = whole_number(f"{type(self).__name__}: {name}", int(getattr(self, name)), 2)
            object.__setattr__(self, name, checked)

    @abstractmethod
    def plan(self, problem: Problem, grid: Array, response: Response, caution: Array) -> Plan:
        """Return the best policy that is feasible by `caution` standard errors, else the nearest to it."""

    def steer(self, memory: ForesightMemory) -> None:
        """Adapt what is in play to the present round; by default it is kept as planned."""

    @abstractmethod
    def components(self, groups: int) -> int:
        """Return how many thresholds a lottery has."""

    def remember(self, task: Task, common: Mapping[str, Any]) -> ForesightMemory:
        """Start with nothing known and the first choice due at once."""
        replicates, groups, options = common["replicates"], common["groups"], len(task.thresholds) + 2
        parts, shape = self.components(groups), (replicates, groups)
        whole, yes = np.zeros(replicates, dtype=np.int64), np.zeros(replicates, dtype=bool)
        return ForesightMemory(
            **common,
            **blank(replicates, groups, options - 2),  # type: ignore[arg-type]
            due=whole.copy(),
            fresh=whole.copy(),
            coin=yes.copy(),
            chance=np.full(replicates, 0.5),
            thresholds=np.full((parts, *shape), np.inf),
            weights=np.full((parts, replicates), 1.0 / parts),
            waited=whole.copy(),
            rates=np.zeros((*shape, TERMS, options)),
            positives=np.zeros((*shape, TERMS, options)),
            inverse=np.zeros((*shape, TERMS, TERMS)),
            speed=np.ones(replicates),
            near=np.zeros(shape),
            variance=np.zeros(shape),
            terms=np.zeros((2, *shape, TERMS)),
            spell=np.zeros((5, *shape)),
            before=np.zeros((2, *shape)),
            shift=np.zeros((2, *shape)),
            weight=np.zeros(shape),
            surprise=np.zeros(replicates),
            trials=np.zeros(replicates),
            doubtful=whole.copy(),
            infeasible=yes.copy(),
        )

    def propose(self, memory: ForesightMemory) -> Lottery:  # type: ignore[override]
        """Return the coin or the policy in play."""
        rows = np.flatnonzero(memory.age == memory.due)
        if rows.size:
            self.decide(memory, rows)
        self.steer(memory)
        thresholds, weights = memory.thresholds.copy(), memory.weights.copy()
        thresholds[0, memory.coin], thresholds[1:, memory.coin] = -np.inf, np.inf
        weights[0, memory.coin], weights[2:, memory.coin] = memory.chance[memory.coin], 0.0
        weights[1, memory.coin] = 1.0 - memory.chance[memory.coin]
        return Lottery(thresholds, weights)

    def choose(self, memory: ForesightMemory) -> Array:
        """Return the first group's first threshold in play."""
        return np.where(memory.coin, -np.inf, memory.thresholds[0, :, 0])

    def decide(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> None:
        """Choose what the replicates `rows` play next, and until when."""
        stage, (lowest, highest) = memory.age[rows] // self.swing, allowed(memory.problem, memory.groups)
        memory.waited[rows] = 0
        swinging = stage < SWINGS
        begin = rows[swinging]
        memory.coin[begin] = True
        memory.chance[begin] = np.where(stage[swinging] % 2 == 0, highest, lowest)
        memory.due[begin] += self.swing
        rows = rows[~swinging]
        age = memory.age[rows]
        memory.due[rows] += np.where(
            age < (SWINGS + 1) * self.swing,
            self.swing,
            np.where(age < (SWINGS + 1) * self.swing + EARLY[0] * EARLY[1], min(EARLY[1], self.dwell), self.dwell),
        )
        rows = rows[(memory.doubtful[rows] > 0) | (age >= memory.fresh[rows])]
        if not rows.size:
            return
        self.believe(memory, rows)
        caution = each(self.caution, memory, rows)
        plan = self.plan(problem_of(memory, rows), memory.grid, self.response(memory, rows), caution)
        opening = memory.age[rows] < (SWINGS + 1) * self.swing
        coin = opening | ((plan.upper > 0.0) & (memory.doubtful[rows] == 0))
        wanted = (memory.arrivals[rows] * plan.rates).sum(axis=1) / memory.arrivals[rows].sum(axis=1)
        memory.chance[rows] = np.clip(wanted, lowest, highest)
        memory.before[:, rows] = 0.0
        memory.thresholds[:, rows], memory.weights[:, rows] = plan.policy
        memory.coin[rows], memory.infeasible[rows] = coin, plan.lower > 0.0
        memory.near[rows], memory.variance[rows], memory.terms[:, rows] = plan.rates, plan.error**2, plan.terms
        memory.fresh[rows] = memory.age[rows] + np.where(coin, 0, memory.age[rows] // RARER)

    def believe(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> None:
        """Fit the regression anew where its forecasts have not failed."""
        rows = rows[memory.doubtful[rows] == 0]
        if rows.size:
            forecast = foresee(memory, rows, benefit=1.0)
            memory.rates[rows], memory.positives[rows] = options(forecast)
            memory.inverse[rows], memory.speed[rows] = forecast.inverse, RATES[forecast.chosen]

    def response(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> Response:
        """Return what is known of the answer to acceptance, with what is to be added where forecasts have failed."""
        people, doubtful = memory.arrivals[rows], memory.doubtful[rows]
        return Response(
            (people + 1e-9) / (people + 1e-9).sum(axis=1, keepdims=True),
            memory.rates[rows],
            memory.positives[rows],
            memory.inverse[rows],
            np.stack((people, people / np.maximum(memory.age[rows], 1)[:, None])),
            memory.speed[rows],
            doubtful,
            np.where(doubtful[:, None] > 0, memory.shift[:, rows], 0.0),
            memory.weight[rows],
            memory.near[rows],
        )

    def learn(self, memory: ForesightMemory, thresholds: Array, signals: Signals) -> None:
        """Take in the batch; at the end of a dwell see how the forecast fared."""
        seen = signals.seen
        assert seen is not None
        foretold = (present(memory) * memory.terms).sum(axis=-1) * seen.people
        early = memory.age < (SWINGS + 1) * self.swing + EARLY[0] * EARLY[1]
        settling = np.where(early, min(EARLY[1], self.dwell), self.dwell) * 2 // 5
        counted = ~memory.coin & ((memory.doubtful == 0) | (memory.waited >= settling))
        memory.spell += counted[:, None] * np.stack((seen.people, seen.accepted, seen.positives, *foretold))
        absorb(memory, seen)
        memory.waited += 1
        ended = np.flatnonzero((memory.age == memory.due) & ~memory.coin)
        if ended.size:
            self.review(memory, ended)

    def review(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> None:
        """Compare what a dwell showed with its forecast, and with the dwell before if nothing else was played."""
        people, accepted, positives, foretold, foretold_positives = memory.spell[:, rows]
        people = np.maximum(people, 1.0)
        error = (accepted - foretold) / people
        chance = (accepted + 1.0) / (people + 2.0)
        noise = np.maximum(chance * (1.0 - chance), 0.01)

        before, extra = memory.before[:, rows]
        jump = (error - extra / np.maximum(before, 1.0)) ** 2 / (noise * (1.0 / people + 1.0 / np.maximum(before, 1.0)))
        changed = np.where(before > 0.0, jump, 0.0).max(axis=1) > each(self.change, memory, rows)

        corrected = error - np.where(memory.doubtful[rows][:, None] > 0, memory.shift[0, rows], 0.0)
        surprise = corrected**2 / (noise / people + memory.variance[rows])
        fading = FADE * memory.weight[rows]
        fresh = np.stack((error, (positives - foretold_positives) / people))
        memory.shift[:, rows] = (fading * memory.shift[:, rows] + people * fresh) / (fading + people)
        memory.weight[rows] = fading + people
        memory.surprise[rows] = SURPRISES * memory.surprise[rows] + surprise.mean(axis=1)
        memory.trials[rows] = trials = SURPRISES * memory.trials[rows] + 1.0
        limit = each(self.doubt, memory, rows) * np.where(memory.doubtful[rows] > 0, UTTERLY, 1.0)
        failed = memory.surprise[rows] > limit * (trials + 3.0 / trials)
        memory.doubtful[rows] = np.minimum(memory.doubtful[rows] + failed, 2)
        memory.surprise[rows[failed]] = memory.trials[rows[failed]] = 0.0
        memory.before[:, rows] = np.stack((people, accepted - foretold))
        memory.spell[:, rows] = 0.0
        if changed.any():
            self.begin_anew(memory, rows[changed])

    def begin_anew(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> None:
        """Forget everything in replicates where people have changed."""
        forget(memory, rows)
        memory.due[rows] = memory.fresh[rows] = 0
        memory.surprise[rows] = memory.trials[rows] = 0.0
        memory.doubtful[rows], memory.infeasible[rows] = 0, False
        memory.weight[rows] = 0.0
        memory.before[:, rows] = memory.shift[:, rows] = 0.0


def each(value: Number, memory: Memory, rows: NDArray[np.int64]) -> Array:
    """Return a setting for replicates `rows`, one number each."""
    return np.broadcast_to(np.asarray(value, dtype=np.float64), memory.replicates)[rows]


def present(memory: ForesightMemory) -> Array:
    """Return the regressors of the present round at the rate ρ that was believed in last, (R, G, 4)."""
    return terms_now(memory)[np.searchsorted(RATES, memory.speed), np.arange(memory.replicates)]


def options(forecast: Forecast) -> tuple[Array, Array]:
    """Return the terms of acceptance and of accepted positives at -inf, the grid and inf, (R, G, 4, K + 2) each."""
    none = np.zeros_like(forecast.coefficients[..., :1])
    everybody = none.copy()
    everybody[:, :, 0] = 1.0
    return (
        np.concatenate((everybody, forecast.coefficients, none), axis=-1),
        np.concatenate((forecast.whole[..., None], forecast.above, none), axis=-1),
    )


def slope(coefficients: Array, rates: Array) -> Array:
    """Return how much S of terms (R, G, 4, C) changes with acceptance at `rates` (R, G, C), as far as is believed."""
    return np.clip(coefficients[:, :, 1] + 2.0 * coefficients[:, :, 2] * (rates - 0.5), -STEEPEST, STEEPEST)


def fitted(coefficients: Array) -> tuple[Array, Array]:
    """Return the acceptance rates that terms (R, G, 4, C) lead to, acc = S(acc), and the slopes of S there."""
    rates = np.full(coefficients[:, :, 0].shape, 0.5)
    for _ in range(NEWTON_STEPS):
        steep = slope(coefficients, rates)
        rates = np.clip(rates - (rates - at(coefficients, rates)) / (1.0 - steep), 0.0, 1.0)
    return rates, slope(coefficients, rates)


def at(coefficients: Array, rates: Array) -> Array:
    """Return the value of terms (R, G, 4, C) in the long run of `rates` (R, G, C)."""
    away = rates - 0.5
    return coefficients[:, :, 0] + away * (coefficients[:, :, 1] + away * coefficients[:, :, 2])


def ranked(worth: Worth, caution: Array) -> tuple[Array, Array, Array]:
    """Return what to prefer, surely feasible ones by reward before others by violation; and the bounds, (C, R) each."""
    upper = worth.residual + caution * worth.residual_error
    lower = worth.residual - CERTAIN * worth.residual_error
    return np.where(upper <= 0.0, worth.reward, -1e3 - upper), lower, upper
