"""How fast every learner runs: rounds per second at 100 replicates on one core, beside OFS in the same run.

And what drawing people by score bin costs, beside a search through all cells: the same counts, in turn in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import fairgate as fg
from fairgate.bins import decided
from fairgate.counts import over_bins
from fairgate.learners import LEARNERS
from fairgate.learners.registry import kind_of
from fairgate.nature import Nature

REPLICATES = 100
CLASSES = ("safe-search:policies=lottery", "safe-search:lottery=false")
"""Rules of the recommended learner that its name alone does not stand for."""

STRUCTURED = 80_000
"""Rounds per second that learners of level `selective-labels` are to reach."""


def rate_of(task: fg.Task, name: str, rounds: int) -> float:
    """Rounds per second of processor time, the better of two runs."""
    learner = fg.load_learner(name)
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        fg.simulate(task, learner, rounds, REPLICATES)
        best = min(best, time.process_time() - start)
    return rounds * REPLICATES / best


def by_search(cells: NDArray[np.float64], numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Count people in all cells group × bin × label × decision by one binary search, possible or not."""
    ordered = cells.transpose(0, 1, 3, 4, 2)
    rows = np.arange(len(cells), dtype=np.uint64)[:, None] << np.uint64(32)
    ends = np.minimum(ordered.reshape(len(cells), -1).cumsum(axis=1) * 2.0**32, 2.0**32)
    ends[:, -1] = 2.0**32
    below = (numbers + rows).ravel().searchsorted((ends.astype(np.uint64) + rows).ravel())
    below[1:] -= below[:-1]
    return np.ascontiguousarray(below.reshape(ordered.shape).transpose(0, 1, 4, 2, 3))


def best_of(work: Callable[[], object], repeats: int = 30) -> float:
    """Processor time of the fastest repeat, in µs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1e6 * best


def drawing(task: fg.Task) -> Table:
    """Time drawing people by score bin, for thresholds and for a uniform lottery."""
    grid, groups = task.thresholds, task.environment.group_count
    labelled = task.environment.histogram(task.environment.start(REPLICATES), grid)
    middle = np.full(REPLICATES, grid[len(grid) // 2])
    table = Table("policy", title=f"{task.name}: drawing 256 people by score bin, {REPLICATES} replicates")
    for heading in ("search all cells, µs", "now, µs", "times as fast"):
        table.add_column(heading, justify="right")
    for name, policy in (
        ("threshold", fg.Policy.shared(middle, groups)),
        ("uniform lottery", fg.Policy.uniform(np.full(REPLICATES, 0.5), groups)),
    ):
        nature = Nature(0)
        fast = partial(nature.draw_bins, labelled, policy, grid, 256)

        def slow(policy: fg.Policy = policy, nature: Nature = nature) -> tuple[NDArray[np.int64], object]:
            cells = decided(labelled, policy.accepted_share(grid))
            return by_search(cells, nature.people(REPLICATES, 256)), over_bins(cells)

        if not np.array_equal(fast()[0], slow()[0]):
            raise SystemExit(f"{name}: the fast counts are not those of the search")
        times = [best_of(work) for _ in range(3) for work in (slow, fast)]
        before, now = min(times[::2]), min(times[1::2])
        table.add_row(name, f"{before:,.0f}", f"{now:,.0f}", f"{before / now:.1f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", nargs="+", default=["interior", "compas"], help="tasks to run on")
    parser.add_argument("--rounds", type=int, default=1000, help="rounds a run")
    given = parser.parse_args()
    names = [*(name for name in LEARNERS if name != "fixed"), *CLASSES]
    for each in given.task:
        task = fg.load_task(each)
        fg.simulate(task, fg.OFS(), 20, REPLICATES)  # tables are made once
        fg.simulate(task, fg.SafeForecast(), 20, REPLICATES)
        table = Table("learner", "level", title=f"{each}: {REPLICATES} replicates × {given.rounds} rounds")
        for heading in ("rounds/s", "of OFS"):
            table.add_column(heading, justify="right")
        table.add_column("goal")
        ofs = rate_of(task, "ofs", given.rounds)
        for name in names:
            rate = ofs if name == "ofs" else rate_of(task, name, given.rounds)
            level = kind_of(name.partition(":")[0]).level
            goal = (
                ""
                if level != "selective-labels"
                else f"≥ {STRUCTURED:,}: {'reached' if rate >= STRUCTURED else 'missed'}"
            )
            table.add_row(name, level, f"{rate:,.0f}", f"{rate / ofs:.2f}", goal)
        Console().print(table, drawing(task))


if __name__ == "__main__":
    main()
