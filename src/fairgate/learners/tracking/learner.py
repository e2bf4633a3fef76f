"""Tracking: play what is best and safe for the people who come now, and follow them as they respond."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.history import as_history
from fairgate.learners.base import Learner
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.forecast.learner import same
from fairgate.learners.shapes import bins_last, filled, sizes_of
from fairgate.learners.state import State
from fairgate.learners.statement import Statement
from fairgate.learners.tracking import label_curve, people_now
from fairgate.learners.tracking.answers import SPEEDS, Answers
from fairgate.learners.tracking.experiments import FIRST, Experiments
from fairgate.learners.tracking.label_curve import LabelCurve
from fairgate.learners.tracking.outlook import Outlook
from fairgate.learners.tracking.people_now import PeopleNow
from fairgate.learners.tracking.restlessness import Restlessness
from fairgate.learners.tracking.search import (
    ROOM,
    Found,
    best_lottery,
    best_threshold,
    best_uniform,
    cheapest_probe,
    offers_of,
    plain,
    upper_bound,
)
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, Between, Index

PEOPLE, LABELS = 300, 150
"""People and labels that the uniform lottery is played for at first: rates are known to about 0.05 then."""

LATEST = 60
"""Rounds after which no more labels are waited for: some come late, and some never."""

LONGEST = 10
"""Rounds of a stretch, at most; before, it is a tenth of the rounds so far."""

THRIFT = 0.5
"""Part of what doubts about labels have cost that may be spent on labels."""

PAST = 1_000_000_000
"""Past decisions that are taken in as one round: all of them, as tables may be sorted by anything."""


@dataclass
class TrackingState(State):
    """Who comes now, how they do, the stretch so far, and what is in play."""

    people: PeopleNow
    answers: Answers
    curve: LabelCurve
    experiments: Experiments
    restlessness: Restlessness
    statement: Statement
    window: Annotated[Array, "2 R"]  # acceptance probabilities at which the uniform lottery is feasible
    age: Annotated[NDArray[np.int64], "R"]  # rounds so far
    begun: Annotated[NDArray[np.int64], "R"]  # age at which the present stretch began
    due: Annotated[NDArray[np.int64], "R"]  # and at which it ends
    lasted: Annotated[Array, "R"]  # rounds of the stretch before
    fresh: Annotated[NDArray[np.int64], "R"]  # age from which on a new plan is worth making
    scores: Annotated[Array, "R G K+1"]  # of the stretch: people by score bin
    labels: Annotated[Array, "R G K+1 2"]  # and labels that arrived
    known: Annotated[Array, "2 R"]  # people and labels so far
    lottery: Annotated[Array, "3 R"]  # in play: lower and higher option, and the weight of the lower
    usual: Annotated[Array, "3 R"]  # the same, but for experiments and looks for labels
    strayed: Annotated[NDArray[np.bool_], "R"]  # whether something else was played in the stretch
    near: Annotated[Array, "R"]  # threshold last chosen, as a place among the options
    ratio: Annotated[Array, "R"]  # error of the largest residual in units of all rates' errors
    exploring: Annotated[NDArray[np.bool_], "R"]  # whether the uniform lottery is in play because little is known
    purse: Annotated[Array, "R"]  # reward that may be spent on labels
    flow: Annotated[Array, "R"]  # what a round adds to it, or takes from it while labels are looked for
    safe: Annotated[NDArray[np.bool_], "R"]  # whether what is in play is in the safe set
    possible: Annotated[NDArray[np.bool_], "R"]  # whether the last plan found something of its class that is
    strong: Annotated[NDArray[np.bool_], "R"]  # whether the last plan found nothing feasible by three standard errors
    infeasible: Annotated[NDArray[np.bool_], "R"]  # whether that has been so for long: nothing looked at is feasible


@dataclass(frozen=True)
class Tracking(Learner[TrackingState]):
    """Follow the people who come, and play the best policy that is safe for them; see :class:`~fairgate.SafeSearch`.

    `only_thresholds` leaves lotteries out; then a threshold moves by small steps within the safe set. Where no
    threshold is safe, the uniform lottery may be its `refuge`.
    """

    width: Annotated[float, Between(low=0.0, open_low=True)] = 1.5
    benefit: Annotated[float, Between(low=0.0)] = 0.3
    only_thresholds: bool = False
    refuge: bool = False
    history: Any = None

    level: ClassVar[str] = "selective-labels"
    policies: ClassVar[str] = "lottery"
    searched: ClassVar[str] = "lottery"
    traces: ClassVar[tuple[str, ...]] = ("infeasible", "exploring", "safe")
    version: ClassVar[int] = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", as_history(self.history))
        super().__post_init__()
        if self.only_thresholds:
            object.__setattr__(self, "searched", "threshold")
            object.__setattr__(self, "policies", "lottery" if self.refuge else "threshold")

    @property
    def room(self) -> float:
        """By how much a policy must be feasible beyond its margin."""
        return 0.0 if self.only_thresholds else ROOM

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> TrackingState:
        """Start with what the past tells, if there is one, or else with the uniform lottery or a threshold halfway."""
        replicates = common["replicates"]
        own = {"W": len(people_now.WINDOWS), "L": len(label_curve.WINDOWS), "P": len(SPEEDS)}
        state = filled(TrackingState, sizes_of(setting, replicates) | own, **common, due=1, ratio=1.0)
        state.curve.common[:] = state.curve.curves[:] = label_curve.TYPICAL
        state.labels, state.curve.labels = bins_last(state.labels), bins_last(state.curve.labels)
        state.answers.average[:] = 0.5
        state.window[:] = acceptance_window(setting.problem, setting.groups)
        options = len(setting.thresholds) + 2
        if self.only_thresholds:
            state.near[:] = options // 2
            state.lottery[:] = plain(state.near, options)
        else:
            state.exploring[:] = True
            state.lottery[1] = options - 1
            state.lottery[2] = state.window.mean(axis=0)
        if self.history is not None:
            self.begin_with_past(state)
        return state

    def begin_with_past(self, state: TrackingState) -> None:
        """Take in past decisions, and plan from the old policy."""
        every = np.arange(state.replicates)
        for seen in self.history.observations(state.setting, state.replicates, batch=PAST):
            state.scores += seen.binned[0]
            state.labels += seen.binned[1]
            state.answers.take_in(seen.people, seen.accepted, state.age)
            state.age += seen.people.any(axis=1)
            self.end_stretch(state, every)
        old = self.history.old_policy(state.setting, state.replicates).shared + 1.0
        state.near[:] = old
        state.lottery[:] = plain(old, len(state.grid) + 2)
        state.exploring[:] = False
        state.due[:] = state.age + 1
        self.begin(state, every)

    def begin(self, state: TrackingState, rows: NDArray[np.int64]) -> None:
        """Plan from what is thought to be in play, in replicates `rows`."""
        outlook = self.outlook(state, rows)
        self.plan(state, rows, outlook)
        state.restlessness.expected[rows] = outlook.mix(state.lottery[:, rows, None]).rates[..., 0]
        state.restlessness.rounds[rows] = 0

    def propose(self, state: TrackingState) -> Policy:
        """Return what is in play."""
        certain = self.only_thresholds and not self.refuge
        return policy_of(state.lottery.tobytes(), state.grid.tobytes(), state.groups, certain)

    def learn(self, state: TrackingState, played: Policy, feedback: Feedback) -> None:
        """Add the round to its stretch; at the end of one, follow the people and plan where that is worth it."""
        self.decide(state, self.take_in(state, played, feedback))

    def take_in(self, state: TrackingState, played: Policy, feedback: Feedback) -> NDArray[np.int64]:
        """Add the round to its stretch; return the replicates in which one has ended and enough is known to plan."""
        scores, labels = feedback.observation.binned
        people, accepted = feedback.observation.people, feedback.observation.accepted
        as_proposed = same(played, self.propose(state), state.grid)
        state.strayed |= ~as_proposed
        state.restlessness.take_in(np.where(as_proposed[:, None], people, 0), accepted)
        state.answers.take_in(people, accepted, state.age)
        state.scores += scores
        state.labels += labels
        state.age += 1
        rows = np.flatnonzero(state.age >= state.due)
        if rows.size:
            self.end_stretch(state, rows)
            enough = (state.known[0] >= PEOPLE) & ((state.known[1] >= LABELS) | (state.age >= LATEST))
            rows = rows[~state.exploring[rows] | enough[rows]]
        return rows

    def decide(self, state: TrackingState, rows: NDArray[np.int64]) -> None:
        """Plan in replicates `rows` where that is worth it."""
        if rows.size:
            experiments = state.experiments
            state.exploring[rows] = going = experiments.going(rows)
            rounds = (state.due - state.age)[rows].astype(np.float64)
            outlook = self.outlook(state, rows)
            state.purse[rows] += state.flow[rows] * state.lasted[rows]
            spent = np.where(going & state.strayed[rows], 0.0, experiments.income[rows])
            experiments.fund[rows] += spent * state.lasted[rows]
            mixed = outlook.mix(state.lottery[:, rows, None])
            before = mixed.rates[..., 0]
            usual = ~going  # what an experiment earns says nothing of foresight
            state.answers.judge(rows[usual], outlook.reward(mixed)[0, usual], state.lasted[rows[usual]])
            upper = upper_bound(outlook, state.lottery[:, rows], 0.5 * self.width)
            needed = (state.age[rows] >= state.fresh[rows]) | (upper > -self.room) | (state.flow[rows] < 0.0)
            if going.any():
                state.answers.fit(rows[going])
                needed |= going & (state.answers.known(rows) | state.strayed[rows])
            state.strayed[rows] = False
            if not needed.all():  # else the plan tells
                state.safe[rows] = upper_bound(outlook, state.lottery[:, rows], self.width) <= 0.0
            if needed.any():
                self.plan(state, rows[needed], outlook.rows(needed))
            state.infeasible[rows] = state.statement.stands(rows, state.strong[rows], rounds, state.age[rows])
            rates = outlook.mix(state.lottery[:, rows, None]).rates[..., 0]
            state.restlessness.expect(rows, rates, before)

    def credit(self, state: TrackingState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Take in labels that arrived in a round in which nobody came."""
        state.labels += feedback.observation.binned[1]

    def end_stretch(self, state: TrackingState, rows: NDArray[np.int64]) -> None:
        """Take in the stretch of replicates `rows`, and begin the next."""
        every: Index = slice(None) if len(rows) == state.replicates else rows  # nothing is copied if all are meant
        scores, labels = state.scores[every], state.labels[every]
        rounds = (state.age - state.begun)[rows].astype(np.float64)
        state.lasted[rows] = rounds
        above = scores[..., :0:-1].cumsum(axis=-1)[..., ::-1]
        people = scores.sum(axis=-1)
        state.answers.experiment[rows] = state.experiments.recent(rows, state.age[rows]) & ~state.strayed[rows]
        state.people.take_in(every, rounds, above, people, state.answers)
        state.curve.take_in(every, rounds, labels)
        state.known[:, rows] += np.stack((people.sum(axis=1), labels.sum(axis=(1, 2, 3))))
        state.scores[rows] = state.labels[rows] = 0.0
        state.begun[rows] = state.age[rows]
        state.due[rows] = state.age[rows] + np.clip(state.age[rows] // 10, 1, LONGEST)

    def outlook(self, state: TrackingState, rows: NDArray[np.int64]) -> Outlook:
        """Return what policies would do to the people who come now, in replicates `rows`."""
        now = state.people.now(rows, state.answers, state.age)
        moving = np.maximum(now.moving, state.restlessness.now(rows))
        labels = state.curve.now(rows, self.benefit)
        return Outlook.of(state.problem.rows(rows), now, moving, labels)

    def plan(self, state: TrackingState, rows: NDArray[np.int64], outlook: Outlook) -> None:
        """Put the best safe policy into play in replicates `rows`."""
        found = self.search(state, rows, outlook)
        before, ratio = state.lottery[:, rows], state.ratio[rows]
        state.answers.fit(rows)
        state.lottery[:, rows], state.near[rows] = found.lottery, found.lottery[0]
        state.safe[rows] = state.possible[rows] = found.safe
        state.strong[rows], state.ratio[rows] = found.infeasible, found.ratio
        if self.refuge:
            self.take_refuge(state, rows, outlook, found, before, ratio)
        if not self.only_thresholds:
            state.usual[:, rows] = found.lottery
            state.exploring[rows] = False
            if outlook.needs_labels:
                self.look_for_labels(state, rows, outlook, found)
            if self.history is None:  # who has an old policy to keep to does not experiment
                self.look_for_answers(state, rows, outlook, found)
        # while people change, plans are made again at every stretch; else as seldom as knowledge grows
        window = people_now.WINDOWS[state.people.window(rows, state.answers.proved(rows))]
        patience = np.minimum(window / 5.0, state.age[rows] / 8.0)
        fresh = state.age[rows] + patience.astype(np.int64)
        state.fresh[rows] = np.where(state.experiments.going(rows), state.experiments.until[rows], fresh)

    def take_refuge(
        self,
        state: TrackingState,
        rows: NDArray[np.int64],
        outlook: Outlook,
        found: Found,
        before: Array,
        ratio: Array,
    ) -> None:
        """Play the best safe lottery where no threshold is safe, or the best one earns less than a uniform lottery.

        A threshold that does worse than to decide without a look at scores is not worth keeping. `before` was in play,
        and `ratio` belongs to it.
        """
        kept = found.safe & (outlook.worth_of(found.lottery) >= best_uniform(outlook, self.width))
        if not kept.all():
            other = best_lottery(outlook, self.width, before, ratio)
            kept |= found.safe & ~other.safe
            state.lottery[:, rows] = np.where(kept, found.lottery, other.lottery)
            state.ratio[rows] = np.where(kept, found.ratio, other.ratio)
            state.safe[rows] |= other.safe

    def look_for_answers(self, state: TrackingState, rows: NDArray[np.int64], outlook: Outlook, found: Found) -> None:
        """Play a lottery of another acceptance rate for a while, where it is not known how people answer to that."""
        state.experiments.end(rows, state.age[rows])
        due = state.age[rows] >= np.maximum(state.experiments.due[rows], FIRST)
        wanted = due & found.safe & ~state.exploring[rows] & ~state.answers.known(rows)
        if wanted.any():
            rows, lottery = rows[wanted], found.lottery[:, wanted]
            offers = offers_of(outlook.rows(wanted), self.width, lottery, found.ratio[wanted])
            pace = SPEEDS[state.answers.speed[rows]]
            begun, lotteries = state.experiments.begin(rows, state.age[rows], pace, offers)
            state.exploring[rows] = begun
            state.lottery[:, rows] = np.where(begun, lotteries, lottery)

    def look_for_labels(self, state: TrackingState, rows: NDArray[np.int64], outlook: Outlook, found: Found) -> None:
        """Play a lottery that may accept anybody for a stretch, where doubts about labels have cost more than that.

        Constraints that look at labels have wide margins as long as few are known of those who are rejected. What is
        lost by that, compared with what would be safe if labels were certain, is counted, and a part of it may be spent
        on labels of everybody.
        """
        certain = best_lottery(outlook.with_sure_labels(), self.width, found.lottery, found.ratio)
        probe, price = cheapest_probe(outlook, self.width, found.lottery)
        both = np.stack((found.lottery, certain.lottery), axis=-1)
        gain = np.maximum(np.diff(outlook.reward(outlook.mix(both)), axis=0)[0], 0.0)
        age, cost = state.age[rows], price * (state.due - state.age)[rows]
        state.exploring[rows] = found.safe & (state.purse[rows] >= cost) & (gain * age >= cost)
        state.flow[rows] = np.where(state.exploring[rows], -price, THRIFT * gain)
        state.lottery[:, rows] = np.where(state.exploring[rows], probe, state.lottery[:, rows])

    def settled(self, state: TrackingState, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """Return the threshold to keep in replicates `rows`, and whether it is safe by a third of the width in play."""
        unchanged = replace(state, curve=state.curve.copy())  # to recommend something leaves everything as it is
        outlook = self.outlook(unchanged, rows)
        found = best_threshold(outlook, self.width / 3.0, state.near[rows], reach=len(state.grid))
        return np.asarray(state.grid[found.lottery[0].astype(np.int64) - 1]), found.safe

    def search(self, state: TrackingState, rows: NDArray[np.int64], outlook: Outlook) -> Found:
        """Return the best safe threshold or lottery."""
        if self.only_thresholds:
            return best_threshold(outlook, self.width, state.near[rows], reach=max(len(state.grid) // 20, 1))
        near = np.where(state.experiments.going(rows), state.usual[:, rows], state.lottery[:, rows])
        return best_lottery(outlook, self.width, near, state.ratio[rows])


@lru_cache(maxsize=8)
def policy_of(lottery: bytes, grid: bytes, groups: int, certain: bool) -> Policy:
    """Return the policy of lotteries (3, R), or of their lower options if they are `certain`; the same while these are.

    Plans change seldom, so that what a loop works out of a policy holds for many rounds.
    """
    low, high, weight = np.frombuffer(lottery).reshape(3, -1)
    ends = np.concatenate(([-np.inf], np.frombuffer(grid), [np.inf]))
    if certain:
        return Policy.shared(ends[low.astype(np.int64)], groups).frozen()
    thresholds = ends[np.stack((low, high)).astype(np.int64)][:, :, None].repeat(groups, axis=2)
    return Policy(thresholds, np.stack((weight, 1.0 - weight))).frozen()
