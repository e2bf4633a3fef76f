"""Tables whose truth is known: normal scores in two groups, a logistic label, exact figures of any threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

import fairgate as fg
from fairgate.advice import Aims

Array = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Scores N(means, sds²) in groups of equal share, P(y = 1 | s) = sigmoid(2.5 (s − midpoint))."""

    means: tuple[float, float]
    sds: tuple[float, float]
    midpoint: float
    aims: Aims

    def draw(self, people: int, rng: np.random.Generator, missing: float = 0.0) -> pa.Table:
        """Draw a table; a label is missing with probability `missing` · sigmoid(−2s)."""
        group = rng.integers(2, size=people)
        score = rng.normal(np.take(self.means, group), np.take(self.sds, group))
        label = (rng.random(people) < expit(2.5 * (score - self.midpoint))).astype(float)
        label[rng.random(people) < missing * expit(-2.0 * score)] = np.nan
        return pa.table({"score": score, "label": pa.array(label, from_pandas=True), "group": group})

    def figures(self, thresholds: Any) -> tuple[Array, Array, Array]:
        """Return exact reward (K,), gap (K,) and residuals (3, K)."""
        at = np.atleast_1d(np.asarray(thresholds, dtype=float))
        reward, rates = np.zeros(len(at)), []
        for mean, sd in zip(self.means, self.sds, strict=True):
            grid, below = worth_below(mean, sd, self.midpoint, self.aims.cost)
            reward += 0.5 * (below[-1] - np.interp(at, grid, below))
            rates.append(norm.sf(at, mean, sd))
        gap, overall = np.abs(rates[0] - rates[1]), (rates[0] + rates[1]) / 2.0
        epsilon, low, high = asked(self.aims)
        return reward, gap, np.stack((gap - epsilon, low - overall, overall - high))

    def best(self) -> tuple[float, float]:
        """Return the exact best feasible threshold and its reward."""
        grid = np.linspace(-3.0, 3.0, 6001)
        reward, _, residuals = self.figures(grid)
        allowed = np.where(residuals.max(axis=0) <= 0.0, reward, -np.inf)
        return float(grid[allowed.argmax()]), float(allowed.max())


@cache
def worth_below(mean: float, sd: float, midpoint: float, cost: float) -> tuple[Array, Array]:
    """Return a fine grid of scores, and what accepting everybody of a group who scores less earns per person."""
    grid = np.linspace(-6.0, 6.0, 24001)
    worth = norm.pdf(grid, mean, sd) * ((1.0 + cost) * expit(2.5 * (grid - midpoint)) - cost)
    return grid, np.concatenate(([0.0], np.cumsum((worth[1:] + worth[:-1]) / 2.0 * (grid[1] - grid[0]))))


def asked(aims: Aims) -> tuple[float, float, float]:
    """Return the largest gap, and the lowest and highest share accepted, that parity and service ask for."""
    settings: dict[str, Any] = {"epsilon": 1.0, "low": 0.0, "high": 1.0}
    for constraint in aims.constraints:
        assert isinstance(constraint, (fg.DemographicParity, fg.ServiceRate))
        settings |= vars(constraint)
    return settings["epsilon"], settings["low"], settings["high"]


SERVICE = World(
    (0.2, 0.0), (1.0, 1.0), 0.4, Aims(cost=1.0, constraints=[fg.DemographicParity(0.15), fg.ServiceRate(0.45, 0.8)])
)
"""The service window keeps the best threshold, 0.226, below the unconstrained one, 0.4."""

PARITY = World(
    (0.0, 0.0), (1.0, 0.35), 0.3, Aims(cost=1.0, constraints=[fg.DemographicParity(0.15), fg.ServiceRate(0.2, 0.8)])
)
"""Parity keeps the best threshold, 0.223, below the unconstrained one, 0.3."""
