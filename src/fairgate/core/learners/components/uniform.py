"""Uniform: lotteries that accept every applicant with the same probability."""

from __future__ import annotations

import numpy as np

from fairgate.arrays import Array, namespace
from fairgate.problem import Problem

PROBABILITIES = np.linspace(0.02, 0.98, 49)
"""Acceptance probabilities a uniform lottery may have."""


ROOM = 0.005
"""By how much a uniform lottery must be feasible: people draw their luck."""


def feasible_window(problem: Problem, groups: int) -> tuple[Array, Array]:
    """Return the lowest and highest probability at which a uniform lottery is feasible, one half if none is.

    >>> import fairgate as fg
    >>> low, high = feasible_window(fg.load_task("interior").problem, groups=2)
    >>> float(low), float(high)
    (0.22, 0.78)
    """
    decisions = np.stack((1.0 - PROBABILITIES, PROBABILITIES), axis=-1) / (2 * groups)
    cells = np.broadcast_to(decisions[:, None, None, :], (len(PROBABILITIES), groups, 2, 2))
    residuals = problem.assess(cells).residuals
    xp = namespace(residuals)
    probabilities, feasible = xp.asarray(PROBABILITIES), residuals.max(axis=0, initial=-1.0) <= -ROOM
    low, high = feasible.argmax(), len(PROBABILITIES) - 1 - feasible[::-1].argmax()
    return xp.where(feasible.any(), probabilities[low], 0.5), xp.where(feasible.any(), probabilities[high], 0.5)
