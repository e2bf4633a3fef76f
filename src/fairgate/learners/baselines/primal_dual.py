"""PrimalDual: one-point bandit gradient descent on the Lagrangian, with dual ascent (the paper's PD)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.learners.baselines.bandit_gradient import BanditGradient, GradientState
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.settings import Array, Positive


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

    def loss(self, state: GradientState, reward: Array, residuals: Array) -> Array:
        """Return the Lagrangian at the current multipliers."""
        return np.asarray(-reward + (state.multipliers * residuals).sum(axis=0))

    def learn(self, state: GradientState, played: Policy, feedback: Feedback) -> None:
        """Move the centre, then the multipliers."""
        super().learn(state, played, feedback)
        state.multipliers = np.maximum(0.0, state.multipliers + np.asarray(self.dual_step) * feedback.residuals)
