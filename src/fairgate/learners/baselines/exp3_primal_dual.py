"""Exp3PrimalDual: exponential weights on the Lagrangian, with dual gradient ascent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.epochs import Epochs, EpochState, Rounds
from fairgate.learners.shapes import fresh
from fairgate.setting import Setting
from fairgate.settings import Array, Positive


@dataclass
class Exp3State(EpochState):
    """Estimated losses (R, K), and the probability (R,) with which the present threshold was drawn."""

    losses: Annotated[Array, "R K"]
    probability: Annotated[Array, "R"]


@dataclass(frozen=True)
class Exp3PrimalDual(Epochs[Exp3State]):
    r"""Draw thresholds by exponential weights of their estimated Lagrangian, and price violated constraints.

    Nothing is assumed about where signals come from, not even that they are random; the price is slow learning. With
    :math:`\eta_m = \eta \sqrt{\log K / (K m)}`, epoch m is on a threshold drawn from
    :math:`p_i \propto \exp(-\eta_m \hat L_i)`. The Lagrangian it shows, :math:`L = r - \sum_j \lambda_j g_j`, becomes
    the loss :math:`\ell = (1 + \Lambda - L) / (2 (1 + \Lambda))`, cut to [0, 1], and (EXP3-IX)

    .. math::
        \hat L_i &\leftarrow \hat L_i + \ell / (p_i + \eta_m / 2) \text{ for the one drawn}, \\
        \lambda_j &\leftarrow \min\big(\Lambda, \max(0, \lambda_j + \mu g_j / \sqrt m)\big).

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.
    rate
        Learning rate :math:`\eta` of the weights; 1 or so is what the theory asks for.
    dual_step
        First step size :math:`\mu` of the multipliers.
    largest
        Largest multiplier :math:`\Lambda`.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("compas"), fg.learners.Exp3PrimalDual(), rounds=3000, seeds=5)
    >>> run.population.reward.reshape(5, 2, 1500).mean(axis=(0, 2)).round(2)      # of either half; the oracle's is 0.77
    array([0.5, 0.6])

    References
    ----------
    .. [1] Castiglioni, Celli, Marchesi, Romano, Gatti, "A unifying framework for online optimization with long-term
       constraints", NeurIPS 2022.
    .. [2] Neu, "Explore no more: improved high-probability regret bounds for non-stochastic bandits", NeurIPS 2015.
    """

    epoch_length: Rounds = 1  # tuned: scripts/tune.py
    burn_in: Rounds = 0  # tuned: scripts/tune.py
    rate: Positive = 2.0  # tuned: scripts/tune.py
    dual_step: Positive = 1.0
    largest: Positive = 0.3  # tuned: scripts/tune.py

    version: ClassVar[int] = 3

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> Exp3State:
        """Start with equal weights and multipliers 0."""
        return fresh(Exp3State, setting, common, probability=1.0)

    def step(self, state: Exp3State) -> Array:
        """Learning rate η_m of this epoch, (R,)."""
        arms = len(state.grid)
        return np.asarray(np.asarray(self.rate) * np.sqrt(np.log(arms) / (arms * (state.epochs + 1.0))))

    def pick(self, state: Exp3State, fresh: NDArray[np.bool_]) -> Array:
        """Draw a threshold by its weight."""
        better = -self.step(state)[:, None] * (state.losses - state.losses.min(axis=1, keepdims=True))
        ladder = np.exp(better).cumsum(axis=1)
        rung = state.rng.random(state.replicates) * ladder[:, -1]
        arm = (ladder[:, :-1] <= rung[:, None]).sum(axis=1)
        drawn = np.exp(better[np.arange(state.replicates), arm]) / ladder[:, -1]
        state.probability = np.where(fresh, drawn, state.probability)
        return np.asarray(state.grid[arm])

    def digest(self, state: Exp3State, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Add the loss to the threshold drawn, then move the multipliers."""
        span = 1.0 + np.asarray(self.largest)
        lagrangian = table[0] - (state.multipliers * table[1:]).sum(axis=0)
        loss = np.clip((span - lagrangian) / (2.0 * span), 0.0, 1.0)
        rows, arm = np.flatnonzero(over), np.searchsorted(state.grid, state.current)
        state.losses[rows, arm[rows]] += (loss / (state.probability + self.step(state) / 2.0))[rows]
        moved = state.multipliers + np.asarray(self.dual_step) * table[1:] / np.sqrt(state.epochs + 1.0)
        state.multipliers = np.where(over, np.clip(moved, 0.0, self.largest), state.multipliers)
