"""OFS: Optimistic Feasible Search, the paper's Algorithm 1 to the letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.base import Learner, arm_of, arms_of
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, Between, Positive, Share

LEAST = np.finfo(np.float64).tiny
"""What plays are divided by where there are none yet."""


@dataclass
class OFSState(State):
    """What is known of each threshold of the grid.

    Attributes
    ----------
    plays, credited
        Plays of each threshold, and as many of them as its arrived labels stand for, (R, K).
    rewards, residuals
        Mean rewards (R, K), and mean residuals (J, R, K).
    feasible
        How many thresholds seem feasible, (R,).
    """

    plays: NDArray[np.int64]
    credited: Array
    rewards: Array
    residuals: Array
    feasible: NDArray[np.int64]


@dataclass(frozen=True)
class OFS(Learner[OFSState]):
    r"""Search a grid for the best threshold that seems feasible; if none does, play the least violating.

    With :math:`n_i` plays of threshold i so far and the radius

    .. math:: b_i(t) = \sqrt{c \log((t+1) K / \delta) / \max(1, n_i)},

    the feasible set is :math:`F_t = \{i : \hat g_{ij} + b_i(t) \le 0 \ \forall j\}`. With probability
    `exploration` play any threshold; else, if :math:`F_t` is not empty, the one in it with the largest
    :math:`\hat r_i + b_i(t)`; else the one with the smallest :math:`\sum_j \max(\hat g_{ij} + b_i(t), 0)`.
    Estimates start at 0; ties go to the lowest index.

    Adding the radius to a residual makes the test of feasibility a pessimistic one, whatever the rule's
    name: the findings of ``fairgate reproduce`` show what follows from that.

    Parameters
    ----------
    c
        Width of the radius.
    delta
        Confidence :math:`\delta`.
    exploration
        Probability of playing a threshold at random.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("german"), fg.OFS(), rounds=300, seeds=5)
    >>> float((run.traces["feasible"] == 0).mean())     # share of rounds in which F_t is empty
    1.0

    References
    ----------
    .. [1] Du, "Optimistic Feasible Search for Closed-Loop Fair Threshold Decision-Making", arXiv 2512.22313, 2025.
    """

    c: Positive = 0.5
    delta: Annotated[float, Between(0.0, 1.0, open_low=True, open_high=True)] = 0.05
    exploration: Share = 0.03

    traces: ClassVar[tuple[str, ...]] = ("feasible",)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> OFSState:
        """Start with no plays and all estimates 0."""
        shape = (common["replicates"], len(setting.thresholds))
        return OFSState(
            **common,
            plays=np.zeros(shape, dtype=np.int64),
            credited=np.zeros(shape),
            rewards=np.zeros(shape),
            residuals=np.zeros((len(setting.problem.names), *shape)),
            feasible=np.zeros(shape[0], dtype=np.int64),
        )

    def choose(self, state: OFSState) -> Array:
        """Pick a threshold for each replicate (lines 4 to 8 of Algorithm 1)."""
        t, arms = state.rounds + 1, len(state.grid)
        width = by_replicate(self.c) * np.log((t + 1) * arms / by_replicate(self.delta))
        radius = radii(width, state.plays, state.rounds)
        upper, excess = state.residuals + radius, np.zeros(radius.shape)
        for part in np.maximum(upper, excess, out=upper):  # twice as fast as against a plain 0
            excess += part
        chosen = excess.argmin(axis=1)
        state.feasible = np.zeros(state.replicates, dtype=np.int64)
        if np.minimum.reduce(excess, axis=None) <= 0.0:  # somewhere F_t is not empty
            feasible = excess <= 0.0  # exactly where ĝ + b ≤ 0 for all j
            state.feasible = np.count_nonzero(feasible, axis=1)
            optimistic = np.where(feasible, state.rewards + radius, -np.inf)
            chosen = np.where(state.feasible > 0, optimistic.argmax(axis=1), chosen)
        explore = state.rng.random(state.replicates) < by_replicate(self.exploration)
        anywhere = state.rng.integers(arms, size=state.replicates)
        return state.grid[np.where(explore, anywhere, chosen)]

    def learn(self, state: OFSState, played: Policy, feedback: Feedback) -> None:
        """Update the played threshold's count and means (line 10)."""
        rows, place = places(state, played)
        plays = state.plays.ravel()[place] + 1
        state.plays.ravel()[place] = plays
        residuals = state.residuals.ravel()
        each = place + np.arange(0, residuals.size, state.plays.size)[:, None]
        mean = residuals[each]
        residuals[each] = mean + (feedback.residuals[:, rows] - mean) / plays
        if feedback.credits is not None:
            self.credit(state, feedback, feedback.credits)
            return
        rewards, total = state.rewards.ravel(), state.credited.ravel()  # all labels are known: credit without a detour
        known, mean = total[place] + 1.0, rewards[place]
        total[place], rewards[place] = known, mean + (feedback.reward[rows] - mean) / known

    def credit(self, state: OFSState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Update the mean rewards of the thresholds that accepted the people whose labels arrived."""
        arms, known = arms_of(state.grid, credited)
        if not arms.size:
            return
        rewards, total = state.rewards.ravel(), state.credited.ravel()
        place = (np.arange(0, total.size, len(state.grid)) + arms)[known]
        share, reward = (np.stack([getattr(each, name) for each in credited])[known] for name in ("share", "reward"))
        added, earned = (np.bincount(place, each, total.size) for each in (share, share * reward))  # all at once
        total += added
        rewards += (earned - added * rewards) / np.maximum(total, LEAST)


def by_replicate(value: Any) -> Any:
    """Return a setting to reckon with: a plain number as it is, which is fastest, or an array of one per replicate."""
    return value if isinstance(value, float) else np.asarray(value)


def radii(width: Array, plays: NDArray[Any], rounds: int) -> Array:
    """Return √(width / max(1, plays)), (R, K), of up to so many plays; `width` is (R,), or () if all have the same.

    >>> radii(np.array(4.0), np.array([[0, 1, 4]]), rounds=4)
    array([[2., 2., 1.]])
    """
    if np.ndim(width) or rounds > plays.size:
        return np.asarray(np.sqrt(np.asarray(width)[..., None] / np.maximum(1, plays)))
    table = np.arange(rounds + 1.0)  # by the number of plays: fewer roots than there are thresholds
    table[0] = 1.0
    np.sqrt(np.divide(width, table, out=table), out=table)
    return table.take(plays.astype(np.intp, copy=False))


def places(state: OFSState, played: Policy) -> tuple[Any, NDArray[np.int64]]:
    """Return the replicates that played a threshold of the grid, and its place in a flattened (R, K)."""
    arm, known = arm_of(state.grid, played)
    place = arm + np.arange(0, state.plays.size, len(state.grid))
    if np.count_nonzero(known) == len(known):
        return slice(None), place
    rows = np.flatnonzero(known)
    return rows, place[rows]
