"""GaussianScores: normal scores whose group means follow the acceptance rates (the paper's MVE-S)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter
from scipy.special import expit, ndtr

from fairgate.counts import Counts
from fairgate.environments.base import Environment, State, check_shares, joint, slowest_approach
from fairgate.errors import InputError
from fairgate.settings import Array, PositiveShare, Real, as_floats

REACH = 8.5
"""Standard deviations beyond which nobody is found: P(|z| > 8.5) < 2e-17."""

SPACING = 0.03
"""Spacing of the tables, in units of the finest scale: what keeps their error below 1e-8."""

STEEPEST = 200.0
"""Largest slope of the label model, per standard deviation, that the tables can resolve."""

PADDING = 16
"""Rows added to the tables at either end of μ, where a spline knows too little of its surroundings."""

PEAK = 1.0 / math.sqrt(2.0 * math.pi)
"""Largest density of a standard normal."""


@dataclass(frozen=True)
class GaussianScores(Environment):
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

    means: Sequence[float] | Array
    shares: Sequence[float] | Array
    sd: Sequence[float] | Array
    slope: float
    midpoint: float
    gain: Real
    rate: PositiveShare

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("means", "shares", "sd"):
            if len(as_floats(f"GaussianScores: {name}", getattr(self, name), ndim=1)) != self.group_count:
                got = getattr(self, name)
                raise InputError(f"GaussianScores: {name} must have one value a group, {self.group_count}, got {got}")
        for name in ("slope", "midpoint"):
            as_floats(f"GaussianScores: {name}", getattr(self, name), ndim=0)
        check_shares("GaussianScores: shares", self._shares)
        if (self._sd <= 0).any():
            raise InputError(f"GaussianScores: sd must be positive, got {self.sd}")
        steepest = STEEPEST / float(self._sd.max())
        if abs(self.slope) > steepest:
            raise InputError(
                f"GaussianScores: slope must be within ±{steepest:g} ({STEEPEST:g} / sd), got {self.slope}"
            )
        if self._feedback() >= 1.0:
            largest = float(self._sd.min() / PEAK)
            raise InputError(
                f"GaussianScores: gain must be within ±{largest:.4g} for scores of sd {self._sd.min():g} "
                f"(gain · max density < 1, else no unique steady state), got {self.gain}"
            )

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.means)

    @cached_property
    def _means(self) -> Array:
        return np.asarray(self.means, dtype=np.float64)

    @cached_property
    def _shares(self) -> Array:
        return np.asarray(self.shares, dtype=np.float64)

    @cached_property
    def _sd(self) -> Array:
        return np.asarray(self.sd, dtype=np.float64)

    @cached_property
    def _gain(self) -> Array:
        return np.asarray(self.gain, dtype=np.float64)[..., None]

    @cached_property
    def _rate(self) -> Array:
        return np.asarray(self.rate, dtype=np.float64)[..., None]

    def _feedback(self) -> float:
        return float(np.max(np.abs(self._gain)) * PEAK / self._sd.min())

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart."""
        return slowest_approach(self._rate, self._feedback())

    def start(self, replicates: int = 1) -> State:
        """Return `means` in every replicate."""
        return np.tile(self._means, (replicates, 1))

    def probabilities(self, state: State, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2)."""
        accepted = ndtr((state - thresholds) / self._sd)
        return joint(self._shares, accepted, *self._positives(state, thresholds))

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

    @cached_property
    def _reach(self) -> float:
        """How far a mean started at `means` can ever move."""
        return 0.5 * float(np.max(np.abs(self._gain))) + 1e-6

    def _positives(self, state: State, thresholds: Array) -> tuple[Array, Array]:
        """Return P(y=1) and P(y=1, s ≥ θ) of each group, from tables where the loop can lead, else integrated."""
        if (np.abs(state - self._means) > self._reach).any():
            everybody = np.full_like(thresholds, -np.inf)
            label = (self._sd, self.slope, self.midpoint)
            return positive_mass(state, everybody, *label), positive_mass(state, thresholds, *label)
        low, across, along, coefficients = self._table
        height = coefficients.shape[0] // self.group_count
        row = (state - self._means + self._reach) / across + PADDING + height * np.arange(self.group_count)
        column = np.clip((thresholds - low) / along, 0.0, coefficients.shape[1] - 1.0)
        places = np.array([[row, row], [np.zeros_like(column), column]])  # the lowest threshold has everybody above it
        found = map_coordinates(coefficients, places, order=3, prefilter=False, mode="mirror")
        return found[0], found[1]

    @cached_property
    def _table(self) -> tuple[float, float, float, Array]:
        """Lowest θ, spacing in μ and θ, and cubic spline coefficients of P(y=1, s ≥ θ) over (μ, θ), group below group.

        A steep label model needs a fine spacing in θ, but not in μ, over which it is smoothed. μ is tabulated a little
        beyond where the loop can lead, so that the spline is as good at the ends.
        """
        sd = float(self._sd.min())
        along = SPACING * min(sd, 2.0 / max(abs(self.slope), 1e-9))
        across = max(along, 0.5 * SPACING * sd)
        edge = REACH * self._sd + self._reach
        low, high = float((self._means - edge).min()), float((self._means + edge).max())
        theta = np.arange(low, high + along, along)
        steps = np.arange(math.ceil(2 * self._reach / across) + 1 + 2 * PADDING) - PADDING
        blocks = []
        for mean, sd in zip(self._means, self._sd, strict=True):
            exact = self._masses(mean - self._reach + across * steps, theta, sd)
            blocks.append(spline_filter(exact, order=3, mode="mirror"))
        return low, across, along, np.concatenate(blocks)

    def _masses(self, mu: Array, theta: Array, sd: float) -> Array:
        """P(y=1, s ≥ θ) for all pairs of `mu` and increasing `theta`: sums of integrals between neighbours."""
        nodes, weights = np.polynomial.legendre.leggauss(8)
        width = np.diff(theta)[:, None]
        scores = theta[:-1, None] + 0.5 * width * (1.0 + nodes)
        labelled = 0.5 * width * weights * expit(self.slope * (scores - self.midpoint))
        above = np.zeros((len(mu), len(theta)))
        for row, mean in zip(above, mu, strict=True):
            density = PEAK / sd * np.exp(-0.5 * ((scores - mean) / sd) ** 2)
            between = (density * labelled).sum(axis=1)
            row[:-1] = between[::-1].cumsum()[::-1]
        return above


def positive_mass(mu: Array, theta: Array, sd: Array | float, slope: float, midpoint: float, refine: int = 1) -> Array:
    r"""Integrate the probability of being above a threshold with label 1.

    .. math:: P(y=1, s \ge \theta) = \int_\theta^\infty N(s; \mu, \sigma^2)\, sigmoid(slope (s - midpoint))\, ds

    Gauss–Legendre quadrature whose number of nodes grows with the steepness of the sigmoid; error
    below 1e-8. `refine` multiplies the nodes, to check that claim.

    >>> round(float(positive_mass(np.array(0.0), np.array(-np.inf), 1.0, slope=3.0, midpoint=0.0)), 12)
    0.5
    """
    count = refine * (48 + math.ceil(25 * abs(slope) * float(np.max(sd))))
    nodes, weights = np.polynomial.legendre.leggauss(count)
    lowest = np.clip((theta - mu) / sd, -REACH, REACH)
    half = 0.5 * (REACH - lowest)
    total = np.zeros(np.broadcast_shapes(np.shape(mu), np.shape(lowest)))
    for node, weight in zip(nodes, weights, strict=True):
        z = lowest + half * (1.0 + node)
        total += weight * np.exp(-0.5 * z * z) * expit(slope * (mu + sd * z - midpoint))
    return np.asarray(PEAK * half * total)
