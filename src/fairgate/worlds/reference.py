"""Reference: what the best fixed policies of a world earn in the long run, which learners are measured by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairgate.environments.base import Environment
from fairgate.oracle.lottery import CAREFUL, QUICK, best_lottery
from fairgate.oracle.uniform import best_uniform
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array
from fairgate.tasks import Task
from fairgate.thresholds import exact_sweep
from fairgate.truth import EVERY, changes

MOMENTS = 10
"""Moments, at most, at which a task that changes by itself is looked at."""


class Reference(NamedTuple):
    """What the best fixed policies earn per person and round, each in its own steady state.

    Attributes
    ----------
    fair
        The best feasible uniform lottery, which accepts everybody with the same probability, exactly; NaN if none is.
    threshold
        The best feasible threshold of the grid; NaN if none is.
    lottery
        The best feasible lottery of up to two thresholds of the grid, everybody and nobody among them; NaN if none is.
    least
        Least violation of any threshold of the grid; 0 if one is feasible.
    """

    fair: float
    threshold: float
    lottery: float
    least: float


def reference_of(task: Task) -> Reference:
    """Solve a task that stays as it is.

    >>> import fairgate as fg
    >>> found = reference_of(fg.load_task("interior"))
    >>> found.fair < found.threshold <= found.lottery, found.least
    (True, 0.0)
    """
    sweep = exact_sweep(task, task.thresholds)
    feasible = is_feasible(sweep.residuals)
    threshold = float(sweep.best.reward) if feasible.any() else np.nan
    uniform = best_uniform(task)
    fair = uniform.reward if uniform.feasible else np.nan
    best = best_lottery(task, QUICK if feasible.any() else CAREFUL)[0]
    lottery = best.reward if best.feasible else np.nan
    return Reference(fair, threshold, _highest(fair, threshold, lottery), float(violation(sweep.residuals).min()))


def _highest(*rewards: float) -> float:
    known = [reward for reward in rewards if not np.isnan(reward)]
    return max(known, default=np.nan)


def moments_of(task: Task, rounds: int) -> Array:
    """Return the rounds at which a task is looked at: 0, and if it changes by itself, at most nine others.

    If it changes seldom, these are the rounds in which it does; else they are evenly spaced, and the last round.

    >>> import fairgate as fg
    >>> moments_of(fg.load_task("interior"), 3000), moments_of(fg.load_task("shock"), 3000)
    (array([0.]), array([   0., 1500.]))
    >>> moments_of(fg.load_task("drift"), 3000)[[0, 1, -2, -1]]
    array([   0.,  325., 2650., 2999.])
    """
    found = list(changes(task.environment, rounds))
    if len(found) > MOMENTS:
        even = [found[place * len(found) // (MOMENTS - 1)] for place in range(MOMENTS - 1)]
        found = sorted({*even, rounds - 1})
    else:
        found = [_since(task.environment, first) for first in found]
    return np.array(found, dtype=np.float64)


def _since(environment: Environment, first: int) -> int:
    """Return the first round in which an environment is as it was when it was next looked at, by bisection."""
    now, low, high = environment.at(first).describe(), max(first - EVERY, -1), first
    while high - low > 1:
        middle = (low + high) // 2
        same = environment.at(middle).describe() == now
        low, high = (low, middle) if same else (middle, high)
    return high
