"""The best feasible thresholds per group, all combinations of the grid or, of many groups, a search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairgate.oracle.policies import PolicyPoint, point_of, ranked
from fairgate.policy import Policy
from fairgate.problem import Assessment
from fairgate.settings import Array
from fairgate.tasks import Task

ALL = 300_000
"""Combinations of thresholds up to which all are looked at, if groups settle on their own."""

COUPLED = 20_000
"""The same, if each combination's steady state must be solved by itself."""

AT_ONCE = 20_000
"""Combinations looked at together, so that memory stays small."""

KEPT = 24
"""Combinations around which a search goes on."""

Places = NDArray[np.int64]
Cells = Callable[[Places], Array]


def best_per_group(task: Task) -> tuple[PolicyPoint, int, bool]:
    """Find the best thresholds of the grid, one per group; also say how many were looked at, and whether all were."""
    groups, grid = task.environment.group_count, task.thresholds
    cells, alone = _solver(task)
    exhaustive = len(grid) ** groups <= (ALL if alone else COUPLED)
    if exhaustive:
        best, searched = _enumerated(task, cells, groups)
    else:
        best, searched = _searched(task, cells, groups)
    return point_of(task, Policy.of(grid[best][None])), searched, exhaustive


def _solver(task: Task) -> tuple[Cells, bool]:
    """Return what gives the steady state of combinations (N, groups), and whether groups settle on their own.

    If a group's people depend on its own threshold alone, one sweep of the grid has the steady states of all
    combinations. That is tried on some drawn at random.
    """
    groups, grid = task.environment.group_count, task.thresholds
    table = task.environment.long_run_cells(Policy.shared(grid, groups))  # (K, groups, 2, 2)
    own = np.arange(groups)

    def assembled(places: Places) -> Array:
        return np.asarray(table[places, own])

    def solved(places: Places) -> Array:
        return task.environment.long_run_cells(Policy.of(grid[places]))

    tried = np.random.default_rng(0).integers(len(grid), size=(200, groups))
    alone = bool(np.abs(assembled(tried) - solved(tried)).max() <= 1e-9)
    return (assembled if alone else solved), alone


def _enumerated(task: Task, cells: Cells, groups: int) -> tuple[Places, int]:
    """Look at all combinations, some at a time."""
    shape = (len(task.thresholds),) * groups
    total = int(np.prod(shape))
    best: list[Places] = []
    for low in range(0, total, AT_ONCE):
        places = np.stack(np.unravel_index(np.arange(low, min(low + AT_ONCE, total)), shape), axis=1)
        best.append(places[ranked(task.problem.assess(cells(places)))[0]])
    top = np.stack(best)
    return top[ranked(task.problem.assess(cells(top)))[0]], total


def _searched(task: Task, cells: Cells, groups: int) -> tuple[Places, int]:
    """Move one group, two, all or all but one from the most promising combinations, until none is better.

    The search begins with the same threshold for all, and with thresholds of equal acceptance.
    """
    count = len(task.thresholds)
    shared = np.repeat(np.arange(count)[:, None], groups, axis=1)
    rates = _rates(cells(shared))  # (K, groups)
    levels = np.linspace(rates.min(), rates.max(), 2 * count)
    equal = np.abs(rates[:, None] - levels[:, None]).argmin(axis=0)
    best = np.concatenate((shared, equal))
    moves, searched, step = _moves(groups), 0, max(1, count // 8)
    before: Places | None = None
    while True:
        tried = np.clip(best[:, None] + step * moves, 0, count - 1).reshape(-1, groups)
        tried = np.unique(tried, axis=0)
        parts = [tried[low : low + AT_ONCE] for low in range(0, len(tried), AT_ONCE)]
        found = [task.problem.assess(cells(part)) for part in parts]
        searched += len(tried)
        joined = Assessment(
            np.concatenate([each.reward for each in found]), np.concatenate([each.residuals for each in found], axis=1)
        )
        best = tried[ranked(joined)[:KEPT]]
        if before is not None and np.array_equal(best[0], before):
            if step == 1:
                return best[0], searched
            step = step // 2
        before = best[0]


def _moves(groups: int) -> Places:
    """Return moves (C, groups): none, one group, two the same or opposite ways, all, and all but one."""
    alone, none = np.eye(groups, dtype=np.int64), np.zeros((1, groups), dtype=np.int64)
    first, second = np.triu_indices(groups, 1)
    ways = np.concatenate((alone, alone[first] + alone[second], alone[first] - alone[second], none + 1, 1 - alone))
    return np.unique(np.concatenate((none, ways, -ways)), axis=0)


def _rates(cells: Array) -> Array:
    """Acceptance rate of each group, (N, groups)."""
    return np.asarray(cells[..., 1].sum(axis=2) / cells.sum(axis=(2, 3)))
