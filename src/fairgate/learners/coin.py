"""The fair coin: everybody has the same chance of acceptance, whatever score or group, so that no group is ahead."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array

CHANCES = np.linspace(0.02, 0.98, 49)
"""Chances of acceptance the coin may have."""

ROOM = 0.005
"""How far from its limits the coin stays."""


def allowed(problem: Problem, groups: int) -> Array:
    """Return the lowest and highest chance at which the coin meets every constraint, (2, R), one half if none does.

    R is the problem's number of replicates, or 1.
    """
    cells = np.zeros((len(CHANCES), 1, groups, 2, 2))
    cells[..., 1, :] = cells[..., 0, :] = 0.5 * np.stack((1.0 - CHANCES, CHANCES), axis=-1)[:, None, None, :] / groups
    residuals = problem.assess(np.repeat(cells, problem.replicates or 1, axis=1)).residuals
    fine = residuals.max(axis=0, initial=-1.0) <= -ROOM
    ends = CHANCES[fine.argmax(axis=0)], CHANCES[len(CHANCES) - 1 - fine[::-1].argmax(axis=0)]
    return np.where(fine.any(axis=0), ends, 0.5)


def toss(policy: Policy, where: NDArray[np.bool_], chance: Array) -> Policy:
    """Put the coin in place of a lottery of two thresholds or more, in some replicates (R,), with its chance (R,).

    >>> one = Policy(np.array([[[0.5]], [[np.inf]]]), np.array([[1.0], [0.0]]))
    >>> coin = toss(one, np.array([True]), np.array([0.75]))
    >>> coin.thresholds.tolist(), coin.weights.tolist()
    ([[[-inf]], [[inf]]], [[0.75], [0.25]])
    """
    thresholds, weights = policy.thresholds.copy(), policy.weights.copy()
    thresholds[0, where], thresholds[1:, where] = -np.inf, np.inf
    weights[0, where], weights[1, where], weights[2:, where] = chance[where], 1.0 - chance[where], 0.0
    return Policy(thresholds, weights)
