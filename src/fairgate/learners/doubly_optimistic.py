"""DoublyOptimistic: optimistic in reward and in feasibility, with bounds that hold at every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.confidence import Box, Sums, add_batch, box, mean_bounds
from fairgate.core.learners.components.evidence import by_means
from fairgate.core.learners.doubly_optimistic import EXACT
from fairgate.counts import Counts, across_groups
from fairgate.learners.base import Learner, arm_of, arms_of
from fairgate.learners.epochs import Rounds, check_epoch, note, of
from fairgate.learners.shapes import fresh
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback, Utility, best_feasible
from fairgate.setting import Setting
from fairgate.settings import Array, Between, NonNegative, Number

Rows = NDArray[np.int64]


@dataclass
class OptimisticState(State):
    """What is known of each threshold of the grid, an arm, and where each replicate is in its visit."""

    arm: Annotated[Rows, "R"]  # played in this visit
    age: Annotated[Rows, "R"]  # rounds of this visit so far
    length: Annotated[Rows, "R"]  # rounds it lasts
    visits: Annotated[Rows, "R K"]  # finished
    people: Annotated[Array, "R K G"]  # of the rounds learnt from
    accepted: Annotated[Array, "R K G"]
    rewards: Annotated[Array, "3 R K"]  # what `confidence.Sums` holds, of rewards
    means: Array  # the same of the residuals that no counts of decisions bound, (3, O, R, K)
    lower: Annotated[Array, "R K"]  # bounds of the reward, as of the end of the arm's last visit
    upper: Annotated[Array, "R K"]
    worst: Annotated[Array, "R K"]  # lower bound of the largest residual, as of then
    infeasible: Annotated[Rows, "R"]  # 1 where the bounds say that no threshold is feasible, else 0


@dataclass(frozen=True)
class DoublyOptimistic(Learner[OptimisticState]):
    r"""Play the threshold that could earn most among those that could be feasible [1]_ [2]_.

    A threshold is tried until it is known to be worse or to break a constraint, and no longer. With an upper bound
    :math:`U_i` of the reward and lower bounds :math:`L_{ij}` of the residuals of threshold i,

    .. math:: v_i = \max_j L_{ij}, \qquad s = \max(0, \min_i v_i), \qquad i_t = \arg\max_{i : v_i \le s} U_i.

    A threshold never played has U = ∞ and L = −∞. Ties go to the fewest visits and then to the lowest threshold, so the
    first visits go up the grid and the state follows by small steps. If s > 0, no threshold of the grid is feasible
    (with probability :math:`1 - \delta`, if the bounds hold), which the trace `infeasible` says, and the one whose
    residuals could be lowest is played. Visit v to a threshold lasts :math:`epoch \cdot 2^{v-1}` rounds, so that the
    state each of them starts with is outweighed by what follows.

    All counts of a threshold are pooled, since mean batch gaps are biased upwards. :func:`~fairgate.confidence.box`
    bounds its acceptance rates, a constraint's `lowest` its residuals in that box, and
    :func:`~fairgate.confidence.mean_bounds` its reward per person, at all rounds together: each of K thresholds and m
    signals gets :math:`\delta / (K m)`. A user's own constraint that is not `bounded` is judged by the mean of its
    batch residuals, which must lie in [−1, 1]; so is a user's own reward.

    The bounds are made for rates that stay as they are: they are certificates where the state has settled after
    `burn_in`, and no more than evidence where it has not. ``docs/theory.md`` proves how much is lost on the way at most
    with wider bounds, which no setting here gives, and shows how often these miss without a `bias`.

    Parameters
    ----------
    delta
        Probability :math:`\delta` that any bound ever misses.
    epoch_length
        Rounds of the first visit to a threshold; each further visit lasts twice as long.
    burn_in
        Rounds at the start of a visit that are not learnt from.
    bias
        Sum B over a visit of how far rates and rewards can be from those of the long run.

    Examples
    --------
    >>> import fairgate as fg
    >>> learner = fg.learners.DoublyOptimistic()
    >>> run = fg.simulate(fg.load_task("interior"), learner, rounds=3000, seeds=5)
    >>> run.settled().single[:, 0].round(2)      # the oracle is at 0.1
    array([0.1, 0.1, 0.1, 0.1, 0.1])
    >>> bool(run.traces["infeasible"].any())
    False
    >>> run = fg.simulate(fg.load_task("mean-shift"), learner, rounds=3000, seeds=5)
    >>> run.traces["infeasible"][:, -1]   # no threshold is feasible, and it is found out
    array([1., 1., 1., 1., 1.])

    References
    ----------
    .. [1] Chen, Gangrade, Saligrama, "Strategies for safe multi-armed bandits with logarithmic regret and risk", ICML
       2022.
    .. [2] Xu, Jiang, Svetozarevic, Jones, "Constrained efficient global optimization of expensive black-box functions",
       ICML 2023.
    """

    delta: Annotated[Number, Between(0.0, 1.0, open_low=True, open_high=True)] = 0.05
    epoch_length: Rounds = 4
    burn_in: Rounds = 2
    bias: NonNegative = 0.0

    traces: ClassVar[tuple[str, ...]] = ("infeasible",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_epoch(self, self.epoch_length, self.burn_in)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> OptimisticState:
        """Start with nothing known."""
        means = np.zeros((3, len(by_means(setting.problem)), common["replicates"], len(setting.thresholds)))
        bounds = {"lower": -np.inf, "upper": np.inf, "worst": -np.inf}
        return fresh(OptimisticState, setting, common, length=1, means=means, **bounds)

    def choose(self, state: OptimisticState) -> Array:
        """Go on with a visit, or begin the next."""
        rows = np.flatnonzero(state.age == 0)
        if rows.size:
            worst = state.worst[rows]
            level = np.maximum(worst.min(axis=1), 0.0)
            could_earn = np.where(worst <= level[:, None] + EXACT, state.upper[rows], -np.inf)
            tied = could_earn == could_earn.max(axis=1, keepdims=True)
            visits = state.visits[rows]
            arm = np.where(tied, visits, np.iinfo(np.int64).max).argmin(axis=1)
            state.arm[rows] = arm
            state.infeasible[rows] = level > EXACT
            doubled = np.minimum(visits[np.arange(len(rows)), arm], 40)  # longer than any run
            state.length[rows] = of(self.epoch_length, rows).astype(np.int64) << doubled
        return state.grid[state.arm]

    def learn(self, state: OptimisticState, played: Policy, feedback: Feedback) -> None:
        """Pool the round's counts, and bound what a visit that ends has shown."""
        arm, known = arm_of(state.grid, played)
        strange = ~known | (arm != state.arm)
        state.age[strange] = -1  # something else was played: the visit begins again
        kept = np.flatnonzero((state.age >= np.asarray(self.burn_in)) & ~strange)
        if kept.size:
            pool(state, kept, feedback)
        note(state, feedback.round, kept)
        self.credit(state, feedback, feedback.credited(played))
        state.age += 1
        over = np.flatnonzero(state.age >= state.length)
        if over.size:
            state.age[over] = 0
            place = over, state.arm[over]
            state.visits[place] += 1
            state.lower[place], state.upper[place], state.worst[place] = self.bounds(state, over)

    def credit(self, state: OptimisticState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Pool rewards for the threshold that accepted these people."""
        utility = state.problem.utility
        noted = [(each, rows) for each, rows in state.noted(credited) if rows.size]
        arms, _ = arms_of(state.grid, [each for each, _ in noted])
        for (each, rows), arm in zip(noted, arms, strict=True):
            place = rows, arm[rows]
            reward, share = each.reward[rows], each.share[rows]
            batch = share * reward, share * reward**2, share
            if isinstance(utility, Utility):
                bad, good = (across_groups(np.add, each.labels[..., label])[rows] for label in (0, 1))
                cost = of(utility.false_positive_cost, rows)
                batch = good - cost * bad, good + cost**2 * bad, each.people[rows]
            state.rewards[:, *place] = add_batch(Sums(*state.rewards[:, *place]), *batch)

    def bounds(self, state: OptimisticState, rows: Rows) -> tuple[Array, Array, Array]:
        """Return lower and upper bound of the reward of the arms played, and the lower one of the largest residual."""
        problem, place = state.problem.rows(rows), (rows, state.arm[rows])
        alpha = np.broadcast_to(of(self.delta, rows) / (len(state.grid) * (2 + state.means.shape[1])), len(rows))
        visits = state.visits[place].astype(np.float64)
        kept = of(self.epoch_length, rows) * (2.0**visits - 1.0) - of(self.burn_in, rows) * visits
        wider = of(self.bias, rows) * visits / np.maximum(kept, 1.0)
        utility = problem.utility
        worst_reward = -np.asarray(utility.false_positive_cost if isinstance(utility, Utility) else 1.0)
        lower, upper = mean_bounds(Sums(*state.rewards[:, *place]), worst_reward, 1.0, alpha)
        known = widened(box(state.accepted[place], state.people[place], alpha), wider)
        worst = np.full(len(rows), -np.inf)
        for constraint in problem.constraints:
            if constraint.bounded:
                worst = np.maximum(worst, np.max(constraint.lowest(known), axis=0))
        if state.means.shape[1]:
            least = mean_bounds(Sums(*state.means[:, :, *place]), -1.0, 1.0, alpha)[0] - wider
            worst = np.maximum(worst, least.max(axis=0))
        return lower - wider, upper + wider, worst

    def recommend(self, state: OptimisticState) -> Policy:
        """Keep the best threshold by the lower bound of its reward among those whose pooled residuals are met."""
        best = best_feasible(state.lower, pooled_residuals(state), state.visits > 0)
        return Policy.shared(state.grid[best], state.groups)


def widened(known: Box, by: Array) -> Box:
    """Return the box with all bounds moved outwards, but not beyond 0 and 1."""
    return Box(
        np.maximum(known.rates_low - by[:, None], 0.0),
        np.minimum(known.rates_high + by[:, None], 1.0),
        np.maximum(known.overall_low - by, 0.0),
        np.minimum(known.overall_high + by, 1.0),
    )


def pool(state: OptimisticState, rows: Rows, feedback: Feedback) -> None:
    """Add a round's counts, and residuals that no counts of decisions bound, to the arms these replicates play."""
    seen, place = feedback.observation, (rows, state.arm[rows])
    state.people[place] += seen.people[rows]
    state.accepted[place] += seen.accepted[rows]
    if state.means.shape[1]:
        values, ones = feedback.residuals[by_means(state.problem)][:, rows], np.ones(len(rows))
        state.means[:, :, *place] = add_batch(Sums(*state.means[:, :, *place]), values, values**2, ones)


def pooled_residuals(state: OptimisticState) -> Array:
    """Return the residuals (J, R, K) of each arm's pooled counts, or means of batches; those never played have any."""
    people = np.where(state.people.sum(axis=-1, keepdims=True) > 0, state.people, 1.0).swapaxes(0, 1)
    counts = Counts.of_decisions(people, state.accepted.swapaxes(0, 1))  # (K, R, G, 2, 2)
    total, _, count = state.means
    means = iter(total / np.maximum(count, 1.0))
    residuals: list[Array] = []
    for constraint in state.problem.constraints:
        if constraint.bounded:
            residuals.extend(np.transpose(residual) for residual in constraint.residuals(counts))
        else:
            residuals.extend(next(means) for _ in constraint.names)
    return np.array(residuals).reshape(-1, *state.visits.shape)
