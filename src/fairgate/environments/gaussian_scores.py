"""GaussianScores: normal scores whose group means follow the acceptance rates (the paper's MVE-S)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from fairgate.counts import Counts
from fairgate.environments.base import approach, at_once, slowest_approach
from fairgate.environments.normal_scores import PEAK, NormalScores
from fairgate.errors import InputError
from fairgate.settings import Array, PositiveShare, Real


@dataclass(frozen=True)
class GaussianScores(NormalScores):
    r"""Groups with normal scores; a group accepted more often scores higher later.

    Scores and labels are those of :class:`NormalScores`. After a batch

    .. math:: \mu_g \leftarrow \mu_g + rate \cdot (means_g + gain \cdot (acc_g - 1/2) - \mu_g).

    Parameters
    ----------
    means
        Mean score of each group at acceptance rate one half.
    shares, sd, slope, midpoint
        See :class:`NormalScores`.
    gain
        How far full acceptance moves a group's mean, up by half of it, and full rejection down; may
        vary by replicate. ``gain · max density`` must be below 1, else there is no unique steady state.
    rate
        Share of the way to its target that a mean moves per round; may vary by replicate.

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
    """

    _tabled: ClassVar[frozenset[str]] = frozenset({"gain"})

    gain: Real
    rate: PositiveShare

    def __post_init__(self) -> None:
        super().__post_init__()
        feedback_of(self, self.gain)

    @cached_property
    def reach(self) -> float:
        """How far a mean started at `means` can ever move."""
        return 0.5 * float(np.max(np.abs(self.gain))) + 1e-6

    @cached_property
    def hastened(self) -> GaussianScores:
        """The same at rate 1, if that too is sure to come to rest; a class made from this one is kept as it is."""
        return at_once(self) if type(self) is GaussianScores else self

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart."""
        return slowest_approach(self._by_replicate["rate"], feedback_of(self, self.gain))

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        """Return the means after a batch."""
        target = self._by_group["means"] + self._by_replicate["gain"] * (counts.rates - 0.5)
        return approach(state, target, self._by_replicate["rate"])

    def steady_state(self, thresholds: Array) -> Array:
        """Return the means that solve μ = means + gain · (P(s ≥ θ) − ½)."""
        from scipy.optimize import elementwise

        means, gain = self._by_group["means"], np.broadcast_to(self._by_replicate["gain"], np.shape(thresholds))

        def excess(mu: Array, theta: Array, mean: Array, sd: Array, gain: Array) -> Array:
            return np.asarray(mu - mean - gain * (ndtr((mu - theta) / sd) - 0.5))

        reach = 0.5 * np.abs(gain) + 1e-6
        known = (np.asarray(thresholds, dtype=np.float64), means, self._by_group["sd"], gain)
        return np.asarray(elementwise.find_root(excess, (means - reach, means + reach), args=known).x)


def feedback_of(scores: NormalScores, gain: Real) -> float:
    """Return the largest slope of a mean's target in the mean itself; refuse one that leaves no unique steady state."""
    sd = scores._by_group["sd"].min()
    slope = float(np.max(np.abs(gain)) * PEAK / sd)
    if slope >= 1.0:
        raise InputError(
            f"{type(scores).__name__}: gain must be within ±{sd / PEAK:.4g} for scores of sd {sd:g} "
            f"(gain · max density < 1, else no unique steady state), got {gain}"
        )
    return slope
