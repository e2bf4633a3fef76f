"""Foresight: what PerGroup and Mixture share: the best policy that surely holds, corrected where forecasts fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecaster import Forecaster, ForecasterMemory, each, failed, jumped, problem_of, unplayed
from fairgate.learners.long_run import Response
from fairgate.learners.memory import Memory
from fairgate.learners.response import TERMS, fit, shares_of
from fairgate.policy import Lottery
from fairgate.problem import Problem
from fairgate.settings import Array, NonNegative
from fairgate.tasks import Task

RARER = 6
"""A trusted choice is kept for a sixth of its age, and not for less than a dwell: forecasts improve slowly later on."""

FADE = 0.5
"""What a dwell leaves of the weight of earlier ones, where only the latest is believed."""

UTTERLY = 4.0
"""How many times as large errors must be for corrected forecasts to count as failed: a slow drift is no failure."""

SURPRISES = 0.8
"""What a dwell leaves of the weight of earlier surprises."""


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
class ForesightMemory(ForecasterMemory):
    """What a forecaster remembers, the response it believes in, and how that is to be corrected.

    Forecasts are of accepted and of positives; `doubtful` tells how often they have failed: 0, 1 (only differences are
    believed) or 2 (not even those). Older surprises fade.

    Attributes
    ----------
    fresh
        Age from which on a new choice is worth its while, (R,).
    rates, positives, inverse
        The latest response that was believed in; see :class:`~fairgate.learners.response.Fit`.
    near
        Forecast rates of what is in play, (R, G).
    before
        People of the last dwell, and accepted beyond forecast, if nothing has changed since, (2, R, G).
    shift, weight
        Latest errors of forecast for rates and positives (2, R, G), and the people they are from (R, G).
    """

    fresh: NDArray[np.int64]
    rates: Array
    positives: Array
    inverse: Array
    near: Array
    before: Array
    shift: Array
    weight: Array


@dataclass(frozen=True)
class Foresight(Forecaster[ForesightMemory]):
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

    @abstractmethod
    def plan(self, problem: Problem, grid: Array, response: Response, caution: Array) -> Plan:
        """Return the best policy that is feasible by `caution` standard errors, else the nearest to it."""

    @abstractmethod
    def components(self, groups: int) -> int:
        """Return how many thresholds a lottery has."""

    def remember(self, task: Task, common: Mapping[str, Any]) -> ForesightMemory:
        """Start with nothing known and the first choice due at once."""
        shape, arms = (common["replicates"], common["groups"]), len(task.thresholds)
        return ForesightMemory(
            **unplayed(common, arms, parts=self.components(shape[1]), kinds=2),
            fresh=np.zeros(shape[0], dtype=np.int64),
            rates=np.zeros((*shape, TERMS, arms + 2)),
            positives=np.zeros((*shape, TERMS, arms + 2)),
            inverse=np.zeros((*shape, TERMS, TERMS)),
            near=np.zeros(shape),
            before=np.zeros((2, *shape)),
            shift=np.zeros((2, *shape)),
            weight=np.zeros(shape),
        )

    def settle(self, memory: ForesightMemory, rows: NDArray[np.int64], window: Array) -> None:
        """Plan anew where that is worth its while."""
        due = (memory.doubtful[rows] > 0) | (memory.age[rows] >= memory.fresh[rows])
        rows, window = rows[due], window[:, due]
        if not rows.size:
            return
        self.believe(memory, rows)
        caution = each(self.caution, memory, rows)
        plan = self.plan(problem_of(memory, rows), memory.grid, self.response(memory, rows), caution)
        coin = self.opening(memory.age[rows]) | ((plan.upper > 0.0) & (memory.doubtful[rows] == 0))
        wanted = (memory.arrivals[rows] * plan.rates).sum(axis=1) / memory.arrivals[rows].sum(axis=1)
        memory.chance[rows] = np.clip(wanted, *window)
        memory.before[:, rows] = 0.0
        memory.thresholds[:, rows], memory.weights[:, rows] = plan.policy
        memory.coin[rows], memory.infeasible[rows] = coin, plan.lower > 0.0
        memory.near[rows], memory.variance[rows], memory.terms[:, rows] = plan.rates, plan.error**2, plan.terms
        memory.fresh[rows] = memory.age[rows] + np.where(coin, 0, memory.age[rows] // RARER)

    def believe(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> None:
        """Fit the regression anew where its forecasts have not failed."""
        rows = rows[memory.doubtful[rows] == 0]
        if rows.size:
            found = fit(memory, rows, benefit=1.0)
            memory.rates[rows], memory.positives[rows] = found.rates, found.positives
            memory.inverse[rows], memory.rate[rows] = found.inverse, found.chosen

    def response(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> Response:
        """Return what is known of the answer to acceptance, with what is to be added where forecasts have failed."""
        people, doubtful = memory.arrivals[rows], memory.doubtful[rows]
        return Response(
            memory.rates[rows],
            memory.positives[rows],
            memory.inverse[rows],
            memory.rate[rows],
            shares_of(memory, rows),
            np.stack((people, people / np.maximum(memory.age[rows], 1)[:, None])),
            doubtful,
            np.where(doubtful[:, None] > 0, memory.shift[:, rows], 0.0),
            memory.weight[rows],
            memory.near[rows],
        )

    def counted(self, memory: ForesightMemory) -> NDArray[np.bool_]:
        """Return where this round is compared with its forecast: a trusted one is for every round."""
        return np.asarray((memory.doubtful == 0) | (memory.waited >= self.stay(memory.age) * 2 // 5))

    def review(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare what a dwell showed with its forecast, and with the dwell before if nothing else was played."""
        people, accepted, positives, foretold, foretold_positives = memory.spell[:, rows]
        people = np.maximum(people, 1.0)
        error = (accepted - foretold) / people
        chance = (accepted + 1.0) / (people + 2.0)
        noise = np.maximum(chance * (1.0 - chance), 0.01)
        before, extra = memory.before[:, rows]
        then = extra / np.maximum(before, 1.0)
        changed = jumped(error, people, then, before, noise, each(self.change, memory, rows))

        corrected = error - np.where(memory.doubtful[rows][:, None] > 0, memory.shift[0, rows], 0.0)
        surprise = corrected**2 / (noise / people + memory.variance[rows])
        fading = FADE * memory.weight[rows]
        fresh = np.stack((error, (positives - foretold_positives) / people))
        memory.shift[:, rows] = (fading * memory.shift[:, rows] + people * fresh) / (fading + people)
        memory.weight[rows] = fading + people
        memory.surprise[rows] = SURPRISES * memory.surprise[rows] + surprise.mean(axis=1)
        memory.trials[rows] = SURPRISES * memory.trials[rows] + 1.0
        limit = each(self.doubt, memory, rows) * np.where(memory.doubtful[rows] > 0, UTTERLY, 1.0)
        fails = failed(memory.surprise[rows], memory.trials[rows], limit)
        memory.doubtful[rows] = np.minimum(memory.doubtful[rows] + fails, 2)
        memory.surprise[rows[fails]] = memory.trials[rows[fails]] = 0.0
        memory.before[:, rows] = np.stack((people, accepted - foretold))
        return changed

    def begin_anew(self, memory: ForesightMemory, rows: NDArray[np.int64]) -> None:
        """Forget everything in replicates where people have changed."""
        super().begin_anew(memory, rows)
        memory.fresh[rows] = 0
        memory.weight[rows] = 0.0
        memory.before[:, rows] = memory.shift[:, rows] = 0.0
