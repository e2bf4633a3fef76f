"""Sensitivity: what the advice would be if labels that are missing were not like those that are known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.steady import Response, steady_cells
from fairgate.counts import Counts
from fairgate.people.applicants import Applicants
from fairgate.problem import Problem
from fairgate.settings import Array

HALVINGS = 60
"""Steps of the bisection, enough for all digits."""


def reward_at(applicants: Applicants, problem: Problem, response: Response, odds: float) -> Array:
    """Return every threshold's reward, (K,), if missing labels have so many times the odds of being bad."""
    filled = applicants.label_model.fill(applicants.counts, odds)
    return np.asarray(problem.utility.reward(Counts(steady_cells(filled, response))))


def reward_bounds(applicants: Applicants, problem: Problem, response: Response) -> tuple[Array, Array]:
    """Return every threshold's reward if all missing labels were bad, and if all were good (Manski), (K,) each.

    Whatever the missing labels are, the reward on these people lies between the two.
    """
    worst, best = (reward_at(applicants, problem, response, odds) for odds in (math.inf, 0.0))
    return worst, best


def flips_at(
    applicants: Applicants, problem: Problem, response: Response, cut: int, rivals: NDArray[np.bool_]
) -> float | None:
    """Return the odds ratio of a bad label, without one against with one, at which threshold number `cut` is not best.

    That is the smallest ratio of at least 1 at which one of the `rivals` (K,) earns more, or accepting nobody does;
    None if it stays the best even if all missing labels are bad. Score and group are the same on both sides of the
    ratio. Where more people are accepted, missing labels weigh more: what a higher threshold earns less is worth the
    less the higher the ratio, so that there is one point at which it is made up for, and bisection finds it.
    """
    if not applicants.missing:
        return None

    def flips(odds: float) -> bool:
        reward = reward_at(applicants, problem, response, odds)
        return bool(reward[cut] < -1e-12 or np.where(rivals, reward, -np.inf).max() > reward[cut] + 1e-12)

    if flips(1.0):
        return 1.0
    if not flips(math.inf):
        return None
    low, high = 0.0, 1.0  # of the logarithm
    while not flips(math.exp(high)):
        low, high = high, 2.0 * high
        if high > 500.0:
            return None
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if flips(math.exp(middle)) else (middle, high)
    return math.exp(high)
