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
