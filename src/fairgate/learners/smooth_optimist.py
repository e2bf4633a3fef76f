"""SmoothOptimist: optimistic in reward and in feasibility, learning from one threshold about its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.learners.base import Learner, arm_of, arms_of
from fairgate.learners.epochs import note
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.gaussian_process import posterior
from fairgate.learners.shapes import fresh
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, Positive, PositiveShare, keep_whole

TYPICAL_PRECISION = 0.6
"""Share of positives among the accepted that is supposed before anybody has been seen."""


@dataclass
class SmoothState(State):
    """Counts of each threshold's settled rounds, the threshold in play, and where in its epoch it is."""

    people: Annotated[Array, "R G K"]  # in settled rounds, as the next three
    accepted: Annotated[Array, "R G K"]
    labelled: Annotated[Array, "R G K"]  # accepted whose label is known
    positives: Annotated[Array, "R G K"]
    arrivals: Annotated[Array, "R G"]  # people in all rounds
    arm: Annotated[NDArray[np.int64], "R"]  # threshold in play
    moved: Annotated[NDArray[np.bool_], "R"]  # whether it is a new one
    waited: Annotated[NDArray[np.int64], "R"]  # its rounds so far
    infeasible: Annotated[NDArray[np.bool_], "R"]  # whether the evidence that no threshold is feasible is strong


@dataclass(frozen=True)
class SmoothOptimist(Learner[SmoothState]):
    r"""Search for the best feasible threshold, supposing that nearby thresholds do nearly the same.

    Acceptance and accepted positives of each group, at the steady state of a threshold, are smooth functions of the
    threshold. Both get a Gaussian process prior over the grid: a straight line from accepting all to accepting
    nobody, standard deviation `spread`, correlation :math:`\exp(-d^2 / 2\ell^2)` at distance d. What has been
    counted while a threshold was played, :math:`N_i` people of a group, is an observation with variance
    :math:`2\,p(1-p)/N_i`, twice the binomial one because the state fluctuates too. The problem reads reward
    :math:`\hat r_i` and largest residual :math:`\hat g_i` off the posterior means; with their standard deviations

    .. math:: i_t = \arg\max \{\hat r_i + w\,\sigma^r_i : \hat g_i - w\,\sigma^g_i \le 0\}.

    A threshold is kept for `epoch_length` rounds; after a change the first `burn_in` are not counted, so that the
    state can settle. If that set is empty, the smallest :math:`\hat g_i - 3 \sigma^g_i` is looked into; once all are
    above 0, the evidence that no threshold is feasible is strong, and the trace ``infeasible`` says so.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds a threshold is kept for, and rounds after a change that are not counted.
    optimism
        Width w of the bounds.
    margin
        Standard deviations a threshold must seem feasible by to be recommended.
    length
        Correlation length :math:`\ell`, as a share of the grid.
    spread
        Prior standard deviation.

    Examples
    --------
    >>> import fairgate as fg
    >>> task = fg.load_task("interior")
    >>> run = fg.simulate(task, fg.SmoothOptimist(), rounds=1500, seeds=3)
    >>> run.settled().single[:, 0], fg.oracle(task).best.threshold
    (array([0.1, 0.1, 0.1]), 0.1...)

    References
    ----------
    .. [1] Xu, Jiang, Svetozarevic, Jones, "CONFIG: Constrained efficient global optimization for closed-loop control
       system optimization with unmodeled constraints", IFAC World Congress 2023.
    .. [2] Chen, Gangrade, Saligrama, "Doubly-optimistic play for safe linear bandits and beyond", 2022.
    """

    epoch_length: int = 50
    burn_in: int = 20
    optimism: Positive = 2.0
    margin: NonNegative = 0.5
    length: Positive = 0.125
    spread: PositiveShare = 0.3

    traces: ClassVar[tuple[str, ...]] = ("infeasible",)
    version: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("epoch_length", 1), ("burn_in", 0)):
            keep_whole(self, name, least)
        if self.burn_in >= self.epoch_length:
            raise InputError(
                f"SmoothOptimist: burn_in must be below epoch_length, {self.epoch_length}, or nothing is counted, "
                f"got {self.burn_in}"
            )

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> SmoothState:
        """Start in the middle of the grid, having counted nobody."""
        middle = len(setting.thresholds) // 2
        return fresh(SmoothState, setting, common, arrivals=1.0, arm=middle, moved=True)

    def choose(self, state: SmoothState) -> Array:
        """Keep the threshold in play, or at the end of an epoch pick the most promising."""
        over = state.waited == self.epoch_length
        if over.any():
            value = self.value(state)
            width = np.asarray(self.optimism)
            possible = value.residual - width * value.residual_error <= 0.0
            hoped = np.where(possible, value.reward + width * value.reward_error, -np.inf).argmax(axis=0)
            lowest = value.lowest_residual()
            arm = np.where(over, np.where(possible.any(axis=0), hoped, lowest.argmin(axis=0)), state.arm)
            state.infeasible = np.where(over, lowest.min(axis=0) > 0.0, state.infeasible)
            state.moved = np.where(over, arm != state.arm, state.moved)
            state.arm, state.waited = arm, np.where(over, 0, state.waited)
        return state.grid[state.arm]

    def learn(self, state: SmoothState, played: Policy, feedback: Feedback) -> None:
        """Count the batch for the threshold that was played, unless the state has yet to settle."""
        state.arrivals += feedback.observation.people
        arm, known = arm_of(state.grid, played)
        as_proposed = known & (arm == state.arm)
        counted = as_proposed & (~state.moved | (state.waited >= self.burn_in))
        rows = np.arange(state.replicates)
        state.people[rows, :, arm] += counted[:, None] * feedback.observation.people
        state.accepted[rows, :, arm] += counted[:, None] * feedback.observation.accepted
        note(state, feedback.round, counted)
        self.credit(state, feedback, feedback.credited(played))
        state.moved = state.moved | ~as_proposed
        state.waited += 1

    def credit(self, state: SmoothState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Count labels for the threshold that accepted these people."""
        noted = list(state.noted(credited))
        arms, known = arms_of(state.grid, [each for each, _ in noted])
        if not arms.size:
            return
        batch, row = np.nonzero(known & np.stack([counted for _, counted in noted]))
        place, size = row * len(state.grid) + arms[batch, row], arms.shape[1] * len(state.grid)
        for group in range(state.groups):
            labels = np.stack([each.labels[:, group] for each, _ in noted])[batch, row]
            bad, good = (
                np.bincount(place, each, size).reshape(-1, len(state.grid)) for each in labels.T
            )  # all at once
            state.labelled[:, group] += bad + good
            state.positives[:, group] += good

    def recommend(self, state: SmoothState) -> Policy:
        """Return the best threshold that seems feasible by `margin` standard deviations, else the least violating."""
        arm, _ = self.value(state).best(np.asarray(self.margin))
        return Policy.shared(state.grid[arm], state.groups)

    def value(self, state: SmoothState) -> Value:
        """Return the posterior of every threshold's reward and largest residual."""
        arms, people = len(state.grid), state.people
        steps = np.arange(arms) / max(arms - 1, 1)
        apart = (steps[:, None] - steps) / np.asarray(self.length)[..., None, None, None]
        kernel = np.asarray(self.spread)[..., None, None, None] ** 2 * (np.exp(-0.5 * apart**2) + 1e-5 * np.eye(arms))
        share = (state.accepted + 1.0) / (people + 2.0)
        noise = np.where(people > 0.0, 2.0 * share * (1.0 - share) / np.maximum(people, 1e-9), 1e6)

        line = np.linspace(0.98, 0.02, arms) if arms > 1 else np.full(1, 0.5)
        prior = np.stack((line, TYPICAL_PRECISION * line), axis=-1)
        each = state.accepted / np.maximum(state.labelled, 1.0)  # people per known label; 1 if none is late
        unknown = TYPICAL_PRECISION * state.accepted
        positives = np.where(state.labelled > 0, state.positives * each, unknown)
        seen = np.stack((state.accepted, positives), axis=-1) / np.maximum(people, 1e-9)[..., None]
        surprise = np.where(people[..., None] > 0.0, seen - prior, 0.0)
        shift, variance = posterior(kernel, noise, surprise)
        mean = prior + shift

        rates = np.clip(mean[..., 0], 0.0, 1.0)
        positives = np.clip(mean[..., 1], 0.0, rates)
        shares = state.arrivals / state.arrivals.sum(axis=1, keepdims=True)
        error = np.sqrt(np.maximum(variance, 1e-12))
        return Prediction(shares, rates, positives, positives, error, error).value(state.problem)
