"""EpochZerothOrder: zeroth-order ascent with epochs that grow, so that the world settles (Ray et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.learners.baselines.centre import TwoSidedState, side_of, threshold_at
from fairgate.learners.epochs import Epochs, Rounds
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.setting import Setting
from fairgate.settings import Array, NonNegative, Positive, Share, keep_whole


@dataclass(frozen=True)
class EpochZerothOrder(Epochs[TwoSidedState]):
    r"""Keep a threshold until the world has settled, look, and step by what was seen at one or two points.

    Ray et al. [1]_ study a world that forgets its past geometrically, by a factor :math:`\rho` per round, and a
    decision maker who sees only losses: each decision is deployed for a whole epoch so that the world can mix, and only
    then is there a step. Here the world's memory is :math:`\tau = 1 / \log(1 / \rho)` rounds. With the grid's
    interval as [0, 1], :math:`u = \pm 1` at random and :math:`L = r - \sum_j \lambda_j g_j`, step m is

    .. math::
        x &\leftarrow \Pi\big(x + \tfrac{a}{m} \hat\nabla\big), \qquad
        \hat\nabla = \begin{cases} u \, L(x + u \delta_m) / \delta_m & \text{one point} \\
        u \, (L(x + u \delta_m) - L(x - u \delta_m)) / (2 \delta_m) & \text{two points,} \end{cases} \\
        \lambda_j &\leftarrow \max\big(0, \lambda_j + b \, m^{-1/2} \bar g_j\big), \qquad
        \delta_m = \delta m^{-1/4}, \qquad
        n_m = burn\_in + \big\lceil \tau \log(\delta_1^2 / \delta_m^2) \big\rceil,

    where an epoch settles for :math:`n_m` rounds and is then looked at for `epoch_length` − `burn_in` more,
    :math:`\bar g` is the mean of the step's points and :math:`\Pi` projects to where all points lie in the interval.

    *What is published and what is not.* Epochs of one decision and steps by losses alone are those of [1]_, as its
    abstract tells them; its constants were not at hand. The estimates are those of [2]_ and [3]_. Multipliers are added
    here, for the constraints, and schedules are derived here: 1/m is the step for a strongly concave reward. Smoothing
    biases the gradient by the order of :math:`\delta`, an unsettled world by that of :math:`\rho^n / \delta`; neither
    outweighs the other if :math:`\rho^n \propto \delta^2`, which gives :math:`n_m`, of the order of :math:`\log m`. One
    point has a variance of the order of :math:`1 / \delta^2`, whose sum over steps of 1/m converges only if
    :math:`\delta_m` falls more slowly than :math:`m^{-1/2}`; 1/4 balances it with the squared bias.

    Tuned are `epoch_length` from 10 to 40 with half of it `burn_in`, `memory` from 2 to 20, `points`, `step` from 0.03
    to 1, `dual_step` from 2 to 32 and `radius` from 0.03 to 0.1.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds of the first epoch, and how many of them are not learnt from; later ones settle for longer.
    memory
        Rounds :math:`\tau` after which the world has forgotten all but 1/e of what was.
    points
        Points looked at for a step: 1 or 2.
    step
        First step size a, as a share of the grid's interval.
    dual_step
        First step size b of the multipliers.
    radius
        First distance :math:`\delta` from the centre, as a share of the grid's interval; at most one half is used.
    start_at
        Where in the grid's interval the centre starts.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("retraining-diverges"), fg.learners.EpochZerothOrder(), rounds=1500, seeds=5)
    >>> bool((run.final.single < 0.5).all())                # where repeated retraining ends at 2; the best is -0.3
    True

    References
    ----------
    .. [1] Ray, Ratliff, Drusvyatskiy, Fazel, "Decision-dependent risk minimization in geometrically decaying dynamic
       environments", AAAI 2022.
    .. [2] Flaxman, Kalai, McMahan, "Online convex optimization in the bandit setting: gradient descent without a
       gradient", SODA 2005.
    .. [3] Agarwal, Dekel, Xiao, "Optimal algorithms for online convex optimization with multi-point bandit feedback",
       COLT 2010.
    """

    epoch_length: Rounds = 20
    burn_in: Rounds = 10
    memory: NonNegative = 5.0
    points: int = 2
    step: Positive = 0.3
    dual_step: Positive = 8.0
    radius: Positive = 0.05
    start_at: Share = 0.5

    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_whole(self, "points", 1)
        if self.points > 2:
            raise InputError(f"EpochZerothOrder: points must be 1 or 2, got {self.points}")

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> TwoSidedState:
        """Start at `start_at`, with multipliers 0."""
        state = fresh(TwoSidedState, setting, common, centre=self.start_at, sign=1.0)
        state.centre = self.project(state, state.centre)
        return state

    def number(self, state: TwoSidedState) -> Array:
        """Number m of the step that is being looked for, from 1, (R,)."""
        return np.asarray(state.epochs // self.points + 1.0)

    def reach(self, state: TwoSidedState) -> Array:
        """Distance δ_m from the centre that is played, (R,)."""
        return np.asarray(np.minimum(0.5, np.asarray(self.radius)) * self.number(state) ** -0.25)

    def settling(self, state: TwoSidedState) -> Array:
        """Rounds n_m that the world is given to settle, (R,)."""
        longer = np.asarray(self.memory) * 0.5 * np.log(self.number(state))
        return np.asarray(self.burn_in + np.ceil(longer))

    def project(self, state: TwoSidedState, centre: Array) -> Array:
        """Bring the centre back to where all points played around it lie in the grid's interval."""
        reach = self.reach(state)
        return np.clip(centre, reach, 1.0 - reach)

    def pick(self, state: TwoSidedState, fresh: NDArray[np.bool_]) -> Array:
        """Play one side of the centre, drawn at random; and then the other, if two points are looked at."""
        opening = state.epochs % self.points == 0
        at = state.centre + side_of(state, fresh, opening) * self.reach(state)
        return threshold_at(state.grid, at)

    def digest(self, state: TwoSidedState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """After the last point of a step, move the centre and then the multipliers; keep what the first one showed."""
        closing = over & (state.epochs % self.points == self.points - 1)
        found, mean = table, table[1:]
        if self.points == 2:
            found, mean = 0.5 * (state.first - table), 0.5 * (state.first + table)[1:]
            state.first = np.where(over & ~closing, table, state.first)
        slope = state.sign * (found[0] - (state.multipliers * found[1:]).sum(axis=0)) / self.reach(state)
        moved = self.project(state, state.centre + np.asarray(self.step) / self.number(state) * slope)
        state.centre = np.where(closing, moved, state.centre)
        dual_step = np.asarray(self.dual_step) * self.number(state) ** -0.5
        state.multipliers = np.where(closing, np.maximum(0.0, state.multipliers + dual_step * mean), state.multipliers)

    def recommend(self, state: TwoSidedState) -> Policy:
        """Keep the centre."""
        return Policy.shared(threshold_at(state.grid, state.centre), state.groups)
