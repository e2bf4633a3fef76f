"""SmoothOptimist: optimistic in reward and in feasibility, learning from one threshold about its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fairgate.core.learners.components.smooth_response import (
    ANSWER,
    LENGTH,
    PACES,
    SPREAD,
    START,
    STEEPEST,
    TYPICAL_PRECISION,
    smooth_basis,
    supposed_rates,
)
from fairgate.core.learners.smooth_optimist import GROWTH, SHORTEST
from fairgate.learners.base import Learner, arm_of, arms_of
from fairgate.learners.drift_models import DriftModels
from fairgate.learners.epochs import note
from fairgate.learners.forecast.exploration import acceptance_window
from fairgate.learners.forecast.prediction import Prediction, Value
from fairgate.learners.shapes import filled, sizes_of
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, Positive, PositiveShare, keep_whole


@dataclass
class SmoothState(State):
    """What is known of acceptance and labels, the threshold in play, and where in its epoch it is."""

    basis: Annotated[Array, "K M"]  # smooth functions over the grid
    levels: Annotated[Array, "M K"]  # takes a curve to the weights of these functions
    acceptance: DriftModels  # how acceptance depends on the features
    label_information: Annotated[Array, "R G F F"]  # and how labels do: a regression that forgets nothing
    label_evidence: Annotated[Array, "R G F"]
    average: Annotated[Array, "R G P"]  # moving averages of acceptance, one per pace
    rates: Annotated[Array, "R G K"]  # acceptance and precision as predicted last: variances go by them
    precisions: Annotated[Array, "R G K"]
    arrivals: Annotated[Array, "R G"]  # people of late
    arm: Annotated[NDArray[np.int64], "R"]  # threshold in play
    age: Annotated[NDArray[np.int64], "R"]  # rounds so far
    waited: Annotated[NDArray[np.int64], "R"]  # of this epoch
    length: Annotated[NDArray[np.int64], "R"]  # rounds of this epoch in all
    probability: Annotated[Array, "R"]  # of the uniform lottery
    resting: Annotated[NDArray[np.bool_], "R"]  # whether it is played
    look: Annotated[Array, "R"]  # age at which a threshold is tried again meanwhile
    infeasible: Annotated[NDArray[np.bool_], "R"]  # whether the evidence that no threshold is feasible is strong


@dataclass(frozen=True)
class SmoothOptimist(Learner[SmoothState]):
    r"""Search for the best feasible threshold, supposing that nearby thresholds do nearly the same.

    **What is learnt.** The acceptance rate of a group in round t, at threshold i, is supposed to be

    .. math:: a_t = f(i) + \sum_k h_k\,(m^k_t - \tfrac12) + \sum_k e_k (1 - \rho_k)^t + \text{noise}:

    a smooth curve f over the grid; answers to moving averages :math:`m^k` of acceptance, which forget at the paces
    :math:`\rho_k`; and a start that is left behind at the same paces. All coefficients have normal priors, so this is
    one linear regression per group, and every round counts from the first on: what an unsettled state adds is part of
    the errors until it is known. In the steady state of a threshold :math:`m^k = a`, so with :math:`H = \sum h_k`

    .. math:: a^*(i) = \frac{f(i) - H/2}{1 - H}, \qquad \sigma_a(i) = \frac{\sigma(f + H a^*)}{1 - H}.

    The share of positives among the accepted has a regression on the same features. Curves may
    drift: of three models with more or less of it, the one that predicts epochs best is believed, and how badly it
    does so widens all errors (`fairgate.learners.drift_models`).

    **What is played.** The problem reads reward :math:`\hat r_i` and largest residual :math:`\hat g_i` off the
    predicted steady states, with standard deviations :math:`\sigma^r, \sigma^g`. For an epoch of a twentieth of the
    age t, at most `epoch_length` rounds L, the learner plays

    .. math:: \arg\max \{\hat r_i + w\,\sigma^r_i - c_t\,\mathbb{E}\max(g_i, 0) : \hat g_i - w\,\sigma^g_i \le 0\},
              \qquad c_t = c \min(1, 20 L / t).

    The expected violation is a price: it keeps the search near what is known to be feasible. It falls once an epoch is
    a small part of the age, as what may be gained lasts longer than the epoch. If no threshold passes, the one that is
    most likely feasible is looked into. When all are infeasible by so many standard deviations that this has
    probability `risk` at most over the whole run, whose looks count once per doubling of the age, the trace
    ``infeasible`` says so. From then on everybody is accepted with one probability that meets the constraints, where
    `lottery` allows that, and a threshold is tried again whenever the age has doubled.

    Parameters
    ----------
    epoch_length
        Rounds a threshold is kept for at most.
    optimism
        Width w of the bounds.
    price
        Price c of an expected violation of 1, in units of reward.
    margin
        Standard deviations a threshold must seem feasible by to be recommended.
    risk
        Probability that the statement that no threshold is feasible may be wrong at any time, if errors are normal.
    lottery
        Whether a uniform lottery may be played and recommended where no threshold seems feasible.

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
    .. [3] West, Harrison, "Bayesian forecasting and dynamic models", chapter 12, Springer 1997.
    """

    epoch_length: int = 25
    optimism: Positive = 2.0
    price: NonNegative = 2.0
    margin: NonNegative = 0.5
    risk: PositiveShare = 0.02
    lottery: bool = True

    traces: ClassVar[tuple[str, ...]] = ("infeasible",)
    version: ClassVar[int] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_whole(self, "epoch_length", 1)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> SmoothState:
        """Start in the middle of the grid, having seen nobody."""
        arms = len(setting.thresholds)
        basis = smooth_basis(arms, LENGTH, SPREAD)
        spread = np.repeat((1.0, ANSWER, START), (basis.shape[1], len(PACES), len(PACES)))
        sizes = sizes_of(setting, common["replicates"])
        sizes |= {"M": basis.shape[1], "P": len(PACES), "F": len(spread)}
        return filled(
            SmoothState,
            sizes,
            **common,
            basis=basis,
            levels=np.linalg.pinv(basis, rcond=0.01),
            acceptance=DriftModels.of(sizes, spread),
            label_information=np.diag(spread**-2.0),
            average=0.5,
            rates=supposed_rates(arms),
            precisions=TYPICAL_PRECISION,
            arrivals=1.0,
            arm=arms // 2,
            length=min(SHORTEST, self.epoch_length),
        )

    def propose(self, state: SmoothState) -> Policy:
        """Keep the policy in play, or at the end of an epoch pick the most promising."""
        over = state.waited >= state.length
        if over.any():
            self.pick(state, over)
        return self.policy(state, state.arm, state.resting)

    def pick(self, state: SmoothState, over: NDArray[np.bool_]) -> None:
        """Begin an epoch where one is `over`."""
        prediction = self.predict(state)
        precisions = prediction.positives / np.maximum(prediction.rates, 1e-9)
        state.rates = np.where(over[:, None, None], prediction.rates, state.rates)
        state.precisions = np.where(over[:, None, None], precisions, state.precisions)
        value = prediction.value(state.problem)
        width, age = np.asarray(self.optimism), state.age
        possible = value.residual - width * value.residual_error <= 0.0
        ratio, violation = infeasibility(value)
        price = self.price * np.minimum(1.0, self.epoch_length / (GROWTH * age))
        hoped = np.where(possible, value.reward + width * value.reward_error - price * violation, -np.inf)

        looks = np.log2(2.0 + age)  # doublings of the age; the sum of 1 / n (n + 1) over all n is 1
        strong = -ndtri(np.asarray(self.risk) / (looks * (looks + 1.0)))
        waiting = state.resting & (age < state.look)  # nothing is learnt meanwhile
        infeasible = waiting | (ratio.min(axis=0) > strong)
        again = infeasible & state.infeasible & (age >= state.look)
        state.look = np.where(over & infeasible & (again | ~state.infeasible), 2.0 * age, state.look)
        least = np.where(infeasible & ~again, value.residual.argmin(axis=0), ratio.argmin(axis=0))
        state.arm = np.where(over, np.where(possible.any(axis=0), hoped.argmax(axis=0), least), state.arm)
        state.resting = np.where(over, infeasible & ~again & self.lottery, state.resting)
        state.infeasible = np.where(over, infeasible, state.infeasible)
        state.probability = np.where(over, self.chance(state, value), state.probability)
        state.length = np.where(over, self.epoch_rounds(age), state.length)
        state.waited = np.where(over, 0, state.waited)

    def epoch_rounds(self, age: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rounds of an epoch that begins at an age."""
        shortest = min(SHORTEST, self.epoch_length)
        return np.asarray(np.clip(np.ceil(GROWTH * age), shortest, self.epoch_length), dtype=np.int64)

    def policy(self, state: SmoothState, arm: NDArray[np.int64], drawn: NDArray[np.bool_]) -> Policy:
        """Return a threshold for everybody, or the uniform lottery in replicates that are `drawn`."""
        single = Policy.shared(state.grid[arm], state.groups)
        if not drawn.any():
            return single
        lottery = Policy.uniform(state.probability, state.groups)
        certain = np.array([1.0, 0.0])[:, None]
        return Policy(
            np.where(drawn[:, None], lottery.thresholds, single.thresholds), np.where(drawn, lottery.weights, certain)
        )

    def chance(self, state: SmoothState, value: Value) -> Array:
        """Return the feasible acceptance probability of the uniform lottery that earns most, (R,).

        That is the highest if accepting nearly everybody is worth something, else the lowest.
        """
        low, high = acceptance_window(state.problem, state.groups)
        return np.asarray(np.where(value.reward[0] > 0.0, high, low))

    def learn(self, state: SmoothState, played: Policy, feedback: Feedback) -> None:
        """Add the batch to the regressions, if one threshold was played for all."""
        people, accepted = feedback.observation.people, feedback.observation.accepted
        arm, known = arm_of(state.grid, played)
        features = features_of(state.basis[arm], state.average, state.age)
        begins = state.waited == 0
        if begins.any():
            shift = np.zeros_like(features)  # all odds of acceptance drift alike
            shift[..., : len(state.levels)] = (4.0 * state.rates * (1.0 - state.rates)) @ state.levels.T
            state.acceptance.begin(begins, features, shift, np.where(state.resting, 0, state.length))
        predicted = np.clip(state.rates[np.arange(state.replicates), :, arm], 0.02, 0.98)
        weight = known[:, None] * people / (predicted * (1.0 - predicted))
        rate = accepted / np.maximum(people, 1.0)
        state.acceptance.add(features, weight, rate - supposed_rates(len(state.grid))[arm][:, None])
        note(state, feedback.round, (state.average, state.age))
        self.credit(state, feedback, feedback.credited(played))
        state.average = state.average + (people > 0)[..., None] * PACES * (rate[..., None] - state.average)
        state.arrivals += people - PACES[-1] * state.arrivals
        state.age = state.age + 1
        state.waited += 1
        ends = state.waited >= state.length
        if ends.any():
            state.acceptance.end(ends)

    def credit(self, state: SmoothState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Add labels to their regression, with the features of the round in which these people were accepted."""
        noted = list(state.noted(credited))
        if not noted:
            return
        arms, known = arms_of(state.grid, [each for each, _ in noted])
        average, age = (np.stack(each) for each in zip(*(what for _, what in noted), strict=True))
        labels = np.stack([each.labels for each, _ in noted])
        count = labels.sum(axis=-1) * known[..., None]
        predicted = np.clip(state.precisions[np.arange(state.replicates), :, arms], 0.05, 0.95)
        value = labels[..., 1] / np.maximum(count, 1.0) - TYPICAL_PRECISION
        features = np.moveaxis(features_of(state.basis[arms], average, age), 0, -2)
        weighted = (features * np.moveaxis(count / (predicted * (1.0 - predicted)), 0, -1)[..., None]).swapaxes(-1, -2)
        state.label_information += weighted @ features
        state.label_evidence += (weighted @ np.moveaxis(value, 0, -1)[..., None])[..., 0]

    def recommend(self, state: SmoothState) -> Policy:
        """Return the best threshold that seems feasible by `margin` standard deviations, else the least violating.

        Where none seems possible, that is the uniform lottery if it is allowed.
        """
        value = self.value(state)
        arm, _ = value.best(np.asarray(self.margin))
        hopeless = self.lottery & (value.residual > np.asarray(self.optimism) * value.residual_error).all(axis=0)
        return self.policy(state, arm, np.asarray(hopeless))

    def value(self, state: SmoothState) -> Value:
        """Return reward and largest residual of every threshold, in its steady state."""
        return self.predict(state).value(state.problem)

    def predict(self, state: SmoothState) -> Prediction:
        """Return acceptance and positives of every threshold, in its steady state."""
        arms, smooth = state.basis.shape
        used = slice(smooth + len(PACES))  # what lasts
        means, covariance = state.acceptance.solved()
        slope = np.clip(means[..., smooth : used.stop].sum(axis=-1), *STEEPEST)[..., None]
        curve = supposed_rates(arms) + means[..., :smooth] @ state.basis.T
        rates = np.clip((curve - 0.5 * slope) / (1.0 - slope), 0.0, 1.0)
        settled = np.concatenate(
            (
                np.broadcast_to(state.basis, (*rates.shape, smooth)),
                np.repeat(rates[..., None] - 0.5, len(PACES), axis=-1),
            ),
            axis=-1,
        )
        variance = ((settled @ covariance[..., used, used]) * settled).sum(axis=-1) / (1.0 - slope) ** 2

        spread = np.linalg.inv(state.label_information)
        precision = TYPICAL_PRECISION + (settled @ (spread @ state.label_evidence[..., None])[..., used, :])[..., 0]
        positives = rates * np.clip(precision, 0.0, 1.0)
        label_variance = ((settled @ spread[..., used, used]) * settled).sum(axis=-1)

        shares = state.arrivals / state.arrivals.sum(axis=1, keepdims=True)
        error, label_error = (np.sqrt(np.maximum(each, 1e-12)) for each in (variance, label_variance))
        return Prediction(shares, rates, positives, positives, error, rates * label_error)


def features_of(curve: Array, average: Array, age: NDArray[np.int64]) -> Array:
    """Return the features (…, G, F): smooth functions (…, M) at a threshold, averages (…, G, P), start by age (…)."""
    groups = average.shape[:-1]
    start = (1.0 - PACES) ** age[..., None]
    wide = (np.broadcast_to(each[..., None, :], (*groups, each.shape[-1])) for each in (curve, start))
    return np.concatenate((next(wide), average - 0.5, next(wide)), axis=-1)


def infeasibility(value: Value) -> tuple[Array, Array]:
    """Return each residual in standard errors, and the violation E max(g, 0) to be expected, (K, R) each.

    >>> ratio, violation = infeasibility(Value(*np.array([[[0.0]], [[0.0]], [[1.0]], [[0.1]]])))
    >>> ratio.item(), round(violation.item(), 4)
    (0.0, 0.0399)
    """
    error = np.maximum(value.residual_error, 1e-9)
    ratio = value.residual / error
    density = np.exp(-0.5 * ratio**2) / np.sqrt(2.0 * np.pi)
    return ratio, error * (density + ratio * ndtr(ratio))
