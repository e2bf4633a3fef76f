"""NormalScores: normal scores with logistic labels, exact and fast; what several environments are built on."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import expit, ndtr

from fairgate.environments.base import Environment, bins_between, joint
from fairgate.errors import InputError
from fairgate.settings import Array, as_floats

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
class NormalScores(Environment):
    r"""Groups with normal scores and logistic labels.

    A person is of group g with probability :math:`\pi_g` and has

    .. math:: s \sim N(\mu_g, \sigma_g^2), \qquad P(y = 1 \mid s) = \mathrm{sigmoid}(slope \cdot (s - midpoint)).

    A subclass says how its state makes the means :math:`\mu` (:meth:`mean_scores`), how far they can get from
    `means` (:attr:`reach`), and how the state moves; by default the state is :math:`\mu` (replicates, groups), started
    at `means`. Probabilities and histograms come from tables where the loop can lead, within 1e-8, and are integrated
    elsewhere.

    Parameters
    ----------
    means
        Mean score of each group, before the environment's feedback.
    shares
        Share of each group among applicants.
    sd
        Standard deviation of each group's scores.
    slope, midpoint
        Label model.
    """

    per_group: ClassVar[tuple[str, ...]] = ("means", "shares", "sd")
    """Settings that have one number per group."""

    means: Sequence[float] | Array
    shares: Sequence[float] | Array
    sd: Sequence[float] | Array
    slope: float
    midpoint: float

    def __post_init__(self) -> None:
        super().__post_init__()
        kind, shares, sd = type(self).__name__, self._by_group["shares"], self._by_group["sd"]
        for name in ("slope", "midpoint"):
            as_floats(f"{kind}: {name}", getattr(self, name), ndim=0)
        if (shares <= 0).any() or abs(shares.sum() - 1.0) > 1e-9:
            raise InputError(f"{kind}: shares must be positive and sum to 1, got {shares.tolist()}")
        if (sd <= 0).any():
            raise InputError(f"{kind}: sd must be positive, got {self.sd}")
        steepest = STEEPEST / float(sd.max())
        if abs(self.slope) > steepest:
            raise InputError(f"{kind}: slope must be within ±{steepest:g} ({STEEPEST:g} / sd), got {self.slope}")

    @cached_property
    def _by_group(self) -> dict[str, Array]:
        """The settings `per_group` as arrays (groups,)."""
        found = {}
        for name in self.per_group:
            given, told = getattr(self, name), f"{type(self).__name__}: {name}"
            found[name] = as_floats(told, given, ndim=1)
            if len(found[name]) != self.group_count:
                raise InputError(f"{told} must have one value per group, {self.group_count}, got {given}")
        return found

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self.means)

    def start(self, replicates: int = 1) -> Array:
        """Return `means` in every replicate."""
        return np.tile(self._by_group["means"], (replicates, 1))

    @property
    @abstractmethod
    def reach(self) -> float:
        """How far the loop can take a mean score from `means`: what the tables cover."""

    def mean_scores(self, state: Array) -> Array:
        """Return the groups' mean scores μ, (replicates, groups), in a state; by default the state itself."""
        return state

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2)."""
        mu = self.mean_scores(state)
        accepted = ndtr((mu - thresholds) / self._by_group["sd"])
        return joint(self._by_group["shares"], accepted, *self._positives(mu, thresholds))

    def histogram(self, state: Array, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores that `edges` (K,) part."""
        mu = self.mean_scores(state)
        if self._beyond(mu):
            return super().histogram(state, edges)
        spacing, powers = self._bins(np.asarray(edges, dtype=np.float64))
        height = powers.shape[1] // self.group_count
        place = (mu - self._by_group["means"] + self.reach) / spacing + PADDING
        row = place.astype(np.intp)
        along = (place - row)[..., None, None]
        row += height * np.arange(self.group_count)
        found = powers[0].take(row, axis=0)
        for coefficients in powers[1:]:
            found *= along
            found += coefficients.take(row, axis=0)
        return np.asarray(np.maximum(found, 0.0, out=found).swapaxes(2, 3))  # a spline near 0 may fall just below it

    def _beyond(self, mu: Array) -> bool:
        return bool((np.abs(mu - self._by_group["means"]) > self.reach).any())

    def _positives(self, mu: Array, thresholds: Array) -> tuple[Array, Array]:
        """Return P(y=1) and P(y=1, s ≥ θ) of each group, from tables where the loop can lead, else integrated."""
        if self._beyond(mu):
            everybody = np.full_like(thresholds, -np.inf)
            label = (self._by_group["sd"], self.slope, self.midpoint)
            return positive_mass(mu, everybody, *label), positive_mass(mu, thresholds, *label)
        from scipy.ndimage import map_coordinates  # a twentieth of the time of `import fairgate`

        low, across, along, coefficients = self.table
        height = coefficients.shape[0] // self.group_count
        row = (mu - self._by_group["means"] + self.reach) / across + PADDING + height * np.arange(self.group_count)
        column = np.clip((thresholds - low) / along, 0.0, coefficients.shape[1] - 1.0)
        places = np.array([[row, row], [np.zeros_like(column), column]])  # the lowest threshold has everybody above it
        found = map_coordinates(coefficients, places, order=3, prefilter=False, mode="mirror")
        return found[0], found[1]

    @cached_property
    def _scores(self) -> tuple[float, Array]:
        """Spacing of the thresholds tabulated, and the thresholds: from below everybody to above everybody."""
        along = SPACING * min(float(self._by_group["sd"].min()), 2.0 / max(abs(self.slope), 1e-9))
        edge = REACH * self._by_group["sd"] + self.reach
        low, high = float((self._by_group["means"] - edge).min()), float((self._by_group["means"] + edge).max())
        return along, np.arange(low, high + along, along)

    def _rows(self, mean: float, spacing: float) -> Array:
        """Values of μ tabulated: where the loop can lead from `mean`, and a little beyond for the spline's sake."""
        steps = np.arange(math.ceil(2 * self.reach / spacing) + 1 + 2 * PADDING) - PADDING
        return np.asarray(mean - self.reach + spacing * steps)

    @cached_property
    def table(self) -> tuple[float, float, float, Array]:
        """Lowest θ, spacing in μ and θ, and cubic spline coefficients of P(y=1, s ≥ θ) over (μ, θ), group below group.

        A steep label model needs a fine spacing in θ, but not in μ, over which it is smoothed.
        """
        along, theta = self._scores
        across = max(along, 0.5 * SPACING * float(self._by_group["sd"].min()))
        from scipy.ndimage import spline_filter

        blocks = []
        for mean, sd in zip(self._by_group["means"], self._by_group["sd"], strict=True):
            exact = self._masses(self._rows(mean, across), theta, sd)
            blocks.append(spline_filter(exact, order=3, mode="mirror"))
        return float(theta[0]), across, along, np.concatenate(blocks)

    def _bins(self, edges: Array) -> tuple[float, Array]:
        """Spacing in μ, and cubics of P(group, bin, label) between its steps, (4, groups · steps, 2, bins).

        Label before bin, which is faster.
        """
        key = edges.tobytes()
        if key not in self._kept:
            from scipy.interpolate import CubicSpline  # slow to import, and not needed by all

            spacing, theta = 0.5 * SPACING * float(self._by_group["sd"].min()), self._scores[1]
            inside = np.clip(edges, theta[0], theta[-1])  # nobody is beyond
            theta = np.union1d(theta, inside)
            at_edges = np.searchsorted(theta, inside)
            blocks = []
            for mean, share, sd in np.transpose([self._by_group[name] for name in NormalScores.per_group]):
                mu = self._rows(mean, spacing)
                positive = self._masses(mu, theta, sd)[:, np.append(at_edges, 0)]
                total = ndtr((mu[:, None] - np.append(edges, -np.inf)) / sd)
                above = share * np.stack((total - positive, positive), axis=-1)
                bins = bins_between(above[:, :-1], above[:, -1])
                blocks.append(CubicSpline(np.arange(len(mu)), bins.swapaxes(1, 2)).c)
            self._kept[key] = spacing, np.concatenate(blocks, axis=1)  # the highest power first
        return self._kept[key]

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
    nodes, weights = _quadrature(count)
    lowest = np.clip((theta - mu) / sd, -REACH, REACH)
    half = 0.5 * (REACH - lowest)
    total = np.zeros(np.broadcast_shapes(np.shape(mu), np.shape(lowest)))
    for node, weight in zip(nodes, weights, strict=True):
        z = lowest + half * (1.0 + node)
        total += weight * np.exp(-0.5 * z * z) * expit(slope * (mu + sd * z - midpoint))
    return np.asarray(PEAK * half * total)


@lru_cache(maxsize=16)
def _quadrature(count: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss–Legendre quadrature, which take longer to find than to use."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights
