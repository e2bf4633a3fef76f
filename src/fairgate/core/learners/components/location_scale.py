"""LocationScale: estimate how the scores' mean and spread follow the threshold, and predict rates at thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.worth import Rates
from fairgate.core.setting import Setting
from fairgate.core.special import expit

STANDARD = np.linspace(-4.0, 4.0, 65)
"""Standardised scores at which the common shape is kept: an eighth of a spread apart, so that interpolation is off by
less than 0.0005 for normal scores; of 16,000 normal people one lies beyond."""

MIDDLES = 0.5 * (STANDARD[:-1] + STANDARD[1:])

RESPONSE = 1.0
"""Prior standard deviation of a response: a threshold raised by 1 is not expected to move scores by much more."""

NARROWEST = 0.1
"""Least spread that is predicted, as a share of the mean one: a line fitted to spreads may fall below 0."""

NEWTON = 5
"""Steps of Newton's method for a label curve, from the last one."""


@record
class LocationScale:
    """A location-scale family for each group, fitted to epochs of applicants under known thresholds.

    :class:`fairgate.learners.baselines.location_scale_model.LocationScaleModel` documents the equations.

    Attributes
    ----------
    people
        Weight of all epochs, (groups,).
    at, moments, products
        Sums, weighted by people, of threshold and its square, of mean and spread, and of mean and spread times the
        threshold, (2, groups).
    shape, labels
        People whose standardised score is at least each of `STANDARD`, (groups, 65), and by label, (groups, 2, 65).
    curve
        Log-odds of label 1 at the mean, and per standard deviation, (groups, 2).
    tilts
        Weighted sums of log-odds beyond the curve times threshold, and of the squared threshold, (2, groups).
    """

    people: Array
    at: Array
    moments: Array
    products: Array
    shape: Array
    labels: Array
    curve: Array
    tilts: Array

    @classmethod
    def unknown(cls, setting: Setting) -> LocationScale:
        """Return a family that was never fitted."""
        zeros, groups, places = namespace(setting.grid).zeros, setting.groups, len(STANDARD)
        both, shape = zeros((2, groups)), zeros((groups, places))
        return cls(zeros(groups), both, both, both, shape, zeros((groups, 2, places)), zeros((groups, 2)), both)

    def faded(self, share: Array) -> LocationScale:
        """Return the family with the weight of past epochs multiplied by `share`."""
        return LocationScale(
            share * self.people, share * self.at, share * self.moments, share * self.products, share * self.shape,
            share * self.labels, self.curve, share * self.tilts,
        )  # fmt: skip

    def with_epoch(self, grid: Array, threshold: Array, scores: Array, labels: Array) -> LocationScale:
        """Return the family after an epoch with people by score bin (groups, K + 1) and labels (groups, K + 1, 2)."""
        xp, ends, people = namespace(grid), ends_of(grid), scores.sum(axis=1)
        mean, spread = moments_of(ends, scores)
        before = xp.where(self.people > 0, self.at[0] / xp.maximum(self.people, 1e-9), threshold)
        found = people * xp.stack((mean, spread))
        places = mean[:, None] + spread[:, None] * xp.asarray(STANDARD)
        came = (people > 0)[:, None]
        fresh = xp.where(came[..., None], above(ends, xp.moveaxis(labels, 2, 1), places[:, None]), 0.0)
        off, certain = (each.sum(axis=1) for each in self.beyond_curve(fresh))
        moved = threshold - before
        return LocationScale(
            self.people + people,
            self.at + people * xp.stack((threshold, threshold**2))[:, None],
            self.moments + found,
            self.products + found * threshold,
            self.shape + xp.where(came, above(ends, scores, places), 0.0),
            self.labels + fresh,
            self.curve,
            self.tilts + xp.stack((off * moved, certain * moved**2)),
        ).fitted()

    def chances(self) -> Array:
        """Return P(y = 1) by the curve between the scores of `STANDARD`, (groups, 64)."""
        return expit(self.curve[:, :1] + self.curve[:, 1:] * namespace(self.curve).asarray(MIDDLES))

    def beyond_curve(self, labels: Array) -> tuple[Array, Array]:
        """Return the excess of labels 1 over the curve, and its slope in the log-odds, (groups, 64) each."""
        counts, chance = labels[..., :-1] - labels[..., 1:], self.chances()
        total = counts.sum(axis=-2)
        return counts[..., 1, :] - total * chance, total * chance * (1.0 - chance)

    def fitted(self) -> LocationScale:
        """Return the family with its label curves fitted: logistic regression with a standard normal prior."""
        xp, found = namespace(self.curve), self
        middles = xp.asarray(MIDDLES)
        for _ in range(NEWTON):
            off, certain = found.beyond_curve(self.labels)
            one, other = off.sum(axis=1) - found.curve[:, 0], (off * middles).sum(axis=1) - found.curve[:, 1]
            a, b, c = ((certain * middles**power).sum(axis=1) + (power != 1) for power in range(3))
            step = xp.stack((c * one - b * other, a * other - b * one), axis=-1) / (a * c - b * b)[:, None]
            found = replace(found, curve=found.curve + xp.clip(step, -2.0, 2.0))
        return found

    def rates(self, thresholds: Array) -> Rates:
        """Return predicted rates at thresholds (K,), each for the applicants that the threshold attracts."""
        xp, people = namespace(thresholds), namespace(thresholds).maximum(self.people, 1e-9)
        at, middle = self.at[0] / people, self.moments / people
        spread_at = xp.maximum(self.at[1] - people * at**2, 0.0)
        slopes = (self.products - people * at * middle) / xp.maximum(spread_at + (middle[1] / RESPONSE) ** 2, 1e-12)
        away = thresholds - at[:, None]
        mean, spread = middle[..., None] + slopes[..., None] * away
        spread = xp.maximum(spread, xp.maximum(NARROWEST * middle[1], 1e-9)[:, None])
        shape, chance = self.shape / people[:, None], self.chances()
        mass = shape[:, :-1] - shape[:, 1:]
        good, more = (from_above(mass * each) for each in (chance, chance * (1.0 - chance)))
        asked, standard = (thresholds - mean) / spread, xp.asarray(STANDARD)
        accepted, positives, tilted = (between(standard, values, asked) for values in (shape, good, more))
        tilt = (self.tilts[0] / xp.maximum(self.tilts[1] + (middle[1] / RESPONSE) ** 2, 1e-12))[:, None] * away
        positives = xp.clip(positives + tilt * tilted, 0.0, accepted)
        everybody = xp.clip(good[:, :1] + tilt * more[:, :1], positives, 1.0)
        weight = people[:, None] + 1.0
        error = xp.sqrt(xp.maximum(accepted * (1.0 - accepted), 1.0 / weight) / weight)
        return Rates(people / people.sum(), accepted, positives, everybody, error, 0.0 * error)


def ends_of(grid: Array) -> Array:
    """Return the ends of the score bins (K + 2,); open bins are as wide as their neighbours."""
    xp = namespace(grid)
    low, high = (grid[1] - grid[0], grid[-1] - grid[-2]) if len(grid) > 1 else (1.0, 1.0)
    return xp.concatenate((grid[:1] - low, grid, grid[-1:] + high))


def moments_of(ends: Array, scores: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of people's scores, given by bin (…, K + 1) and uniform within bins."""
    xp, middles, widths = namespace(ends), 0.5 * (ends[:-1] + ends[1:]), ends[1:] - ends[:-1]
    people = xp.maximum(scores.sum(axis=-1), 1e-9)
    mean = (scores * middles).sum(axis=-1) / people
    square = (scores * ((middles - mean[..., None]) ** 2 + widths**2 / 12.0)).sum(axis=-1) / people
    return mean, xp.sqrt(square)


def above(ends: Array, scores: Array, places: Array) -> Array:
    """Count people, given by score bin (…, K + 1), at or above `places` (…, P): all at the first, none at the last."""
    xp, total = namespace(ends), from_above(scores)
    inner = between(ends, total, places[..., 1:-1])
    return xp.concatenate((total[..., :1], inner, xp.zeros_like(total[..., :1])), axis=-1)


def from_above(values: Array) -> Array:
    """Return the sums of values (…, N) from each index on, and a final 0, (…, N + 1)."""
    xp = namespace(values)
    return xp.concatenate((values[..., ::-1].cumsum(axis=-1)[..., ::-1], xp.zeros_like(values[..., :1])), axis=-1)


def between(ends: Array, values: Array, places: Array) -> Array:
    """Interpolate values (…, E), known at increasing `ends` (E,), at `places` (…, P); constant beyond.

    >>> import numpy as np
    >>> between(np.array([0.0, 2.0]), np.array([1.0, 0.0]), np.array([-1.0, 0.5, 3.0])).tolist()
    [1.0, 0.75, 0.0]
    """
    xp = namespace(ends, values, places)
    left = xp.clip(xp.searchsorted(ends, places) - 1, 0, len(ends) - 2)
    part = xp.clip((places - ends[left]) / (ends[left + 1] - ends[left]), 0.0, 1.0)
    left = xp.broadcast_to(left, (*values.shape[:-1], left.shape[-1]))
    low, high = (xp.take_along_axis(values, left + more, axis=-1) for more in (0, 1))
    return low + part * (high - low)
