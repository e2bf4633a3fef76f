"""BestLottery: everybody with the same probability, a control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from fairgate.learners.base import Learner
from fairgate.learners.shapes import fresh
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, Between, Number


@dataclass
class LotteryState(State):
    """Ends (R,) of the window of probabilities, rounds (R,) played, and the reward (R,) earned so far."""

    low: Annotated[Array, "R"]
    high: Annotated[Array, "R"]
    played: Annotated[Array, "R"]
    earned: Annotated[Array, "R"]


@dataclass(frozen=True)
class BestLottery(Learner[LotteryState]):
    r"""Accept everybody with the same probability p, as high or as low as the constraints allow.

    Scores and groups play no part, so the population's gap is 0 in every state, and every constraint on acceptance
    can be met. The reward is :math:`p \cdot \mathbb{E}[y - c_{fp} (1 - y)]`: linear in p, so the best p is one end of
    the window. The middle is played for `collect` rounds; after that, the high end while the rewards sum to more than
    0, else the low one. The window is what every constraint's `uniform_window` allows, [0, 1] if none limits it.

    Parameters
    ----------
    collect
        Rounds before it chooses an end.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("german"), fg.learners.BestLottery(), rounds=300, seeds=2)
    >>> round(run.summary()["acceptance"].mean, 6), run.population_gap.max().round(6)
    (0.99, np.float64(0.0))
    """

    collect: Annotated[Number, Between(low=1.0)] = 10

    blind: ClassVar[bool] = True
    policies: ClassVar[str] = "lottery"
    version: ClassVar[int] = 3

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> LotteryState:
        """Read the window off the task."""
        state = fresh(LotteryState, setting, common, high=1.0)
        for constraint in setting.problem.constraints:
            lowest, highest = constraint.uniform_window()
            state.low, state.high = np.maximum(state.low, lowest), np.minimum(state.high, highest)
        return state

    def propose(self, state: LotteryState) -> Policy:
        """Return the uniform lottery of the middle or of an end of the window."""
        end = np.where(state.earned > 0, state.high, state.low)
        middle = 0.5 * (state.low + state.high)
        return Policy.uniform(np.where(state.played < np.asarray(self.collect), middle, end), state.groups)

    def learn(self, state: LotteryState, played: Policy, feedback: Feedback) -> None:
        """Add up the rewards, as far as they are known."""
        self.credit(state, feedback, feedback.credited(played))
        state.played += 1

    def credit(self, state: LotteryState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Add up the rewards that arrived labels stand for."""
        for each in credited:
            uniform = np.isinf(each.played.thresholds).all(axis=(0, 2))  # what else was played tells nothing
            state.earned = state.earned + np.where(uniform, each.share * each.reward, 0.0)
