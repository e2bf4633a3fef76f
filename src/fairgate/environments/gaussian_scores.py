"""GaussianScores: normal scores whose group means follow the acceptance rates (the paper's MVE-S)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from fairgate.counts import Counts
from fairgate.environments.base import State, slowest_approach
from fairgate.environments.normal_scores import PEAK, NormalScores, positive_mass
from fairgate.errors import InputError
from fairgate.settings import Array, PositiveShare, Real

__all__ = ["GaussianScores", "positive_mass"]


@dataclass(frozen=True)
class GaussianScores(NormalScores):
    r"""Groups with normal scores; a group accepted more often scores higher later.

    Description
    -----------
    A person is of group g with probability :math:`\pi_g`, has score :math:`s \sim N(\mu_g, \sigma_g^2)` and
    label 1 with probability :math:`\mathrm{sigmoid}(slope \cdot (s - midpoint))`. After a batch

    .. math:: \mu_g \leftarrow \mu_g + rate \cdot (means_g + gain \cdot (acc_g - 1/2) - \mu_g).

    Action
    ------
    Thresholds, one a replicate and group: accept if :math:`s \ge \theta_g`.

    Observation
    -----------
    Counts of the batch by group × label × decision.

    Reward
    ------
    None of its own: a :class:`~fairgate.Problem` reads reward and residuals off the counts.

    State, start and end
    --------------------
    :math:`\mu` (replicates, groups), started at `means`. The loop never ends by itself. A group with
    nobody in the batch keeps its mean.

    Parameters
    ----------
    means
        Mean score of each group at acceptance rate one half.
    shares
        Share of each group among applicants.
    sd
        Standard deviation of each group's scores.
    slope, midpoint
        Label model.
    gain
        How far full acceptance moves a group's mean, up by half of it, and full rejection down; may
        vary by replicate. ``gain · max density`` must be below 1, else there is no unique steady state.
    rate
        Share of the way to its target that a mean moves in a round; may vary by replicate.

    Examples
    --------
    >>> env = GaussianScores(means=[0.0, 0.5], shares=[0.5, 0.5], sd=[1.0, 1.0], slope=2.0, midpoint=0.0,
    ...                      gain=0.5, rate=0.1)
    >>> thresholds = np.array([[0.0, 0.0]])
    >>> state = env.steady_state(thresholds)
    >>> state.round(4)
    array([[0.    , 0.6154]])
    >>> env.probabilities(state, thresholds).sum(axis=(2, 3))
    array([[0.5, 0.5]])

    Version history
    ---------------
    v0: first version.
    """

    gain: Real
    rate: PositiveShare

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._feedback() >= 1.0:
            largest = float(self._sd.min() / PEAK)
            raise InputError(
                f"{type(self).__name__}: gain must be within ±{largest:.4g} for scores of sd {self._sd.min():g} "
                f"(gain · max density < 1, else no unique steady state), got {self.gain}"
            )

    @cached_property
    def _gain(self) -> Array:
        return np.asarray(self.gain, dtype=np.float64)[..., None]

    @cached_property
    def _rate(self) -> Array:
        return np.asarray(self.rate, dtype=np.float64)[..., None]

    @cached_property
    def reach(self) -> float:
        """How far a mean started at `means` can ever move."""
        return 0.5 * float(np.max(np.abs(self._gain))) + 1e-6

    def _feedback(self) -> float:
        return float(np.max(np.abs(self._gain)) * PEAK / self._sd.min())

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart."""
        return slowest_approach(self._rate, self._feedback())

    def start(self, replicates: int = 1) -> State:
        """Return `means` in every replicate."""
        return np.tile(self._means, (replicates, 1))

    def update(self, state: State, counts: Counts, thresholds: Array) -> State:
        """Return the means after a batch."""
        moved = state + self._rate * (self._means + self._gain * (counts.rates - 0.5) - state)
        return np.where(np.isnan(moved), state, moved)

    def steady_state(self, thresholds: Array) -> State:
        """Return the means that solve μ = means + gain · (P(s ≥ θ) − ½)."""
        from scipy.optimize import elementwise

        thresholds = np.asarray(thresholds, dtype=np.float64)
        gain = np.broadcast_to(self._gain, thresholds.shape)

        def excess(mu: Array, theta: Array, mean: Array, sd: Array, gain: Array) -> Array:
            return np.asarray(mu - mean - gain * (ndtr((mu - theta) / sd) - 0.5))

        reach = 0.5 * np.abs(gain) + 1e-6
        bracket = (self._means - reach, self._means + reach)
        found = elementwise.find_root(excess, bracket, args=(thresholds, self._means, self._sd, gain))
        return np.asarray(found.x)
