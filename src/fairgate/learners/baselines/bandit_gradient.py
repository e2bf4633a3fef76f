"""BanditGradient: one-point bandit gradient descent on the reward alone (the paper's "Unconstrained")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairgate.learners.base import Learner
from fairgate.learners.state import State
from fairgate.problem import Feedback
from fairgate.settings import Array, Positive, Share
from fairgate.tasks import Task


@dataclass
class GradientState(State):
    """The centre (R,) searched around, the sign (R,) of the last step aside, and multipliers (J, R) if any."""

    centre: Array
    sign: Array
    multipliers: Array


@dataclass(frozen=True)
class BanditGradient(Learner[GradientState]):
    r"""Play a little above or below a centre, and move the centre against the loss seen there.

    With :math:`u_t = \pm 1` at random, play :math:`x_t = y_t + \rho u_t`, see the loss :math:`\ell_t = -r_t`, and

    .. math:: y_{t+1} = \Pi\big(y_t - \eta \, \ell_t u_t / \rho\big),

    where :math:`\Pi` projects to the grid's interval, narrowed by :math:`\rho` so that what is played lies in
    it. The estimator is unbiased for a smoothed loss, but its size is that of the loss, not of the slope: it
    wanders wherever the reward is large and rests where the reward is near 0.

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

    state_type: ClassVar[type[State]] = GradientState
    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def remember(self, task: Task, common: Mapping[str, Any]) -> GradientState:
        """Start at `start_at`, with multipliers 0."""
        low, high = task.thresholds[0], task.thresholds[-1]
        centre = np.broadcast_to(low + np.asarray(self.start_at) * (high - low), (common["replicates"],))
        multipliers = np.zeros((len(task.problem.names), len(centre)))
        state = GradientState(**common, centre=centre, sign=np.zeros(len(centre)), multipliers=multipliers)
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
        return np.asarray(state.centre + self.reach(state) * state.sign)

    def loss(self, state: GradientState, feedback: Feedback) -> Array:
        """Return what is to be made small."""
        return -feedback.reward

    def learn(self, state: GradientState, thresholds: Array, feedback: Feedback) -> None:
        """Move the centre against the one-point gradient estimate."""
        gradient = self.loss(state, feedback) * state.sign / np.asarray(self.radius)
        state.centre = self.project(state, state.centre - np.asarray(self.step) * gradient)
