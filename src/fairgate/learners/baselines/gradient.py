"""BanditGradient and PrimalDual: one-point bandit gradient descent (the paper's "Unconstrained" and PD)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from fairgate.learners.base import Learner
from fairgate.learners.epochs import note
from fairgate.learners.shapes import fresh
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Credit, Feedback
from fairgate.setting import Setting
from fairgate.settings import Array, Positive, Share


@dataclass
class GradientState(State):
    """The centre (R,) searched around, side (R,) and place (R,) of the last proposal, and multipliers (J, R) if any."""

    centre: Annotated[Array, "R"]
    sign: Annotated[Array, "R"]
    proposed: Annotated[Array, "R"]
    multipliers: Annotated[Array, "J R"]

    @property
    def price(self) -> Array:
        """Sum of the multipliers, (R,)."""
        return np.asarray(self.multipliers.sum(axis=0))


@dataclass(frozen=True)
class BanditGradient(Learner[GradientState]):
    r"""Play a little above or below a centre, and move the centre against the loss seen there.

    With :math:`u_t = \pm 1` at random, play :math:`x_t = y_t + \rho u_t`, see the loss :math:`\ell_t = -r_t`, and

    .. math:: y_{t+1} = \Pi\big(y_t - \eta \, \ell_t u_t / \rho\big),

    where :math:`\Pi` projects to the grid's interval, narrowed by :math:`\rho` so that what is played lies in
    it. The estimator is unbiased for a smoothed loss, but its size is that of the loss, not of the slope: it
    wanders where the reward is large and rests where the reward is near 0.

    Parameters
    ----------
    step
        Step size :math:`\eta`.
    radius
        Distance :math:`\rho` from the centre that is played.
    start_at
        Where in the grid's interval the centre starts: 0 is the lowest threshold, 1 the highest.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.BanditGradient(), rounds=500, seeds=3)
    >>> run.thresholds.shape
    (3, 500, 2)

    References
    ----------
    .. [1] Flaxman, Kalai, McMahan, "Online convex optimization in the bandit setting: gradient descent
       without a gradient", SODA 2005.
    """

    step: Positive = 0.03
    radius: Positive = 0.3
    start_at: Share = 0.5

    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> GradientState:
        """Start at `start_at`, with multipliers 0."""
        low, high = setting.thresholds[0], setting.thresholds[-1]
        centre = low + np.asarray(self.start_at) * (high - low)
        state = fresh(GradientState, setting, common, centre=centre)
        state.centre = self.project(state, state.centre)
        return state

    def reach(self, state: GradientState) -> Array:
        """Distance from the centre that is played: `radius`, or half the grid's interval if that is less."""
        return np.asarray(np.minimum(self.radius, 0.5 * (state.grid[-1] - state.grid[0])))

    def project(self, state: GradientState, centre: Array) -> Array:
        """Bring the centre back to where both points played around it lie in the grid's interval."""
        reach = self.reach(state)
        return np.clip(centre, state.grid[0] + reach, state.grid[-1] - reach)

    def choose(self, state: GradientState) -> Array:
        """Play to a random side of the centre."""
        state.sign = np.where(state.rng.integers(2, size=state.replicates) == 1, 1.0, -1.0)
        state.proposed = np.asarray(state.centre + self.reach(state) * state.sign)
        return state.proposed

    def loss(self, state: GradientState, reward: Array, residuals: Array) -> Array:
        """Return what is to be made small."""
        return -reward

    def learn(self, state: GradientState, played: Policy, feedback: Feedback) -> None:
        """Move the centre against the one-point gradient estimate, which knows only the sides that it chose."""
        sign = np.where((played.single == state.proposed[:, None]).all(axis=1), state.sign, 0.0)
        if feedback.credits is None:
            self.descend(state, self.loss(state, feedback.reward, feedback.residuals), sign)
            return
        note(state, feedback.round, np.stack((sign, *feedback.residuals)))
        self.credit(state, feedback, feedback.credits)

    def credit(self, state: GradientState, feedback: Feedback, credited: Sequence[Credit]) -> None:
        """Descend by labels that arrived, each on the side that accepted these people."""
        for each, (sign, *residuals) in state.noted(credited):
            self.descend(state, self.loss(state, each.reward, np.array(residuals)), each.share * sign)

    def descend(self, state: GradientState, loss: Array, sign: Array) -> None:
        """Move the centre by one estimate of the gradient."""
        gradient = loss * sign / np.asarray(self.radius)
        state.centre = self.project(state, state.centre - np.asarray(self.step) * gradient)


@dataclass(frozen=True)
class PrimalDual(BanditGradient):
    r"""Descend the Lagrangian, and raise the price of each constraint while it is violated.

    As :class:`BanditGradient`, with the loss :math:`\ell_t = -r_t + \sum_j \lambda_j g_{jt}`, followed by

    .. math:: \lambda_j \leftarrow \max(0, \lambda_j + \mu \, g_{jt}).

    Parameters
    ----------
    step, radius, start_at
        As in :class:`BanditGradient`.
    dual_step
        Step size :math:`\mu` of the multipliers.

    Examples
    --------
    >>> import fairgate as fg
    >>> fg.load_learner("primal-dual", task="compas").dual_step
    0.4

    References
    ----------
    .. [1] Mahdavi, Jin, Yang, "Trading regret for efficiency: online convex optimization with long term
       constraints", JMLR 13, 2012.
    """

    dual_step: Positive = 0.1

    traces: ClassVar[tuple[str, ...]] = ("centre", "price")

    def loss(self, state: GradientState, reward: Array, residuals: Array) -> Array:
        """Return the Lagrangian at the current multipliers."""
        return np.asarray(-reward + (state.multipliers * residuals).sum(axis=0))

    def learn(self, state: GradientState, played: Policy, feedback: Feedback) -> None:
        """Move the centre, then the multipliers."""
        super().learn(state, played, feedback)
        state.multipliers = np.maximum(0.0, state.multipliers + np.asarray(self.dual_step) * feedback.residuals)
