"""ConformalTracker: follow the threshold at which the tightest constraint is just met, as it drifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.baselines.centre import threshold_at
from fairgate.learners.epochs import Epochs, EpochState, Rounds
from fairgate.learners.shapes import fresh
from fairgate.policy import Policy
from fairgate.setting import Setting
from fairgate.settings import Array, Positive, PositiveShare, keep_whole


@dataclass
class TrackerState(EpochState):
    """Where each replicate is, and which way reward and residual grow."""

    centre: Annotated[Array, "R"]  # in the grid's interval, from 0 to 1
    before: Annotated[Array, "2 R"]  # reward and largest residual of the epoch before; while scanning, of the centre
    slopes: Annotated[Array, "2 R"]  # discounted differences of both between the upper and the lower side


@dataclass(frozen=True)
class ConformalTracker(Epochs[TrackerState]):
    r"""Move the threshold by what the tightest constraint leaves or lacks, as adaptive conformal inference does.

    Adaptive conformal inference [1]_ keeps the long-run frequency of errors at :math:`\alpha` in any world, by
    :math:`\alpha_{t+1} = \alpha_t + \gamma (\alpha - \mathrm{err}_t)`: online subgradient steps on the pinball loss.
    Here what must be 0 in the long run is the largest residual :math:`g_m = \max_j g_{jm}` that epoch m shows, as risks
    are controlled in [2]_. With the grid's interval as [0, 1],

    .. math:: x_{m+1} = \Pi\big(x_m - \gamma \, s_m \, g_m\big), \qquad
              s_m = \begin{cases} \mathrm{sign}(\hat g') & g_m > 0 \\ \mathrm{sign}(\hat r') & g_m \le 0. \end{cases}

    A violated constraint is left on the side on which the residual falls; room is used up on the side on which the
    reward grows. Both signs come from playing :math:`x_m + \rho` and :math:`x_m - \rho` in turn: differences of
    neighbouring epochs, discounted by `memory`. It begins at the best of `scan` places, an epoch on each, evenly
    spaced from the lowest up: the highest reward of those with no violation, else the least :math:`g`.

    **What it can do.** While the two signs agree, as where one more acceptance pays but a constraint forbids it, the
    steps telescope: over M epochs the mean of :math:`g_m` is :math:`(x_1 - x_{M+1}) / (\gamma s M)`, at most
    :math:`1 / (\gamma M)` in size, whatever people do in the meantime, unless the grid ends first. So it follows a
    drifting budget, service window or parity limit with no model and no knowledge of the speed.

    **What it cannot do.** The long-run mean is kept, not every round: about half of them violate a little. It
    optimises reward only in that it goes to the better edge of the feasible interval that it is in. Where the best
    threshold lies inside, it wanders around it by steps of :math:`\gamma |g_m|`. It does not jump to another feasible
    interval. Where none is feasible, it settles near a local minimum of :math:`g`. It plays one threshold for all.

    Parameters
    ----------
    epoch_length, burn_in
        Rounds for which a threshold is kept, and how many of them are not learnt from. Tuned: 2 to 20.
    step
        Step size :math:`\gamma`, a share of the grid's interval per unit of residual. Tuned: 0.05 to 1.
    radius
        Distance :math:`\rho` that is played from the centre, as a share of the grid's interval; at most one half is
        used. Tuned: 0.01 to 0.1.
    memory
        What an epoch leaves of the weight of earlier differences. Tuned: 0.8 to 0.99.
    scan
        Places looked at before it begins. Tuned: 1 to 20.

    Examples
    --------
    The best threshold swings between 0.3 and -0.2 here. A hundred rounds around either turn:

    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("drift"), fg.learners.ConformalTracker(), rounds=1500, seeds=3)
    >>> run.thresholds[:, 325:425, 0].mean(axis=1).round(1), run.thresholds[:, 1075:1175, 0].mean(axis=1).round(1)
    (array([0.3, 0.4, 0.3]), array([-0.2, -0.2, -0.1]))

    References
    ----------
    .. [1] Gibbs, Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021.
    .. [2] Feldman, Ringel, Bates, Romano, "Achieving risk control in online learning settings", arXiv 2205.09095, 2022.
    """

    epoch_length: Rounds = 5
    burn_in: Rounds = 1
    step: Positive = 0.2
    radius: Positive = 0.025
    memory: PositiveShare = 0.9
    scan: int = 5

    traces: ClassVar[tuple[str, ...]] = ("centre",)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_whole(self, "scan", 1)

    def remember(self, setting: Setting, common: Mapping[str, Any]) -> TrackerState:
        """Start in the middle, with no idea which way anything grows."""
        state = fresh(TrackerState, setting, common, centre=0.5)
        state.before[1] = np.inf  # anything is better
        return state

    @property
    def reach(self) -> Array:
        """Distance from the centre that is played."""
        return np.minimum(0.5, self.radius)

    def pick(self, state: TrackerState, fresh: NDArray[np.bool_]) -> Array:
        """Play the next place of the scan, or above and below the centre in turn."""
        centred = np.clip(state.centre, self.reach, 1.0 - self.reach) + self.side(state) * self.reach
        at = np.where(state.epochs < self.scan, self.place(state), centred)
        return threshold_at(state.grid, at)

    def place(self, state: TrackerState) -> Array:
        """Return the place that the scan has come to, (R,)."""
        return np.asarray((state.epochs + 0.5) / self.scan)

    def side(self, state: TrackerState) -> Array:
        """Return 1 in epochs above the centre and -1 in those below, (R,)."""
        return np.where((state.epochs - self.scan) % 2 == 0, 1.0, -1.0)

    def digest(self, state: TrackerState, over: NDArray[np.bool_], table: Array, share: Array) -> None:
        """Keep the best place of the scan; after it, learn which way reward and residual grow, and move the centre."""
        reward = np.where(share > 0.0, table[0], state.before[0])  # no label has arrived: nothing is known of it
        shown = np.stack((reward, table[1:].max(axis=0, initial=-1.0)))
        scanning = over & (state.epochs < self.scan)
        better = scanning & is_better(shown, state.before)
        state.centre = np.where(better, self.place(state), state.centre)
        gained = np.where(state.epochs > self.scan, self.side(state) * (shown - state.before), 0.0)
        moving = over & ~scanning
        state.before = np.where(better | moving, shown, state.before)
        slopes = np.asarray(self.memory) * state.slopes + gained
        state.slopes = np.where(moving, slopes, state.slopes)
        towards = np.sign(np.where(shown[1] > 0.0, slopes[1], slopes[0]))
        moved = np.clip(state.centre - np.asarray(self.step) * towards * shown[1], self.reach, 1.0 - self.reach)
        state.centre = np.where(moving, moved, state.centre)

    def recommend(self, state: TrackerState) -> Policy:
        """Keep the centre."""
        return Policy.shared(threshold_at(state.grid, state.centre), state.groups)


def is_better(shown: Array, best: Array) -> NDArray[np.bool_]:
    """Whether a reward and largest residual (2, R) are better: feasible with more reward, else less violating.

    >>> is_better(np.array([[0.1, 0.5], [-0.1, 0.2]]), np.array([[0.3, 0.9], [0.1, 0.1]]))
    array([ True, False])
    """
    feasible = shown[1] <= 0.0
    both = feasible & (best[1] <= 0.0)
    return np.asarray(np.where(both, shown[0] > best[0], shown[1] < best[1]) & (feasible | (best[1] > 0.0)))
