"""DriftModels: each is a Kalman filter, the one that fits is believed, and errors are widened by lack of fit."""

from __future__ import annotations

import numpy as np

from fairgate.core.learners.components.drift_models import DRIFTS, KEPT, LARGEST_MISFIT
from fairgate.learners.drift_models import DriftModels
from fairgate.settings import Array

SPREAD = np.array([1.0, 0.5, 0.2])
RNG = np.random.default_rng(5)


def epochs_of(models: DriftModels, values: Array, features: Array, weight: float, rounds: int = 10) -> None:
    """Play epochs of one observation each: values and features by epoch."""
    rows, direction = np.ones(1, dtype=bool), np.array([[[1.0, 0.0, 0.0]]])
    for value, each in zip(values, features, strict=True):
        models.begin(rows, each[None, None], direction, np.full(1, rounds))
        models.add(each[None, None], np.full((1, 1), weight), np.full((1, 1), value))
        models.end(rows)


def test_each_model_is_a_kalman_filter() -> None:
    """In covariance form, written for one group: covariance grows along the direction of drift, then shrinks."""
    models = DriftModels.of({"R": 1, "G": 1}, SPREAD)
    features, values = RNG.normal(size=(6, 3)), RNG.normal(scale=0.1, size=6)
    epochs_of(models, values, features, weight=50.0)
    for place, drift in enumerate(DRIFTS):
        mean, covariance = np.zeros(3), np.diag(SPREAD**2)
        for value, each in zip(values, features, strict=True):
            covariance[0, 0] += 10 * drift**2
            gain = covariance @ each / (each @ covariance @ each + 1 / 50)
            mean = mean + gain * (value - each @ mean)
            covariance = covariance - np.outer(gain, each @ covariance)
        found = np.linalg.inv(models.information[place, 0, 0])
        np.testing.assert_allclose(found, covariance, atol=1e-10)
        np.testing.assert_allclose(found @ models.evidence[place, 0, 0], mean, atol=1e-10)


def test_a_jump_is_followed_and_no_drift_is_believed_where_there_is_none() -> None:
    still, jumps = (DriftModels.of({"R": 1, "G": 1}, SPREAD) for _ in range(2))
    features = np.tile([1.0, 0.0, 0.0], (60, 1))
    noise = RNG.normal(scale=0.02, size=60)
    epochs_of(still, noise, features, weight=0.02**-2)
    epochs_of(jumps, noise + np.where(np.arange(60) < 40, 0.0, 0.2), features, weight=0.02**-2)
    assert still.best.tolist() == [0]
    means, _ = jumps.solved()
    assert abs(means[0, 0, 0] - 0.2) < 0.02
    left = np.linalg.inv(jumps.information[0, 0, 0])[0, 0]
    assert left > 0.02**2 / 40  # the model without drift started again


def test_errors_are_widened_by_lack_of_fit() -> None:
    """The noise has three times the standard deviation that weights tell, so squared errors are nine times as large."""
    models = DriftModels.of({"R": 1, "G": 400}, SPREAD)
    rows, direction = np.ones(1, dtype=bool), np.zeros((1, 400, 3))
    features = np.broadcast_to(np.array([1.0, 0.0, 0.0]), (1, 400, 3))
    for _ in range(60):
        models.begin(rows, features, direction, np.ones(1, dtype=np.int64))
        models.add(features, np.full((1, 400), 1e4), RNG.normal(scale=0.03, size=(1, 400)))
        models.end(rows)
    count = 1 / (1 - KEPT)  # epochs that are remembered
    squares = np.minimum(9 * RNG.chisquare(1, 1_000_000), LARGEST_MISFIT).mean()
    assert abs(models.factor[0, 0].mean() - (count * squares + 5) / (count + 5)) < 0.25
    _, covariance = models.solved()
    plain = np.linalg.inv(models.information[0])
    np.testing.assert_allclose(covariance, plain * models.factor[models.best[0], :, :, None, None])


def test_an_epoch_without_observations_changes_no_model() -> None:
    models = DriftModels.of({"R": 2, "G": 1}, SPREAD)
    before = models.support.copy()
    rows, features = np.array([True, False]), np.ones((2, 1, 3))
    models.begin(rows, features, np.zeros_like(features), np.zeros(2, dtype=np.int64))
    models.add(features, np.zeros((2, 1)), np.ones((2, 1)))
    models.end(rows)
    np.testing.assert_array_equal(models.support, before)
    np.testing.assert_array_equal(models.information, np.broadcast_to(np.diag(SPREAD**-2.0), (3, 2, 1, 3, 3)))
