"""TwoPoint: two-point gradient ascent on the Lagrangian with epochs (SPSA), with dual ascent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.baselines.centre import TwoSidedState, side_of, threshold_at
from fairgate.learners.epochs import Epochs, Rounds
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.setting import Setting
from fairgate.settings import Array, Positive, Share


@dataclass(frozen=True)
class TwoPoint(Epochs[TwoSidedState]):
    r"""Play an epoch a little above the centre and one a little below it, and step to the better side.

    One-point methods step by the size of the loss; the difference of two points is of the size of the slope. With the
    grid's interval as [0, 1], :math:`u = \pm 1` at random and :math:`L = r - \sum_j \lambda_j g_j`, pair m of epochs
    is played at :math:`x \pm u \delta_m` and followed by

    .. math::
        x &\leftarrow \Pi\big(x + a_m \, u \, (L_+ - L_-) / (2 \delta_m)\big), \\
        \lambda_j &\leftarrow \max\big(0, \lambda_j + b_m (g_{j+} + g_{j-}) / 2\big),

    with :math:`\delta_m = \delta m^{-0.101}` and :math:`a_m = a m^{-0.602}` (Spall's exponents) and
    :math:`b_m = b m^{-0.5}`.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from.
    step
        First step size :math:`a`, as a share of the grid's interval.
    dual_step
        First step size :math:`b` of the multipliers.
    radius
        First distance :math:`\delta` from the centre, as a share of the grid's interval; at most one half is used.
    start_at
        Where in the grid's interval the centre starts.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("interior"), fg.learners.TwoPoint(), rounds=3000, seeds=5)
    >>> run.final.single[:, 0].round(1)                     # parity binds at 0.14
    array([0.1, 0.1, 0.1, 0.2, 0.1])

    References
    ----------
    .. [1] Spall, "Multivariate stochastic approximation using a simultaneous perturbation gradient approximation",
       IEEE Transactions on Automatic Control 37, 1992.
    .. [2] Agarwal, Dekel, Xiao, "Optimal algorithms for online convex optimization with multi-point bandit feedback",
       COLT 2010.
    """

    epoch_length: Rounds = 30  # tuned: scripts/tune.py
    burn_in: Rounds = 15  # tuned: scripts/tune.py
    step: Positive = 0.3  # tuned: scripts/tune.py
    dual_step: Positive = 2.0  # tuned: scripts/tune.py
    radius: Positive = 0.05
    start_at: Share = 0.5

    version: ClassVar[int] = 3
    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> TwoSidedState:
        """Start at `start_at`, with multipliers 0."""
        state = fresh(TwoSidedState, setting, common, centre=self.start_at, sign=1.0)
        reach = self.reach(state)
        state.centre = np.clip(state.centre, reach, 1.0 - reach)
        return state

    def reach(self, state: TwoSidedState) -> Array:
        """Distance δ_m from the centre that is played in this pair, (R,)."""
        return np.asarray(np.minimum(0.5, np.asarray(self.radius) * (state.epochs // 2 + 1.0) ** -0.101))

    def pick(self, state: TwoSidedState, fresh: NDArray[np.bool_]) -> Array:
        """Play one side of the centre, drawn at random, and then the other."""
        opening = state.epochs % 2 == 0
        at = state.centre + side_of(state, fresh, opening) * self.reach(state)
        return threshold_at(state.grid, at)

    def digest(self, state: TwoSidedState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Keep what the first side showed; after the second, move the centre and then the multipliers."""
        closing = over & (state.epochs % 2 == 1)
        difference = state.first - table
        state.first = np.where(over & ~closing, table, state.first)
        pair, reach = state.epochs // 2 + 1.0, self.reach(state)
        slope = state.sign * (difference[0] - (state.multipliers * difference[1:]).sum(axis=0)) / (2.0 * reach)
        moved = np.clip(state.centre + np.asarray(self.step) * pair**-0.602 * slope, reach, 1.0 - reach)
        state.centre = np.where(closing, moved, state.centre)
        mean = 0.5 * (state.first + table)[1:]
        raised = np.maximum(0.0, state.multipliers + np.asarray(self.dual_step) * pair**-0.5 * mean)
        state.multipliers = np.where(closing, raised, state.multipliers)

    def recommend(self, state: TwoSidedState) -> Policy:
        """Keep the centre."""
        return Policy.shared(threshold_at(state.grid, state.centre), state.groups)
