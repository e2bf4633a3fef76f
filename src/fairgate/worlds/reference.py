"""Reference: what the best fixed policies of a world earn in the long run, which learners are measured by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairgate.environments.drift import Drift
from fairgate.environments.responsive_scores import ResponsiveScores
from fairgate.oracle.lottery import QUICK, best_lottery
from fairgate.oracle.policies import ranked, steady_cells
from fairgate.policy import Policy
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array
from fairgate.tasks import Task
from fairgate.thresholds import exact_sweep
from fairgate.truth import changes

PROBABILITIES = np.linspace(0.0, 1.0, 41)
"""Acceptance probabilities of the uniform lotteries that are tried."""

MOMENTS = 10
"""Moments, at most, at which a task that changes by itself is looked at."""


class Reference(NamedTuple):
    """What the best fixed policies earn per person and round, each in its own steady state.

    Attributes
    ----------
    fair
        The best feasible uniform lottery, which accepts everybody with the same probability; NaN if none is.
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
    policy = Policy.uniform(PROBABILITIES, task.environment.group_count)
    uniform = task.problem.assess(steady_cells(task, policy))
    first = ranked(uniform)[0]
    fair = float(uniform.reward[first]) if is_feasible(uniform.residuals)[first] else np.nan
    best = best_lottery(task, QUICK)[0]
    lottery = best.reward if best.feasible else np.nan
    return Reference(fair, threshold, _highest(fair, threshold, lottery), float(violation(sweep.residuals).min()))


def _highest(*rewards: float) -> float:
    known = [reward for reward in rewards if not np.isnan(reward)]
    return max(known, default=np.nan)


def moments_of(task: Task, rounds: int) -> Array:
    """Return the rounds at which a task is looked at: 0, and if it changes by itself, its jump or up to nine others.

    >>> import fairgate as fg
    >>> [len(moments_of(fg.load_task(name), 3000)) for name in ("interior", "shock", "drift")]
    [1, 2, 10]
    """
    environment = task.environment
    if isinstance(environment, Drift | ResponsiveScores) and not np.any(environment.swing):
        jump = float(np.max(environment.jump_round)) if np.any(environment.jump) else 0.0
        return np.array(sorted(first for first in {0.0, jump} if first < rounds))
    found = np.array(list(changes(environment, rounds)), dtype=np.float64)
    return found if len(found) <= MOMENTS else found[np.arange(MOMENTS) * len(found) // MOMENTS]
