"""ForeseeOrFollow: the best threshold by predicted steady states; where these cannot tell, the best for people now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.base import Learner
from fairgate.learners.forecast.learner import same
from fairgate.learners.forecast.policy_space import ForecastState
from fairgate.learners.safe_forecast import SafeForecast
from fairgate.learners.state import State
from fairgate.learners.tracking.learner import Tracking, TrackingState
from fairgate.learners.tracking.search import best_uniform, highest, plain
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array

FIRST = 100
"""Rounds that people are followed for after a forecast has proved wrong; twice as many after each further one."""

DOUBLINGS = 5
"""How often that doubles: 3,200 rounds in the end."""


@dataclass
class BothState(State):
    """What both rules know, and which of them plays."""

    foreseen: ForecastState
    followed: TrackingState
    following: Annotated[NDArray[np.bool_], "R"]  # whether people are followed now
    until: Annotated[NDArray[np.int64], "R"]  # age until which they are, because a forecast has proved wrong
    wrong: Annotated[NDArray[np.int64], "R"]  # how often one has
    shown: Annotated[NDArray[np.bool_], "R"]  # whether what is foreseen to be safe is so for people now, too
    changed: Annotated[NDArray[np.bool_], "R"]  # whether people have been seen to change by themselves

    @property
    def foresees(self) -> bool:
        """Whether steady states are foreseen: not if a constraint looks at labels, of which forecasts are too sure.

        People are followed from the beginning then.
        """
        return all(each.needs == "decisions" for each in self.problem.constraints)

    @property
    def planned(self) -> Array:
        """The threshold that is foreseen to be best, as a place among all options, (R,)."""
        return (self.grid.searchsorted(self.foreseen.play.thresholds[0, :, 0]) + 1).astype(np.float64)

    @property
    def exploring(self) -> NDArray[np.bool_]:
        """Whether the uniform lottery is in play in order to learn, (R,)."""
        return np.asarray(self.foreseen.exploring & ~self.following)

    @property
    def safe(self) -> NDArray[np.bool_]:
        """Whether what is in play is in the safe set, (R,): by forecast and for the people who come now."""
        foreseen = np.where(self.foreseen.exploring, self.foreseen.safe, self.foreseen.safe & self.shown)
        return np.where(self.following, self.followed.safe, foreseen)

    @property
    def infeasible(self) -> NDArray[np.bool_]:
        """Whether the evidence that no threshold is feasible is strong, and none is safe for people now, (R,).

        Nothing is said before people of every group have come.
        """
        seen = (self.followed.people.people[-1] > 0.0).all(axis=-1)
        if not self.foresees:
            return np.asarray(self.followed.infeasible & seen)
        return np.asarray(self.foreseen.infeasible & ~(self.following & self.followed.possible) & seen)


@dataclass(frozen=True)
class ForeseeOrFollow(Learner[BothState]):
    """One threshold for everybody: foresee with :class:`~fairgate.SafeForecast`, follow by :class:`Tracking`."""

    level: ClassVar[str] = "selective-labels"
    policies: ClassVar[str] = "lottery"
    traces: ClassVar[tuple[str, ...]] = ("infeasible", "exploring", "safe")
    version: ClassVar[int] = 7
    foresight: ClassVar[SafeForecast] = SafeForecast()
    tracking: ClassVar[Tracking] = Tracking(only_thresholds=True, refuge=True)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> BothState:
        """Start both rules."""
        nothing = np.zeros(common["replicates"], dtype=np.int64)
        state = BothState(
            **common,
            foreseen=self.foresight.remember(setting, common),
            followed=self.tracking.remember(setting, common),
            following=nothing > 0,
            until=nothing,
            wrong=nothing.copy(),
            shown=nothing > 0,
            changed=nothing > 0,
        )
        state.following[:] = not state.foresees
        return state

    def propose(self, state: BothState) -> Policy:
        """Return what is foreseen to be best, or what is best for the people who come now."""
        if not state.foresees:
            return self.tracking.propose(state.followed)
        play, age = state.foreseen.play, state.followed.age
        opened = age >= state.foreseen.exploration.opening
        due = opened & (state.foreseen.response.age == play.due)
        before = play.policy
        foreseen = self.foresight.propose(state.foreseen)
        if due.any():
            kept = same(before, foreseen, state.grid) & ~state.following
            self.look_now(state, np.flatnonzero(due & ~play.explore), kept)
        restless = state.changed & (state.foreseen.misfit > 0)
        following = opened & (play.explore | restless | (age < state.until))
        new = np.flatnonzero(following & ~state.following)
        state.following = following
        if new.size:
            self.begin_to_follow(state, new)
        if not following.any():
            return foreseen
        followed = self.tracking.propose(state.followed)
        thresholds = np.where(following[:, None], followed.thresholds, foreseen.thresholds)
        weights = np.where(following, followed.weights, foreseen.weights)
        return policy_of(thresholds.shape, thresholds.tobytes(), weights.tobytes())

    def begin_to_follow(self, state: BothState, rows: NDArray[np.int64]) -> None:
        """Plan for the people who come now in replicates `rows`, from the threshold on that was foreseen to be best."""
        state.followed.near[rows] = state.planned[rows]
        state.followed.lottery[:, rows] = plain(state.followed.near[rows], len(state.grid) + 2)
        self.tracking.begin(state.followed, rows)

    def look_now(self, state: BothState, rows: NDArray[np.int64], kept: NDArray[np.bool_]) -> None:
        """Look whether what is planned in replicates `rows` is safe for the people who come now.

        Where it was `kept` (R,) and breaks a constraint, and another threshold does not, follow people for a while; so
        too where it earns less than a uniform lottery would.
        """
        if not rows.size:
            return
        outlook = self.tracking.outlook(state.followed, rows)
        planned = plain(state.planned[rows], len(state.grid) + 2)[..., None]
        residuals, error = outlook.bounds(outlook.mix(planned), self.tracking.width)
        state.shown[rows] = highest(residuals + error)[0] <= 0.0
        poor = outlook.reward(outlook.mix(planned))[0] < best_uniform(outlook, self.tracking.width)
        failed = kept[rows] & (poor | (highest(residuals - error)[0] > 0.0))
        rows, poor = rows[failed], poor[failed]
        if rows.size:
            self.begin_to_follow(state, rows)
            weight, safe = state.followed.lottery[2, rows], state.followed.safe[rows]
            rows = rows[safe & (poor | (weight == 1.0))]
            state.following[rows] = True
            state.until[rows] = state.followed.age[rows] + FIRST * 2 ** np.minimum(state.wrong[rows], DOUBLINGS)
            state.wrong[rows] += 1

    def learn(self, state: BothState, played: Policy, feedback: Feedback) -> None:
        """Tell both rules; only where people are followed need that be planned."""
        if state.foresees:
            self.foresight.learn(state.foreseen, played, feedback)
            state.changed |= state.foreseen.response.age == 0
        ended = self.tracking.take_in(state.followed, played, feedback)
        self.tracking.decide(state.followed, ended[state.following[ended]])

    def credit(self, state: BothState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Tell both rules of labels that arrived in a round in which nobody came."""
        self.foresight.credit(state.foreseen, feedback, credited)
        self.tracking.credit(state.followed, feedback, credited)

    def recommend(self, state: BothState) -> Policy | None:
        """Return the best threshold for the people who are followed, or else the one that is foreseen to be best."""
        followed, safe = self.tracking.settled(state.followed, np.arange(state.replicates))
        foreseen = self.foresight.recommend(state.foreseen) if state.foresees else None
        if foreseen is not None:
            followed = np.where(state.following & safe, followed, foreseen.single[:, 0])
        return Policy.shared(followed, state.groups)


@lru_cache(maxsize=8)
def policy_of(shape: tuple[int, ...], thresholds: bytes, weights: bytes) -> Policy:
    """Return the policy of thresholds of this shape; the same while all of these are.

    Plans change seldom, so that what a loop works out of a policy holds for many rounds.
    """
    return Policy(np.frombuffer(thresholds).reshape(shape), np.frombuffer(weights).reshape(shape[:2])).frozen()
