"""The best feasible uniform lottery: everybody is accepted with the same probability, whatever the score or group."""

from __future__ import annotations

import numpy as np

from fairgate.oracle.policies import PolicyPoint, point_of, ranked
from fairgate.policy import Policy
from fairgate.tasks import Task

COARSE = np.linspace(0.0, 1.0, 41)
"""Probabilities that are solved first; the best of them are looked between."""

KEPT = 3
"""Probabilities between whose neighbours the search goes on."""

FINER = 10
"""Probabilities tried between two neighbours, in every step."""

EXACT = 1e-7
"""Distance of neighbours at which the search ends: rewards change by less than some 1e-6 on it."""


def best_uniform(task: Task) -> PolicyPoint:
    """Return the best feasible uniform lottery in its steady state; if none is feasible, the one that violates least.

    Reward and residuals change steadily with the probability, so that the best one lies between the neighbours of the
    best of a few: these are tried in finer and finer steps, down to 1e-7.

    Examples
    --------
    >>> import fairgate as fg
    >>> best = best_uniform(fg.load_task("mean-shift"))
    >>> best.feasible, bool(best.reward >= -0.058)
    (True, True)
    """
    tried, distance = COARSE, float(COARSE[1])
    while True:
        policy = Policy.uniform(tried, task.environment.group_count)
        order = ranked(task.problem.assess(task.environment.long_run_cells(policy)))
        if distance <= EXACT:
            return point_of(task, Policy.uniform(tried[order[:1]], task.environment.group_count))
        steps = np.linspace(-distance, distance, 2 * FINER + 1)
        tried = np.unique(np.clip(np.add.outer(tried[order[:KEPT]], steps), 0.0, 1.0))
        distance /= FINER
