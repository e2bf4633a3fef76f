"""Gaussian processes over the grid of thresholds, for many replicates and groups at once."""

from __future__ import annotations

import numpy as np

from fairgate.settings import Array


def posterior(kernel: Array, noise: Array, surprise: Array) -> tuple[Array, Array]:
    """Return how far observations move the prior means, (…, K, S), and the variance that is left, (…, K).

    The K thresholds have the prior covariance `kernel`, of a shape that broadcasts to (…, K, K). `surprise` is
    observation minus prior mean of S quantities, (…, K, S), 0 where there is none; `noise` is the variance of each
    threshold's observation, (…, K), very large where there is none. One as uncertain as the prior moves it half of the
    way, and halves its variance:

    >>> shift, left = posterior(np.eye(2), np.array([1.0, 1e6]), np.array([[0.4], [0.0]]))
    >>> shift.round(3).tolist(), left.round(3).tolist()
    ([[0.2], [0.0]], [0.5, 1.0])
    """
    system = kernel + noise[..., None] * np.eye(noise.shape[-1])
    kernel = np.broadcast_to(kernel, system.shape)
    count = surprise.shape[-1]
    solved = np.linalg.solve(system, np.concatenate((surprise, kernel), axis=-1))
    left = np.diagonal(kernel, axis1=-2, axis2=-1) - (kernel * solved[..., count:].swapaxes(-1, -2)).sum(axis=-1)
    return kernel @ solved[..., :count], left
