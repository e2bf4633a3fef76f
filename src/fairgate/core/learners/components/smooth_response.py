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
from fairgate.learners.gaussian_process import smooth_basis
from fairgate.learners.smooth_optimist import (
    ANSWER,
    LENGTH,
    PACES,
    SPREAD,
    START,
    STEEPEST,
    TYPICAL_PRECISION,
    supposed_rates,
)
from fairgate.problem import Feedback


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
