"""Regression: linear regressions whose coefficients are given by mean and covariance."""

from __future__ import annotations

from fairgate.arrays import Array, record


@record
class Regression:
    """Coefficients of F features: mean (…, F) and covariance (…, F, F)."""

    mean: Array
    covariance: Array

    def predict(self, features: Array) -> Array:
        """Return the mean of a value with these features (…, F), (…,)."""
        return (self.mean * features).sum(axis=-1)

    def variance(self, features: Array) -> Array:
        """Return the variance of that mean, (…,)."""
        return (self._along(features) * features).sum(axis=-1)

    def with_value(self, features: Array, weight: Array, value: Array) -> Regression:
        r"""Return the regression after a value (…,) whose variance is 1 over its weight: the Kalman update.

        With v = Σx, the gain is :math:`w / (1 + w x^\top v)`; a weight of 0 changes nothing.

        >>> import numpy as np
        >>> Regression(np.zeros(1), np.eye(1)).with_value(np.ones(1), 3.0, 1.0)
        Regression(mean=array([0.75]), covariance=array([[0.25]]))
        """
        along = self._along(features)
        gain = weight / (1.0 + weight * (along * features).sum(axis=-1))
        mean = self.mean + (gain * (value - self.predict(features)))[..., None] * along
        lost = gain[..., None, None] * along[..., :, None] * along[..., None, :]
        return Regression(mean, self.covariance - lost)

    def drifted(self, direction: Array, variance: Array) -> Regression:
        """Return the regression after a random move of this variance along a direction (…, F)."""
        moved = variance[..., None, None] * direction[..., :, None] * direction[..., None, :]
        return Regression(self.mean, self.covariance + moved)

    def _along(self, features: Array) -> Array:
        return (self.covariance * features[..., None, :]).sum(axis=-1)
