"""LocationScaleModel: how the scores' mean and spread follow the threshold, estimated; and what thresholds would do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fairgate.core.learners.components.location_scale import MIDDLES, NARROWEST, NEWTON, RESPONSE, STANDARD
from fairgate.learners.forecast.prediction import Prediction
from fairgate.settings import Array


@dataclass
class LocationScaleModel:
    r"""A location-scale family for each group, fitted to epochs of people under known thresholds.

    With :math:`m_e` and :math:`\sigma_e` the mean and standard deviation of a group's scores in epoch e, of threshold
    :math:`\theta_e`, both are straight lines in the threshold, :math:`m(\theta)` and :math:`\sigma(\theta)`, by least
    squares weighted by people, slopes shrunk as a normal prior of standard deviation 1 does. Standardised scores
    :math:`(s - m_e) / \sigma_e` of all epochs are pooled to one shape, and labels to one logistic curve over it: people
    keep their place while scores shift and spread. They keep their label too if scores inflate without quality; if not,
    log-odds tilt with the threshold, by what the labels of an epoch differ from the curve fitted before it.
    Scores beyond the grid count as one bin beyond it, so the response is underestimated while many are.
    """

    people: Annotated[Array, "R G"]  # weight of all epochs
    at: Annotated[Array, "2 R G"]  # sums of threshold and its square, weighted by people
    moments: Annotated[Array, "2 R G"]  # of mean and standard deviation
    products: Annotated[Array, "2 R G"]  # of either times the threshold
    shape: Annotated[Array, "R G 65"]  # people whose standardised score is at least that of STANDARD
    labels: Annotated[Array, "R G 2 65"]  # labels 0 and 1 of such people
    curve: Annotated[Array, "R G 2"]  # log-odds of label 1 at the mean, and per standard deviation
    tilts: Annotated[Array, "2 R G"]  # sums of log-odds beyond the curve times threshold, and of its square, weighted

    def add(self, grid: Array, thresholds: Array, scores: Array, labels: Array, rows: NDArray[np.bool_]) -> None:
        """Add an epoch for these replicates: people by score bin (R, G, K + 1), labels (R, G, K + 1, 2)."""
        ends = ends_of(grid)
        people = np.where(rows[:, None], scores.sum(axis=-1), 0.0)
        mean, spread = moments_of(ends, scores)
        at = np.broadcast_to(thresholds[:, None], people.shape)
        before = np.where(self.people > 0, self.at[0] / np.maximum(self.people, 1e-9), at)
        self.people += people
        self.at += people * np.stack((at, at**2))
        found = people * np.stack((mean, spread))
        self.moments += found
        self.products += found * at
        places = mean[..., None] + spread[..., None] * STANDARD
        came = (people > 0)[..., None]
        self.shape += np.where(came, above(ends, scores, places), 0.0)
        both = np.moveaxis(labels, -1, -2)
        fresh = np.where(came[..., None], above(ends, both, np.repeat(places[:, :, None], 2, axis=2)), 0.0)
        off, certain = (each.sum(axis=-1) for each in self.beyond_curve(fresh))
        self.tilts += np.stack((off * (at - before), certain * (at - before) ** 2))
        self.labels += fresh
        self.fit_labels()

    def fade(self, share: Array, rows: NDArray[np.bool_]) -> None:
        """Leave so much of the weight of what is known to these replicates."""
        left = np.where(rows, share, 1.0)[:, None]
        for sums in (self.people, self.at, self.moments, self.products, self.tilts):
            sums *= left
        self.shape *= left[..., None]
        self.labels *= left[..., None, None]

    def lines(self) -> tuple[Array, Array, Array]:
        """Return mean threshold (R, G), and mean and slope of the lines of location and scale, (2, R, G) each."""
        people = np.maximum(self.people, 1e-9)
        at, middle = self.at[0] / people, self.moments / people
        spread = np.maximum(self.at[1] - people * at**2, 0.0)
        together = self.products - people * at * middle
        return at, middle, together / np.maximum(spread + (middle[1] / RESPONSE) ** 2, 1e-12)

    def chances(self) -> Array:
        """Return P(y = 1) by the curve between the scores of STANDARD, (R, G, 64)."""
        return np.asarray(expit(self.curve[..., :1] + self.curve[..., 1:] * MIDDLES))

    def beyond_curve(self, labels: Array) -> tuple[Array, Array]:
        """Return labels 1 beyond those of the curve, and how many a log-odds of 1 more would be, (R, G, 64) each."""
        counts, chance = labels[..., :-1] - labels[..., 1:], self.chances()
        total = counts.sum(axis=-2)
        return counts[..., 1, :] - total * chance, total * chance * (1.0 - chance)

    def fit_labels(self) -> None:
        """Fit the label curves: logistic regression with a standard normal prior."""
        for _ in range(NEWTON):
            off, certain = self.beyond_curve(self.labels)
            one, other = off.sum(axis=-1) - self.curve[..., 0], (off * MIDDLES).sum(axis=-1) - self.curve[..., 1]
            a, b, c = ((certain * MIDDLES**power).sum(axis=-1) for power in range(3))
            a, c = a + 1.0, c + 1.0
            step = np.stack((c * one - b * other, a * other - b * one), axis=-1) / (a * c - b * b)[..., None]
            self.curve += np.clip(step, -2.0, 2.0)

    def predict(self, thresholds: Array) -> Prediction:
        """Return what every threshold would do to the people whom it brings about."""
        at, middle, slopes = self.lines()
        away = thresholds - at[..., None]
        mean, spread = middle[..., None] + slopes[..., None] * away
        spread = np.maximum(spread, np.maximum(NARROWEST * middle[1], 1e-9)[..., None])
        people = np.maximum(self.people, 1e-9)
        shape, chance = self.shape / people[..., None], self.chances()
        mass = shape[..., :-1] - shape[..., 1:]
        good, more = (from_above(mass * each) for each in (chance, chance * (1.0 - chance)))
        asked = (thresholds - mean) / spread
        rates, positives, tilted = (between(STANDARD, values, asked) for values in (shape, good, more))
        tilt = (self.tilts[0] / np.maximum(self.tilts[1] + (middle[1] / RESPONSE) ** 2, 1e-12))[..., None] * away
        positives = np.clip(positives + tilt * tilted, 0.0, rates)
        everybody = np.clip(good[..., :1] + tilt * more[..., :1], positives, 1.0)
        weight = people[..., None] + 1.0
        error = np.sqrt(np.maximum(rates * (1.0 - rates), 1.0 / weight) / weight)
        shares = people / people.sum(axis=1, keepdims=True)
        return Prediction(shares, rates, positives, everybody, error, np.zeros_like(error))


def ends_of(grid: Array) -> Array:
    """Return the ends of the score bins (K + 2,), open ones as wide as their neighbours."""
    width = (grid[1] - grid[0], grid[-1] - grid[-2]) if len(grid) > 1 else (1.0, 1.0)
    return np.concatenate(([grid[0] - width[0]], grid, [grid[-1] + width[1]]))


def moments_of(ends: Array, scores: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of people by score bin (…, K + 1), evenly spread within bins.

    >>> mean, spread = moments_of(np.array([0.0, 1.0, 2.0]), np.array([3.0, 3.0]))
    >>> float(mean), float((12 * spread**2).round(9))
    (1.0, 4.0)
    """
    middles, widths = 0.5 * (ends[:-1] + ends[1:]), np.diff(ends)
    people = np.maximum(scores.sum(axis=-1), 1e-9)
    mean = (scores * middles).sum(axis=-1) / people
    square = (scores * ((middles - mean[..., None]) ** 2 + widths**2 / 12.0)).sum(axis=-1) / people
    return mean, np.sqrt(square)


def above(ends: Array, scores: Array, places: Array) -> Array:
    """Count people, given by score bin (…, K + 1), from `places` (…, P) on: all from the first, none from the last."""
    total = from_above(scores)
    found = between(ends, total, places)
    found[..., 0], found[..., -1] = total[..., 0], 0.0
    return found


def from_above(values: Array) -> Array:
    """Return sums of values (…, N) from each place on, and 0 at the end, (…, N + 1)."""
    return np.concatenate((values[..., ::-1].cumsum(axis=-1)[..., ::-1], np.zeros_like(values[..., :1])), axis=-1)


def between(ends: Array, values: Array, places: Array) -> Array:
    """Interpolate values (…, E), known at increasing `ends` (E,), at `places` (…, P); constant beyond.

    >>> between(np.array([0.0, 2.0]), np.array([1.0, 0.0]), np.array([-1.0, 0.5, 3.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    left = np.clip(np.searchsorted(ends, places) - 1, 0, len(ends) - 2)
    part = np.clip((places - ends[left]) / (ends[left + 1] - ends[left]), 0.0, 1.0)
    low, high = (np.take_along_axis(values, left + more, axis=-1) for more in (0, 1))
    return np.asarray(low + part * (high - low))
