"""Policy spaces: what may be played, and the search for what is safe by steady-state prediction."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.correction import Comparison, ShiftCorrection
from fairgate.learners.forecast.exploration import Exploration
from fairgate.learners.forecast.monitor import MisfitTest
from fairgate.learners.forecast.play import Plan, Play
from fairgate.learners.forecast.response import Fit, ResponseModel
from fairgate.learners.forecast.steady_state import SteadyStates
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array


@dataclass
class ForecastState(State):
    """The parts of a forecasting learner, each with its state."""

    response: ResponseModel
    exploration: Exploration
    play: Play
    monitor: MisfitTest
    space: PolicySpace

    @property
    def exploring(self) -> NDArray[np.bool_]:
        """Whether the uniform lottery is in play, (R,)."""
        return self.play.explore

    @property
    def safe(self) -> NDArray[np.bool_]:
        """Whether what is in play is in the safe set, as the uniform lottery mostly is by design, (R,)."""
        return np.where(self.play.explore, self.exploration.feasible, self.play.safe)

    @property
    def misfit(self) -> NDArray[np.int64]:
        """How often predictions have failed, (R,)."""
        return self.monitor.failures

    @property
    def infeasible(self) -> NDArray[np.bool_]:
        """Whether the evidence that nothing looked at is feasible is strong, (R,)."""
        return self.play.infeasible


class PolicySpace(Protocol):
    """Policies that may be played, of which it plans the best by predictions that it corrects once they fail.

    `most_failures` and `discount` are those of the :class:`~fairgate.learners.forecast.monitor.MisfitTest`.
    """

    most_failures: ClassVar[int] = 1
    discount: ClassVar[float] = 1.0

    def components(self, groups: int) -> int:
        """Return how many thresholds its policies have, M: two at least, as the uniform lottery."""
        return 2

    def due(self, state: ForecastState, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return in which of replicates `rows` a new plan is worth making, (rows,)."""
        return np.ones(len(rows), dtype=bool)

    def plan(self, state: ForecastState, rows: NDArray[np.int64]) -> Plan:
        """Return the best plan of the safe set for replicates `rows`."""

    def hold(self, state: ForecastState) -> None:
        """Adapt what is in play to the present round."""

    def compare(self, state: ForecastState, rows: NDArray[np.int64]) -> Comparison:
        """Compare what the epoch of replicates `rows` showed with its prediction, and learn from it."""

    def recommend(self, state: ForecastState) -> Policy | None:
        """Return plain thresholds to keep, or None if there are none to recommend."""

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Forget everything in some replicates."""


@dataclass
class PolicySearch(PolicySpace):
    """Plans the best policy found by :meth:`search`; while none is safe, it explores.

    Predictions are shifted by the latest misfit once they fail, and shifted predictions may fail once more.
    """

    width: Annotated[Array, "R"]  # confidence width in standard errors
    correction: ShiftCorrection
    fit: Fit  # the latest that was trusted
    fresh: Annotated[NDArray[np.int64], "R"]  # age from which on a new plan is worth making
    # a trusted plan is kept for 1 / `patience` of its age, an epoch at least: predictions improve slowly later
    patience: int = 6

    most_failures: ClassVar[int] = 2
    discount: ClassVar[float] = 0.8

    @abstractmethod
    def search(self, problem: Problem, grid: Array, states: SteadyStates, width: Array) -> Plan:
        """Return the policy of highest reward in the safe set of this confidence width (R,), else the nearest to it."""

    def due(self, state: ForecastState, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Plan where predictions have failed or the last plan is old."""
        return np.asarray((state.misfit[rows] > 0) | (state.response.age[rows] >= self.fresh[rows]))

    def plan(self, state: ForecastState, rows: NDArray[np.int64]) -> Plan:
        """Fit the response where it is trusted, and search the space."""
        trusted = rows[state.misfit[rows] == 0]
        if trusted.size:
            self.fit.put(trusted, state.response.fit(trusted, benefit=1.0))
        plan = self.search(state.problem.rows(rows), state.grid, self.steady_states(state, rows), self.width[rows])
        age = state.response.age[rows]
        self.fresh[rows] = age + np.where(plan.explore, 0, age // self.patience)
        self.correction.before[:, rows] = 0.0
        return plan

    def steady_states(self, state: ForecastState, rows: NDArray[np.int64]) -> SteadyStates:
        """Return what predicts any policy's steady state in replicates `rows`."""
        failures = state.misfit[rows]
        return SteadyStates.trusted(state.response, rows, self.fit.rows(rows))._replace(
            failures=failures,
            shift=self.correction.shift(rows, failures),
            weight=self.correction.weight[rows],
            near=state.play.rates[rows],
        )

    def compare(self, state: ForecastState, rows: NDArray[np.int64]) -> Comparison:
        """Compare an epoch with its prediction, and with the epoch before if nothing else was played."""
        return self.correction.compare(rows, state.play, state.misfit)

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
    people, failed = states.people[0], states.failures > 0
    acceptance = (people * rates).sum(axis=1) / people.sum(axis=1)
    return Plan(
        *policy, rates, error**2, terms, states.fit.speed, ~safe & ~failed, acceptance, infeasible, failed, safe
    )
