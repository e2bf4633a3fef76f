"""PerformativeGradient: gradient ascent on a model of the people whom thresholds bring about (Izzo et al. 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.baselines.centre import side_of
from fairgate.learners.baselines.location_scale_model import LocationScaleModel, between
from fairgate.learners.epochs import Epochs, EpochState, Rounds
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.problem import Feedback, is_feasible
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, Positive, PositiveShare, Share


@dataclass
class PerformativeState(EpochState):
    """The search of each replicate, what the present epoch showed by score bin, and the model."""

    centre: Annotated[Array, "R"]  # where in the grid's interval it is, from 0 to 1
    sign: Annotated[Array, "R"]  # side played first in this pair
    scores: Annotated[Array, "R G K+1"]
    labels: Annotated[Array, "R G K+1 2"]
    model: LocationScaleModel


@dataclass(frozen=True)
class PerformativeGradient(Epochs[PerformativeState]):
    r"""Estimate how scores follow the threshold, and ascend the reward that counts this in.

    The reward of a threshold has two derivatives: of the decisions on the people who come, and of the people who come.
    Retraining follows the first alone. Performative gradient descent (PerfGD [1]_) adds the second: it assumes a
    parametric family, estimates its parameters under every deployed decision and how they change with it by least
    squares over the last few decisions, and steps along the sum. The two-stage method [2]_ models the map from
    decisions to people first, for location families, and plugs the estimate into the risk. Here the family is
    :class:`LocationScaleModel`: each group's mean and spread are lines in the threshold, fitted to epochs a little
    above and below a centre x, and what threshold :math:`\theta` does to the people whom it brings about is read off
    the common shape at :math:`(\theta - m(\theta)) / \sigma(\theta)`. With the grid's interval as [0, 1] and
    :math:`\hat r` and :math:`\hat g` the model's reward and largest residual, after pair k of epochs

    .. math:: x \leftarrow x + \Big[\Pi\Big(x + \Big[\eta \,
              \frac{\hat r(x + \delta_k) - \hat r(x - \delta_k)}{2 \delta_k}\Big]_{\pm \rho}\Big) - x\Big]_{\pm \rho},

    where :math:`\Pi` goes to the nearest threshold of the grid with :math:`\hat g + z \hat\sigma \le 0` unless the
    nearest one is such, or to that of the least :math:`\hat g + z \hat\sigma` if there is none.

    *What is adapted.* In what was seen of them, neither has constraints: :math:`\Pi` projects to the estimated feasible
    set. Nor have they people who respond slowly: a decision is deployed for an epoch, whose beginning is not learnt
    from. Decisions are perturbed by :math:`\delta_k = \delta k^{-1/4}` around the centre, since steps alone may be too
    small to tell a response by; the sum of squares, by which a regression knows it, still grows as :math:`\sqrt k`.
    Earlier epochs are discounted, in place of a window of four. Both derivatives are read off the model together, where
    [1]_ estimates the second by the score function. The step size is constant, 0.1, as in the authors' code; steps are
    at most :math:`\rho` long, since a line is trusted only near where it was fitted. Late labels are taken for those of
    people who come now.

    Tuned are `epoch_length` from 10 to 40 with half of it `burn_in`, `step` from 0.03 to 1, `radius` from 0.03 to 0.1,
    `discount` from 0.95 to 1 and `width` from 0 to 2.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.
    step
        Step size :math:`\eta`, as a share of the grid's interval.
    radius
        First distance :math:`\delta` from the centre, as a share of the grid's interval.
    trust
        Longest step :math:`\rho`, as a share of the grid's interval.
    discount
        What an epoch leaves of the weight of earlier ones.
    width
        Confidence width z by which a threshold must be feasible, in standard errors of its rates.
    start_at
        Where in the grid's interval the centre starts.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("retraining-diverges"), fg.learners.PerformativeGradient(), rounds=1000, seeds=3)
    >>> run.final.single[:, 0].round(1)                     # the best is -0.3; repeated retraining ends at 2
    array([-0.3, -0.2, -0.2])

    References
    ----------
    .. [1] Izzo, Ying, Zou, "How to learn when data reacts to your model: performative gradient descent", ICML 2021.
    .. [2] Miller, Perdomo, Zrnic, "Outside the echo chamber: optimizing the performative risk", ICML 2021.
    """

    epoch_length: Rounds = 20
    burn_in: Rounds = 10
    step: Positive = 0.1
    radius: Positive = 0.05
    trust: Positive = 0.1
    discount: PositiveShare = 0.98
    width: NonNegative = 1.0
    start_at: Share = 0.5

    level: ClassVar[str] = "selective-labels"
    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> PerformativeState:
        """Start at `start_at`, having seen nobody."""
        return fresh(PerformativeState, setting, common, centre=self.start_at, sign=1.0)

    def places(self, state: PerformativeState) -> Array:
        """Return where the grid's thresholds lie in its interval, (K,)."""
        width = state.grid[-1] - state.grid[0]
        return np.asarray((state.grid - state.grid[0]) / (width if width > 0 else 1.0))

    def reach(self, state: PerformativeState) -> Array:
        """Distance δ_k from the centre that is played in this pair, (R,)."""
        return np.asarray(np.asarray(self.radius) * (state.epochs // 2 + 1.0) ** -0.25)

    def pick(self, state: PerformativeState, fresh: NDArray[np.bool_]) -> Array:
        """Play the threshold nearest to one side of the centre, drawn at random, and then to the other."""
        opening = state.epochs % 2 == 0
        at = state.centre + side_of(state, fresh, opening) * self.reach(state)
        return np.asarray(state.grid[nearest(self.places(state), at)])

    def learn(self, state: PerformativeState, played: Policy, feedback: Feedback) -> None:
        """Add the round to its epoch by score bin as well."""
        ours = (played.single == state.current[:, None]).all(axis=1)
        counted = ours & (state.age >= self.settling(state))
        scores, labels = feedback.observation.binned
        state.scores += counted[:, None, None] * scores
        state.labels += counted[:, None, None, None] * labels
        super().learn(state, played, feedback)
        begun = state.age == 0
        state.scores[begun], state.labels[begun] = 0.0, 0.0

    def digest(self, state: PerformativeState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Add the epoch to the model; after the second of a pair, move the centre."""
        state.model.fade(np.asarray(self.discount), over)
        state.model.add(state.grid, state.current, state.scores, state.labels, over)
        closing = over & (state.epochs % 2 == 1)
        if closing.any():
            state.centre = np.where(closing, self.moved(state), state.centre)

    def moved(self, state: PerformativeState) -> Array:
        """Return where the model's gradient and feasible set lead the centre, (R,)."""
        value = state.model.predict(state.grid).value(state.problem)
        places, reach, trust = self.places(state), self.reach(state), np.asarray(self.trust)
        sides = np.clip(state.centre[:, None] + reach[:, None] * np.array([-1.0, 1.0]), 0.0, 1.0)
        low, high = between(places, value.reward.T, sides).T if len(places) > 1 else np.zeros((2, state.replicates))
        slope = (high - low) / np.maximum(sides[:, 1] - sides[:, 0], 1e-9)
        wanted = np.clip(state.centre + np.clip(np.asarray(self.step) * slope, -trust, trust), 0.0, 1.0)
        upper = (value.residual + np.asarray(self.width) * value.residual_error).T
        feasible, rows = is_feasible(upper[None]), np.arange(state.replicates)
        distance = np.where(feasible, np.abs(places - wanted[:, None]), np.inf)
        projected = np.where(feasible.any(axis=1), places[distance.argmin(axis=1)], places[upper.argmin(axis=1)])
        allowed = np.where(feasible[rows, nearest(places, wanted)], wanted, projected)
        return np.asarray(state.centre + np.clip(allowed - state.centre, -trust, trust))

    def recommend(self, state: PerformativeState) -> Policy:
        """Keep the threshold nearest to the centre."""
        return Policy.shared(state.grid[nearest(self.places(state), state.centre)], state.groups)


def nearest(places: Array, at: Array) -> NDArray[np.intp]:
    """Return the place nearest to each number (R,), the lower of two; places (K,) increase."""
    return np.asarray(np.abs(places - at[:, None]).argmin(axis=1))
