"""What the full benchmark (`fairgate bench`) costs: every learner on every task, from two short runs of each.

The cost of a run of T rounds is taken as a + b · T, which two lengths tell; learners that plan less often later cost
less than that. Processor time counts, so that other programs disturb little; results are written nowhere. Learners are
played together as the benchmark does, and share the cost of that evenly.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from fairgate.bench.entrants import pair_up
from fairgate.bench.matrix import Pair, outcome
from fairgate.bench.pairs import bundled
from fairgate.learners import load_learner
from fairgate.simulation import Size


def bundles_of(pairs: list[Pair]) -> dict[tuple[str, ...], Callable[[], object]]:
    """Return what is carried out by one call, by the keys of its pairs."""
    found = bundled(pairs, [pair.work() for pair in pairs])
    return {tuple(work.name for work in bundle.works): bundle.make for bundle in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", nargs="+", default=None, help="tasks to run on; all if not given")
    parser.add_argument("--learner", nargs="+", default=None, help="learners to run; all if not given")
    parser.add_argument("--rounds", nargs=2, type=int, default=[100, 300], help="the two lengths to run")
    parser.add_argument("--full", type=int, default=3000, help="rounds to tell the cost of")
    parser.add_argument("--seeds", type=int, default=100, help="seeds to run")
    given = parser.parse_args()
    short, long = sorted(given.rounds)
    pairs = {rounds: pair_up(given.learner, given.task, Size(rounds, given.seeds)) for rounds in (short, long)}
    for rounds, each in pairs.items():  # tables are made and tasks are solved once
        for task in {pair.task.name: pair.task for pair in each}.values():
            outcome(task, load_learner("random"), Size(rounds, given.seeds))
    full = [Pair(each.name, each.learner, each.task, Size(given.full, given.seeds)) for each in pairs[long]]
    whose = {pair.key: (pair.name, pair.task.name) for pair in full}
    found: dict[tuple[str, str], float] = {}
    for keys in bundles_of(full):
        spent = dict.fromkeys(pairs, 0.0)
        for rounds in pairs:
            by_key = {pair.key: pair for pair in pairs[rounds]}
            for make in bundles_of([by_key[key] for key in keys]).values():
                start = time.process_time()
                make()
                spent[rounds] += time.process_time() - start
        cost = spent[long] + max(spent[long] - spent[short], 0.0) / (long - short) * (given.full - long)
        found |= {whose[key]: cost / len(keys) for key in keys}
    for part, name in enumerate(("learner", "task")):
        sums: dict[str, float] = defaultdict(float)
        for pair, cost in found.items():
            sums[pair[part]] += cost
        table = Table(name, title=f"processor time of {given.full} rounds × {given.seeds} seeds")
        table.add_column("s", justify="right")
        for each_name, cost in sorted(sums.items(), key=lambda row: -row[1]):
            table.add_row(each_name, f"{cost:,.1f}")
        Console().print(table)
    total = sum(found.values())
    print(f"{len(found)} pairs: {total:,.0f} s of processor time, {total / 120:.1f} minutes on 2 cores")


if __name__ == "__main__":
    main()
