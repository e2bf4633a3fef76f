"""Steady-state prediction: what any policy leads to if it is kept, and how well that is known.

In the steady state the transient is gone and the moving average of acceptance is the acceptance rate itself, so that
the acceptance rate of a threshold θ solves the fixed point acc = S(θ; acc).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.forecast.prediction import Prediction
from fairgate.learners.forecast.response import SPEEDS, Fit, ResponseModel, terms
from fairgate.settings import Array

STEEPEST = 0.9
"""Largest slope of S in acc that is believed: beyond, a steady state would hardly be one."""

NEWTON_STEPS = 8
"""Steps to the fixed point acc = S(θ; acc), from ½; more change nothing."""

DISTRUST = 0.2
"""Error of a shifted prediction per unit of acceptance between what was played and what is asked about."""


def slope(coefficients: Array, rates: Array) -> Array:
    """Return how much S of terms (R, G, 4, C) changes with acceptance at `rates` (R, G, C), as far as is believed."""
    return np.clip(coefficients[:, :, 1] + 2.0 * coefficients[:, :, 2] * (rates - 0.5), -STEEPEST, STEEPEST)


def fixed_point(coefficients: Array) -> tuple[Array, Array]:
    """Return the acceptance rates that terms (R, G, 4, C) lead to, acc = S(acc), and the slopes of S there."""
    level, linear, curve = np.ascontiguousarray(np.moveaxis(coefficients[:, :, :3], 2, 0))  # each term lies together
    twice, rates = 2.0 * curve, np.full(level.shape, 0.5)
    for _ in range(NEWTON_STEPS):
        away = rates - 0.5
        steep = (linear + twice * away).clip(-STEEPEST, STEEPEST)
        rates = (rates - (rates - (level + away * (linear + away * curve))) / (1.0 - steep)).clip(0.0, 1.0)
    return rates, (linear + twice * (rates - 0.5)).clip(-STEEPEST, STEEPEST)


def steady(coefficients: Array, rates: Array) -> Array:
    """Return the value of terms (R, G, 4, C) in the steady state of `rates` (R, G, C)."""
    away = rates - 0.5
    return coefficients[:, :, 0] + away * (coefficients[:, :, 1] + away * coefficients[:, :, 2])


def leverage(inverse: Array, rates: Array) -> Array:
    """Return the variance of S in the steady state of `rates` (R, G, C), in units of the noise."""
    return steady((terms(rates) @ inverse).swapaxes(2, 3), rates)


class SteadyStates(NamedTuple):
    """Predicts the steady state of any policy, in R replicates.

    Where predictions have failed, the misfit of what was played recently is added to them.
    """

    fit: Fit  # the response model's
    shares: Array  # of each group, (R, G)
    people: Array  # of each group so far, and in a batch, (2, R, G)
    failures: NDArray[np.int64]  # of predictions, (R,): 0, 1 or 2
    shift: Array  # what to add to rates and to positives, (2, R, G); 0 where predictions have not failed
    weight: Array  # people the shift is known from, (R, G)
    near: Array  # predicted rate of what was played meanwhile, (R, G)

    @classmethod
    def trusted(cls, model: ResponseModel, rows: NDArray[np.int64], fit: Fit) -> SteadyStates:
        """Predict by the fit alone in replicates `rows`."""
        people = model.arrivals[rows]
        batch = people / np.maximum(model.age[rows], 1)[:, None]
        none, zero = np.zeros(len(rows), dtype=np.int64), np.zeros((4, *people.shape))
        return cls(fit, model.shares(rows), np.stack((people, batch)), none, zero[:2], zero[2], zero[3])

    def thresholds(self) -> Prediction:
        """Predict every shared threshold of the grid."""
        coefficients, positives = self.fit.rates[..., 1:-1], self.fit.positives[..., 1:-1]
        rates = np.minimum.accumulate(fixed_point(coefficients)[0], axis=-1)  # who is above one is above lower ones
        good = np.clip(steady(positives, rates), 0.0, rates)
        return self.predict(rates, good, slope(coefficients, rates), fluctuating=False)

    def predict(
        self, rates: Array, positives: Array, steep: Array, spread: Array | None = None, fluctuating: bool = True
    ) -> Prediction:
        """Make a prediction (R, G, C) of steady rates, positives, and slopes of S in acceptance.

        `spread` is the variance, over the scores of a group, of the probability of acceptance: p(1 − p) for a
        threshold, and by default; 0 for a uniform lottery, whose rate is certain. The error of a rate has two parts:
        that of the fit, and the fluctuation of the state as batches differ,

            var(h) = ρ² · p(1 − p) / n / (1 − (1 − ρ(1 − S′))²),

        which moves rates by S′ times as much; only if `fluctuating` does the second count. Where predictions have
        failed, the first is that of the shift.
        """
        everybody, batch = self.people[..., None]
        noise = np.maximum(rates * (1.0 - rates), 1.0 / np.maximum(everybody, 1.0))
        spread = noise if spread is None else spread
        fitted = spread * leverage(self.fit.inverse, rates) / (1.0 - steep) ** 2
        failed = self.failures[:, None, None] > 0
        away = DISTRUST * (rates - self.near[..., None])
        variance = np.where(failed, noise / np.maximum(self.weight[..., None], 1.0) + away**2, fitted)
        label_error = np.where(failed, np.sqrt(variance), 0.0)
        if fluctuating:
            speed = SPEEDS[self.fit.speed][:, None, None]
            moved = speed**2 * noise / np.maximum(batch, 1.0) / (1.0 - (1.0 - speed * (1.0 - steep)) ** 2)
            variance = variance + steep**2 * moved
        shifted = np.clip(rates + self.shift[0][..., None], 0.0, 1.0)
        good = np.clip(positives + self.shift[1][..., None], 0.0, shifted)
        everyone = np.clip(steady(self.fit.positives[..., :1], rates), good, 1.0)
        return Prediction(self.shares, shifted, good, everyone, np.sqrt(variance), label_error)
