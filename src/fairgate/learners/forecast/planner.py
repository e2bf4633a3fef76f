"""What the parts of a forecasting learner are, and the state they make up together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.exploration import Exploration
from fairgate.learners.forecast.monitor import Comparison, Monitor
from fairgate.learners.forecast.play import Plan, Play
from fairgate.learners.forecast.response import ResponseModel
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Problem


class Planner(Protocol):
    """Picks what to play: a policy space, searched by steady-state predictions that it corrects once they fail."""

    def components(self, groups: int) -> int:
        """Return how many thresholds its policies have, M."""

    def due(self, state: ForecastState, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return in which of replicates `rows` a new plan is worth making, (rows,)."""

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
class ForecastState(State):
    """The parts, each with its state."""

    response: ResponseModel
    exploration: Exploration
    play: Play
    monitor: Monitor
    planner: Planner

    @property
    def exploring(self) -> NDArray[np.bool_]:
        """Whether the uniform lottery is in play, (R,)."""
        return self.exploration.active

    @property
    def misfit(self) -> NDArray[np.int64]:
        """How often predictions have failed, (R,)."""
        return self.monitor.misfit.failures

    @property
    def infeasible(self) -> NDArray[np.bool_]:
        """Whether it is certified that nothing looked at is feasible, (R,)."""
        return self.play.infeasible

    def problem_of(self, rows: NDArray[np.int64]) -> Problem:
        """Return the problem that replicates `rows` are set."""
        return self.problem if self.problem.replicates is None else self.problem.rows(rows)
