"""Decisions whose truth is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm

Array = NDArray[np.float64]

COST = 0.25


def drawn(people: int, rng: np.random.Generator, floor: float = 0.15) -> pa.Table:
    """Scores N(±0.2, 1) in two groups, P(good | s) = sigmoid(2 s); accepted for sure from 0.5, by lottery from −0.5.

    Labels are known of the accepted only.
    """
    group = rng.integers(2, size=people)
    score = rng.normal(0.4 * group - 0.2, 1.0)
    chance = np.where(score >= 0.5, 1.0, np.where(score >= -0.5, floor + 0.3 * (group == 1), 0.0))
    accepted = rng.random(people) < chance
    label = (rng.random(people) < expit(2.0 * score)).astype(float)
    return pa.table(
        {
            "score": score,
            "group": group,
            "accepted": accepted.astype(int),
            "chance": chance,
            "good": pa.array(np.where(accepted, label, np.nan), from_pandas=True),
        }
    )


def true_value(threshold: float, cost: float = COST) -> float:
    """Reward per person of accepting scores from a threshold, by quadrature."""
    grid = np.linspace(threshold, 8.0, 20001)
    density = 0.5 * norm.pdf(grid, -0.2, 1.0) + 0.5 * norm.pdf(grid, 0.2, 1.0)
    worth = density * ((1.0 + cost) * expit(2.0 * grid) - cost)
    return float(np.sum((worth[1:] + worth[:-1]) / 2.0) * (grid[1] - grid[0]))
