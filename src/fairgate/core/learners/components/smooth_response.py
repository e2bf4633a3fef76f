"""SmoothResponse: acceptance and share of positives of each threshold, estimated as smooth functions of it."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.drift_models import DriftModels
from fairgate.core.learners.components.regression import Regression
from fairgate.core.learners.components.worth import Rates
from fairgate.core.setting import Setting
from fairgate.problem import Feedback

LENGTH, SPREAD = 0.15, 0.3
"""Correlation length of the curves, as a share of the grid: a curve that falls from 1 to 0 within a third of it is
likely; and their standard deviation around the prior mean: all but the ends of [0, 1] are within two of them."""

TYPICAL_PRECISION = 0.6
"""Share of positives among the accepted that is supposed before anybody has been seen."""

PACES = np.array([0.25, 0.08, 0.025, 0.008])
"""Shares per round at which people may forget how many were accepted: within 4 to 125 rounds, in steps of three."""

ANSWER, START = 0.2, 0.1
"""Prior standard deviations of how much acceptance answers to each moving average of acceptance (together 0.4: half of
what could be stable), and of how far the start lies from where the first threshold leads, at each pace."""

STEEPEST = (-2.0, 0.9)
"""Answers in all are cut to this range: at 1 there would be no steady state."""


@record
class SmoothResponse:
    """Regressions on a smooth curve over the grid, moving averages of acceptance, and an initial effect that fades.

    Attributes
    ----------
    acceptance, labels
        Regressions of acceptance, and of the share of positives among the accepted.
    average
        Moving averages of acceptance, one per pace, (groups, P).
    rates, precisions
        Last predictions of acceptance and share of positives, (groups, K), which determine variances.
    arrivals
        Discounted number of people in recent rounds, (groups,).
    """

    acceptance: DriftModels
    labels: Regression
    average: Array
    rates: Array
    precisions: Array
    arrivals: Array

    @classmethod
    def unknown(cls, setting: Setting) -> SmoothResponse:
        """Return the estimates before any observation."""
        xp, arms, groups = namespace(setting.grid), len(setting.grid), setting.groups
        spread = np.repeat((1.0, ANSWER, START), (curves(arms)[0].shape[1], len(PACES), len(PACES)))
        covariance = xp.zeros((groups, 1, 1)) + xp.diag(xp.asarray(spread**2))
        return cls(
            DriftModels.unknown(setting, spread),
            Regression(xp.zeros((groups, len(spread))), covariance),
            xp.full((groups, len(PACES)), 0.5),
            xp.zeros((groups, arms)) + supposed_rates(arms),
            xp.full((groups, arms), TYPICAL_PRECISION),
            xp.ones(groups),
        )

    def begun(self, arm: Array, age: Array, rounds: Array) -> SmoothResponse:
        """Return the response at the start of an epoch of `rounds` rounds; all odds of acceptance drift alike."""
        xp, (basis, levels) = namespace(self.rates), curves(self.rates.shape[1])
        shift = (4.0 * self.rates * (1.0 - self.rates)) @ xp.asarray(levels.T)
        direction = xp.concatenate((shift, xp.zeros((len(shift), 2 * len(PACES)))), axis=1)
        features = features_of(xp.asarray(basis)[arm], self.average, age)
        return replace(self, acceptance=self.acceptance.begun(features, direction, rounds))

    def ended(self) -> SmoothResponse:
        """Return the response after an epoch, with its models evaluated on that epoch."""
        return replace(self, acceptance=self.acceptance.ended())

    def with_round(self, here: Array, age: Array, feedback: Feedback) -> SmoothResponse:
        """Return the response after a round on the threshold marked in `here`, (K,).

        Without a marked threshold, the regressions stay unchanged.
        """
        xp, seen = namespace(self.rates), feedback.observation
        rate, positives = (
            part / xp.maximum(whole, 1.0)
            for part, whole in ((seen.accepted, seen.people), (seen.positives, seen.accepted))
        )
        expected, share = xp.clip(self.rates @ here, 0.02, 0.98), xp.clip(self.precisions @ here, 0.05, 0.95)
        weight = here.sum() * seen.people / (expected * (1.0 - expected))
        label_weight = here.sum() * seen.accepted / (share * (1.0 - share))
        features = features_of(here @ xp.asarray(curves(len(here))[0]), self.average, age)
        supposed = here @ xp.asarray(supposed_rates(len(here)))
        moved = xp.where(seen.people[:, None] > 0, xp.asarray(PACES) * (rate[:, None] - self.average), 0.0)
        return replace(
            self,
            acceptance=self.acceptance.with_value(features, weight, rate - supposed),
            labels=self.labels.with_value(features, label_weight, positives - TYPICAL_PRECISION),
            average=self.average + moved,
            arrivals=self.arrivals + seen.people - PACES[-1] * self.arrivals,
        )

    def steady(self) -> Rates:
        """Return the rates of every threshold in its steady state, where moving averages equal the rates."""
        xp, (groups, arms) = namespace(self.rates), self.rates.shape
        basis, believed = xp.asarray(curves(arms)[0]), self.acceptance.believed()
        smooth, lasting = basis.shape[1], basis.shape[1] + len(PACES)
        slope = xp.clip(believed.mean[:, smooth:lasting].sum(axis=1), *STEEPEST)[:, None]
        curve = xp.asarray(supposed_rates(arms)) + believed.mean[:, :smooth] @ basis.T
        rates = xp.clip((curve - 0.5 * slope) / (1.0 - slope), 0.0, 1.0)
        averages = (rates - 0.5)[:, :, None] + xp.zeros(len(PACES))
        settled = xp.concatenate((xp.zeros((groups, 1, 1)) + basis, averages), axis=2)
        variance, label_variance = (
            ((settled @ each.covariance[:, :lasting, :lasting]) * settled).sum(axis=2)
            for each in (believed, self.labels)
        )
        precision = TYPICAL_PRECISION + (settled * self.labels.mean[:, None, :lasting]).sum(axis=2)
        positives = rates * xp.clip(precision, 0.0, 1.0)
        error = xp.sqrt(xp.maximum(variance / (1.0 - slope) ** 2, 1e-12))
        label_error = rates * xp.sqrt(xp.maximum(label_variance, 1e-12))
        return Rates(self.arrivals / self.arrivals.sum(), rates, positives, positives, error, label_error)


def features_of(curve: Array, average: Array, age: Array) -> Array:
    """Return the features (groups, F): smooth functions at a threshold (M,), averages (groups, P), initial effect."""
    xp, groups = namespace(curve, average), len(average)
    first, last = (xp.zeros((groups, 1)) + each for each in (curve, (1.0 - xp.asarray(PACES)) ** age))
    return xp.concatenate((first, average - 0.5, last), axis=1)


@functools.cache
def curves(arms: int) -> tuple[Array, Array]:
    """Return smooth functions over the grid (K, M), and the matrix that maps a curve to their weights, (M, K)."""
    basis = smooth_basis(arms, LENGTH, SPREAD)
    return basis, np.linalg.pinv(basis, rcond=0.01)


def smooth_basis(arms: int, length: float, spread: float) -> Array:
    r"""Return functions (K, M) whose sums with independent standard normal weights are smooth curves over the grid.

    The curves have the covariance :math:`s^2 \exp(-d^2 / 2 \ell^2)` at distance d, as a share of the grid, with
    :math:`\ell` the `length` and s the `spread`. Directions that hardly vary are left out, so M is far below K.

    >>> basis = smooth_basis(41, length=0.15, spread=0.3)
    >>> basis.shape, np.sqrt((basis**2).sum(axis=1)).round(2).min().item()
    ((41, 13), 0.3)
    """
    places = np.arange(arms) / max(arms - 1, 1)
    values, vectors = np.linalg.eigh(np.exp(-0.5 * ((places[:, None] - places) / length) ** 2))
    kept = values > 1e-5 * values.max()
    return np.asarray(spread * vectors[:, kept] * np.sqrt(values[kept]))


def supposed_rates(arms: int) -> Array:
    """Return the acceptance rates that are supposed before anybody has been seen, (K,): from nearly all to nobody."""
    return np.linspace(0.98, 0.02, arms) if arms > 1 else np.full(1, 0.5)
