"""Search of a policy space by steady-state predictions, which are shifted by the latest misfit once they fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.correction import ShiftCorrection
from fairgate.learners.forecast.monitor import Comparison, per_replicate
from fairgate.learners.forecast.planner import ForecastState
from fairgate.learners.forecast.play import Plan
from fairgate.learners.forecast.response import Fit
from fairgate.learners.forecast.steady_state import SteadyStates
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array, Number


class PolicySpace(Protocol):
    """Policies that may be played."""

    def components(self, groups: int) -> int:
        """Return how many thresholds its policies have, M."""

    def search(self, problem: Problem, grid: Array, states: SteadyStates, width: Array) -> Plan:
        """Return the policy of highest reward in the safe set of this confidence width (R,), else the nearest to it."""

    def hold(self, state: ForecastState, search: PolicySearch) -> None:
        """Adapt what is in play to the present round."""

    def recommend(self, problem: Problem, grid: Array, states: SteadyStates, width: Array) -> Policy | None:
        """Return plain thresholds to keep, or None if there are none to recommend."""


@dataclass
class PolicySearch:
    """Plans the best policy of a space that is safe by steady-state prediction; while none is, it explores.

    Attributes
    ----------
    space
        Policies that may be played.
    width
        Confidence width in standard errors, (R,).
    correction
        Shifts predictions once they have failed.
    fit
        The latest that was trusted.
    fresh
        Age from which on a new plan is worth making, (R,).
    patience
        A trusted plan is kept for 1 / `patience` of its age, and for an epoch at least: predictions improve slowly
        later.
    """

    space: PolicySpace
    width: Array
    correction: ShiftCorrection
    fit: Fit
    fresh: NDArray[np.int64]
    patience: int = 6

    @classmethod
    def start(cls, space: PolicySpace, replicates: int, groups: int, arms: int, *, width: Number) -> PolicySearch:
        """Make one that has seen nothing."""
        return cls(
            space=space,
            width=per_replicate(width, replicates),
            correction=ShiftCorrection.start(replicates, groups),
            fit=Fit.start(replicates, groups, arms),
            fresh=np.zeros(replicates, dtype=np.int64),
        )

    def components(self, groups: int) -> int:
        """Return how many thresholds the space's policies have."""
        return self.space.components(groups)

    def due(self, state: ForecastState, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Plan where predictions have failed or the last plan is old."""
        return np.asarray((state.misfit[rows] > 0) | (state.response.age[rows] >= self.fresh[rows]))

    def plan(self, state: ForecastState, rows: NDArray[np.int64]) -> Plan:
        """Fit the response where it is trusted, and search the space."""
        trusted = rows[state.misfit[rows] == 0]
        if trusted.size:
            self.fit.put(trusted, state.response.fit(trusted, benefit=1.0))
        plan = self.space.search(state.problem_of(rows), state.grid, self.steady_states(state, rows), self.width[rows])
        age = state.response.age[rows]
        self.fresh[rows] = age + np.where(plan.explore, 0, age // self.patience)
        self.correction.before[:, rows] = 0.0
        return plan

    def steady_states(self, state: ForecastState, rows: NDArray[np.int64]) -> SteadyStates:
        """Return what predicts any policy's steady state in replicates `rows`."""
        response = state.response
        people = response.arrivals[rows]
        return SteadyStates(
            self.fit.rows(rows),
            response.shares(rows),
            np.stack((people, people / np.maximum(response.age[rows], 1)[:, None])),
            self.correction.shift(rows, state.misfit, state.play.rates),
        )

    def hold(self, state: ForecastState) -> None:
        """Let the space adapt what is in play."""
        self.space.hold(state, self)

    def compare(self, state: ForecastState, rows: NDArray[np.int64]) -> Comparison:
        """Compare what an epoch showed with its prediction, and with the epoch before if nothing else was played."""
        return self.correction.compare(rows, state.play, state.misfit)

    def recommend(self, state: ForecastState) -> Policy | None:
        """Return what the space recommends, feasible by a third of the width there is in play."""
        states = self.steady_states(state, np.arange(state.replicates))
        return self.space.recommend(state.problem, state.grid, states, self.width / 3.0)

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Forget everything in some replicates."""
        self.correction.reset(rows)
        self.fresh[rows] = 0


def planned(
    states: SteadyStates,
    policy: Policy,
    rates: Array,
    error: Array,
    terms: Array,
    safe: NDArray[np.bool_],
    infeasible: NDArray[np.bool_],
) -> Plan:
    """Make the plan to play a policy, and to explore at its acceptance rate if it is not safe but predictions hold."""
    people, failed = states.people[0], states.shift.failures > 0
    acceptance = (people * rates).sum(axis=1) / people.sum(axis=1)
    return Plan(policy, rates, error**2, terms, states.fit.speed, ~safe & ~failed, acceptance, infeasible, failed)
