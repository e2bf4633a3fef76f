"""What the full benchmark (`fairgate bench`) costs: every learner on every task, from two short runs of each.

The cost of a run of T rounds is taken as a + b · T, which two lengths tell; learners that plan less often later cost
less than that. Processor time counts, so that other programs disturb little; results are written nowhere.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

from rich.console import Console
from rich.table import Table

from fairgate.bench.entrants import built_in, gather_tasks
from fairgate.bench.matrix import outcome
from fairgate.simulation import Size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", nargs="+", default=None, help="tasks to run on; all if not given")
    parser.add_argument("--learner", nargs="+", default=None, help="learners to run; all if not given")
    parser.add_argument("--rounds", nargs=2, type=int, default=[100, 300], help="the two lengths to run")
    parser.add_argument("--full", type=int, default=3000, help="rounds to tell the cost of")
    parser.add_argument("--seeds", type=int, default=100, help="seeds to run")
    given = parser.parse_args()
    short, long = sorted(given.rounds)
    tasks = gather_tasks(given.task)
    found: dict[tuple[str, str], float] = {}
    for (learner, task), made in built_in(given.learner, tasks).items():
        outcome(tasks[task], made, Size(10, given.seeds))  # tables are made once
        spent = []
        for rounds in (short, long):
            start = time.process_time()
            outcome(tasks[task], made, Size(rounds, given.seeds))
            spent.append(time.process_time() - start)
        found[learner, task] = spent[1] + max(spent[1] - spent[0], 0.0) / (long - short) * (given.full - long)
    for part, name in enumerate(("learner", "task")):
        sums: dict[str, float] = defaultdict(float)
        for key, cost in found.items():
            sums[key[part]] += cost
        table = Table(name, title=f"processor time of {given.full} rounds × {given.seeds} seeds")
        table.add_column("s", justify="right")
        for each, cost in sorted(sums.items(), key=lambda row: -row[1]):
            table.add_row(each, f"{cost:,.1f}")
        Console().print(table)
    total = sum(found.values())
    print(f"{len(found)} pairs: {total:,.0f} s of processor time, {total / 120:.1f} minutes on 2 cores")


if __name__ == "__main__":
    main()
