"""How fast every learner runs: rounds per second at 100 replicates on one core, beside OFS in the same run."""

from __future__ import annotations

import argparse
import time

from rich.console import Console
from rich.table import Table

import fairgate as fg
from fairgate.learners import LEARNERS
from fairgate.learners.registry import kind_of

REPLICATES = 100
STRUCTURED = 20_000
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", nargs="+", default=["interior", "compas"], help="tasks to run on")
    parser.add_argument("--rounds", type=int, default=1000, help="rounds a run")
    given = parser.parse_args()
    names = [name for name in LEARNERS if name != "fixed"]
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
            level = kind_of(name).level
            goal = (
                ""
                if level != "selective-labels"
                else f"≥ {STRUCTURED:,}: {'reached' if rate >= STRUCTURED else 'missed'}"
            )
            table.add_row(name, level, f"{rate:,.0f}", f"{rate / ofs:.2f}", goal)
        Console().print(table)


if __name__ == "__main__":
    main()
