"""Forecast: the learner that puts response model, exploration, monitor and policy space together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.base import Learner
from fairgate.learners.epochs import of
from fairgate.learners.forecast.exploration import Exploration, acceptance_window, feasible_by_design
from fairgate.learners.forecast.monitor import MisfitTest
from fairgate.learners.forecast.play import Play
from fairgate.learners.forecast.policy_space import ForecastState, PolicySpace
from fairgate.learners.forecast.response import ResponseModel
from fairgate.learners.shapes import sizes_of
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, keep_whole


@dataclass(frozen=True)
class Forecast(Learner[ForecastState]):
    """Explore by a uniform lottery, then play what is safe by steady-state prediction, and monitor the predictions.

    Its forms differ in their :meth:`policy_space`; :class:`~fairgate.SafeForecast` has the settings.
    """

    width: NonNegative = 2.0
    phase_length: int = 15
    epoch_length: int = 25
    misfit: NonNegative = 3.5
    change: NonNegative = 36.0

    level: ClassVar[str] = "selective-labels"
    policies: ClassVar[str] = "lottery"
    traces: ClassVar[tuple[str, ...]] = ("infeasible", "exploring", "misfit", "safe")
    version: ClassVar[int] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("phase_length", "epoch_length"):
            keep_whole(self, name, 2)

    @abstractmethod
    def policy_space(self, sizes: Mapping[str, int]) -> PolicySpace:
        """Make the space of policies that may be played."""

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> ForecastState:
        """Put the parts together, with nothing known and the first exploration phase due at once."""
        replicates, groups, arms = common["replicates"], setting.groups, len(setting.thresholds)
        space = self.policy_space(sizes_of(setting, replicates))
        window = np.array(np.broadcast_to(acceptance_window(setting.problem, groups), (2, replicates)))
        return ForecastState(
            **common,
            response=ResponseModel.start(replicates, groups, arms),
            exploration=Exploration(
                window, feasible_by_design(setting.problem, groups, window), self.phase_length, self.epoch_length
            ),
            play=Play.start(replicates, groups, space.components(groups)),
            monitor=MisfitTest.start(replicates, self.misfit, space.most_failures, space.discount),
            space=space,
        )

    def propose(self, state: ForecastState) -> Policy:
        """Return the uniform lottery or what is in play."""
        rows = np.flatnonzero(state.response.age == state.play.due)
        if rows.size:
            self.decide(state, rows)
        state.space.hold(state)
        return state.play.policy

    def decide(self, state: ForecastState, rows: NDArray[np.int64]) -> None:
        """Begin an epoch in replicates `rows`: an exploration phase, a new plan, or the plan in play once more."""
        play, exploration, age = state.play, state.exploration, state.response.age[rows]
        play.waited[rows] = 0
        play.due[rows] += exploration.duration(age)
        phase = exploration.phase_due(age)
        play.explore[rows[phase]] = True
        play.acceptance[rows[phase]] = exploration.probability(rows[phase], age[phase])
        rows = rows[~phase]
        rows = rows[state.space.due(state, rows)]
        if rows.size:
            play.adopt(rows, state.space.plan(state, rows))
            play.explore[rows] |= state.response.age[rows] < exploration.opening
            play.acceptance[rows] = np.clip(play.acceptance[rows], *exploration.window[:, rows])

    def learn(self, state: ForecastState, played: Policy, feedback: Feedback) -> None:
        """Take in the batch; at the end of an epoch, compare it with its prediction."""
        response, play = state.response, state.play
        as_proposed = same(played, play.policy, state.grid)
        play.transient |= ~as_proposed
        settling = np.where(play.transient, state.exploration.duration(response.age) * 2 // 5, 0)
        counted = as_proposed & ~play.explore & (play.waited >= settling)
        play.count(feedback, response.regressors(play.speed), counted, feedback.round - play.waited + settling)
        response.absorb(feedback.observation)
        ended = np.flatnonzero((response.age == play.due) & ~play.explore)
        if ended.size:
            squared, tested, apart = state.space.compare(state, ended)
            play.tally[:, ended] = 0.0
            state.monitor.update(ended, squared, tested)
            self.reset(state, ended[apart > of(self.change, ended)])

    def credit(self, state: ForecastState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Take in labels that arrived in a round in which nobody came."""
        state.response.labels += feedback.observation.binned[1]

    def reset(self, state: ForecastState, rows: NDArray[np.int64]) -> None:
        """Forget everything in replicates where people have changed, and explore once more."""
        for part in (state.response, state.play, state.monitor, state.space):
            part.reset(rows)

    def recommend(self, state: ForecastState) -> Policy | None:
        """Return plain thresholds that are feasible by a third of the width there is in play, if there are any."""
        return state.space.recommend(state)


def same(one: Policy, other: Policy, grid: Array) -> NDArray[np.bool_]:
    """Whether two policies accept the same people, (R,).

    >>> same(Policy.of([[0.0, 0.5], [0.5, 0.5]]), Policy.shared([0.0, 0.5], groups=2), np.array([0.0, 0.5]))
    array([False,  True])
    """
    if one is other or all(np.array_equal(*arrays) for arrays in zip(one, other, strict=True)):
        return np.ones(one.replicates, dtype=bool)
    return one.accepts_same(other, grid)
