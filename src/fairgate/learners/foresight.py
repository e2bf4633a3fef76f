"""Foresight: what PerGroup and Mixture share: the best policy that surely holds, corrected where forecasts fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecaster import Forecaster, ForecasterState, each, failed, jumped, problem_of, unplayed
from fairgate.learners.long_run import Response
from fairgate.learners.response import TERMS, fit, shares_of
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative

RARER = 6
"""A trusted choice is kept for a sixth of its age, and for an epoch at least: forecasts improve slowly later on."""

FADE = 0.5
"""What an epoch leaves of the weight of earlier ones, where only the latest is believed."""

UTTERLY = 4.0
"""How many times as large errors must be for corrected forecasts to count as failed: a slow drift is no failure."""

SURPRISES = 0.8
"""What an epoch leaves of the weight of earlier surprises."""


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

    policy: Policy
    rates: Array
    error: Array
    terms: Array
    lower: Array
    upper: Array


@dataclass
class ForesightState(ForecasterState):
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
        People of the last epoch, and accepted beyond forecast, if nothing has changed since, (2, R, G).
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
class Foresight(Forecaster[ForesightState]):
    """Base of learners that foretell what a policy leads to: they differ in :meth:`plan`, the policies looked at.

    Parameters
    ----------
    caution
        Standard errors by which a policy must be feasible.
    swing
        Rounds of each of the coin's first four stretches.
    epoch_length
        Rounds after which forecasts are compared with what happened.
    doubt
        Mean squared error of forecasts, in units of their variance, beyond which only differences are believed.
    change
        Squared standard errors between two epochs on the same policy beyond which everything begins anew.
    """

    caution: NonNegative = 2.0
    swing: int = 15
    epoch_length: int = 25
    doubt: NonNegative = 3.5
    change: NonNegative = 36.0

    @abstractmethod
    def plan(self, problem: Problem, grid: Array, response: Response, caution: Array) -> Plan:
        """Return the best policy that is feasible by `caution` standard errors, else the nearest to it."""

    @abstractmethod
    def components(self, groups: int) -> int:
        """Return how many thresholds a lottery has."""

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ForesightState:
        """Start with nothing known and the first choice due at once."""
        shape, arms = (common["replicates"], setting.groups), len(setting.thresholds)
        return ForesightState(
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

    def settle(self, state: ForesightState, rows: NDArray[np.int64], window: Array) -> None:
        """Plan anew where that is worth its while."""
        due = (state.doubtful[rows] > 0) | (state.age[rows] >= state.fresh[rows])
        rows, window = rows[due], window[:, due]
        if not rows.size:
            return
        self.believe(state, rows)
        caution = each(self.caution, state, rows)
        plan = self.plan(problem_of(state, rows), state.grid, self.response(state, rows), caution)
        coin = self.opening(state.age[rows]) | ((plan.upper > 0.0) & (state.doubtful[rows] == 0))
        wanted = (state.arrivals[rows] * plan.rates).sum(axis=1) / state.arrivals[rows].sum(axis=1)
        state.chance[rows] = np.clip(wanted, *window)
        state.before[:, rows] = 0.0
        state.thresholds[:, rows], state.weights[:, rows] = plan.policy
        state.coin[rows], state.infeasible[rows] = coin, plan.lower > 0.0
        state.near[rows], state.variance[rows], state.terms[:, rows] = plan.rates, plan.error**2, plan.terms
        state.fresh[rows] = state.age[rows] + np.where(coin, 0, state.age[rows] // RARER)

    def believe(self, state: ForesightState, rows: NDArray[np.int64]) -> None:
        """Fit the regression anew where its forecasts have not failed."""
        rows = rows[state.doubtful[rows] == 0]
        if rows.size:
            found = fit(state, rows, benefit=1.0)
            state.rates[rows], state.positives[rows] = found.rates, found.positives
            state.inverse[rows], state.rate[rows] = found.inverse, found.chosen

    def response(self, state: ForesightState, rows: NDArray[np.int64]) -> Response:
        """Return what is known of the answer to acceptance, with what is to be added where forecasts have failed."""
        people, doubtful = state.arrivals[rows], state.doubtful[rows]
        return Response(
            state.rates[rows],
            state.positives[rows],
            state.inverse[rows],
            state.rate[rows],
            shares_of(state, rows),
            np.stack((people, people / np.maximum(state.age[rows], 1)[:, None])),
            doubtful,
            np.where(doubtful[:, None] > 0, state.shift[:, rows], 0.0),
            state.weight[rows],
            state.near[rows],
        )

    def counted(self, state: ForesightState) -> NDArray[np.bool_]:
        """Return where this round is compared with its forecast: a trusted one is for every round."""
        return np.asarray((state.doubtful == 0) | (state.waited >= self.stay(state.age) * 2 // 5))

    def review(self, state: ForesightState, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Compare what an epoch showed with its forecast, and with the epoch before if nothing else was played."""
        people, accepted, positives, foretold, foretold_positives = state.spell[:, rows]
        people = np.maximum(people, 1.0)
        error = (accepted - foretold) / people
        chance = (accepted + 1.0) / (people + 2.0)
        noise = np.maximum(chance * (1.0 - chance), 0.01)
        before, extra = state.before[:, rows]
        then = extra / np.maximum(before, 1.0)
        changed = jumped(error, people, then, before, noise, each(self.change, state, rows))

        corrected = error - np.where(state.doubtful[rows][:, None] > 0, state.shift[0, rows], 0.0)
        surprise = corrected**2 / (noise / people + state.variance[rows])
        fading = FADE * state.weight[rows]
        fresh = np.stack((error, (positives - foretold_positives) / people))
        state.shift[:, rows] = (fading * state.shift[:, rows] + people * fresh) / (fading + people)
        state.weight[rows] = fading + people
        state.surprise[rows] = SURPRISES * state.surprise[rows] + surprise.mean(axis=1)
        state.trials[rows] = SURPRISES * state.trials[rows] + 1.0
        limit = each(self.doubt, state, rows) * np.where(state.doubtful[rows] > 0, UTTERLY, 1.0)
        fails = failed(state.surprise[rows], state.trials[rows], limit)
        state.doubtful[rows] = np.minimum(state.doubtful[rows] + fails, 2)
        state.surprise[rows[fails]] = state.trials[rows[fails]] = 0.0
        state.before[:, rows] = np.stack((people, accepted - foretold))
        return changed

    def begin_anew(self, state: ForesightState, rows: NDArray[np.int64]) -> None:
        """Forget everything in replicates where people have changed."""
        super().begin_anew(state, rows)
        state.fresh[rows] = 0
        state.weight[rows] = 0.0
        state.before[:, rows] = state.shift[:, rows] = 0.0
