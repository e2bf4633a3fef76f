"""Measure how the cost of a sweep grows, and print the tables of docs/guides/cluster.md.

    python -m scripts.sweep_costs             # about three minutes on an idle core
    python -m scripts.sweep_costs --write     # the same, and put them there
    python -m scripts.sweep_costs --quick     # fewer repeats and shorter loops, to see that it works

A cost is microseconds of processor time per loop-round, one round of one loop, of one process with one thread. Repeats
of all measurements take turns, so that a slow moment of the machine hits them alike, and the fastest counts.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # numpy reads it once

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import fairgate as fg
from fairgate.environments import GaussianScores
from fairgate.learners import LEARNERS, load_learner
from scripts.passages import rewrite

ROUNDS, SEEDS, REPEATS = 300, 100, 5
LOOP = 3000
"""Rounds of the loops that a core-hour buys."""


@dataclass(frozen=True)
class Case:
    """Something to measure: so many loops of a learner on a task, in parts that stand side by side."""

    task: fg.Task
    learner: Any
    rounds: int = ROUNDS
    seeds: int = SEEDS
    batch: int = 256
    parts: int = 1

    def cost(self) -> float:
        """Return microseconds per loop-round."""
        start = time.process_time()
        fg.simulate(
            self.task, self.learner, self.rounds, self.seeds, batch=self.batch, parts=self.parts, keep="summary"
        )
        return 1e6 * (time.process_time() - start) / (self.rounds * self.seeds)


def grids(task: fg.Task) -> dict[int, Case]:
    """OFS with more and more thresholds to choose from."""
    low, high = task.thresholds[0], task.thresholds[-1]
    return {size: Case(replace(task, grid=np.linspace(low, high, size)), fg.OFS()) for size in (11, 21, 41, 81, 161)}


def groups() -> dict[int, Case]:
    """OFS with more and more groups, on a task like mve-s."""
    task = fg.load_task("mve-s")
    world = task.environment
    if not isinstance(world, GaussianScores):
        raise TypeError("mve-s has other scores")
    found = {}
    for count in (2, 4, 8, 16):
        means = np.linspace(-0.25, 0.25, count).tolist()
        changed = replace(world, means=means, shares=[1.0 / count] * count, sd=[1.0] * count)
        found[count] = Case(replace(task, environment=changed), fg.OFS())
    return found


def lengths(task: fg.Task, rounds: int) -> dict[int, Case]:
    """OFS over more and more rounds."""
    return {each: Case(task, fg.OFS(), rounds=each) for each in (rounds // 3, rounds, 3 * rounds, 10 * rounds)}


def widths(task: fg.Task) -> dict[str, Case]:
    """OFS with more and more loops side by side: seeds of a cell, and, beyond 250, settings of a pack."""
    found = {str(seeds): Case(task, fg.OFS(), seeds=seeds) for seeds in (1, 10, 100, 250)}
    found["10 settings × 100"] = Case(task, fg.OFS(), seeds=1000, parts=10)
    return found


def batches(task: fg.Task) -> dict[int, Case]:
    """OFS with more and more people per round; above 1000 they are not drawn one by one."""
    return {people: Case(task, fg.OFS(), batch=people) for people in (64, 256, 1000, 10_000, 1_000_000)}


def learners(task: fg.Task) -> dict[str, Case]:
    """Return all learners that have no number of their own to be chosen, side by side as in a large sweep."""
    names = [name for name in LEARNERS if name not in ("fixed", "threshold-optimizer")]
    return {name: Case(task, load_learner(name), rounds=ROUNDS // 3, seeds=1000, parts=10) for name in names}


def measured(cases: Sequence[Case], repeats: int, rounds: int) -> list[float]:
    """Return the cost of each, the fastest of its repeats."""
    best = [math.inf] * len(cases)
    for _ in range(repeats):
        for place, case in enumerate(cases):
            short = replace(case, rounds=max(case.rounds * rounds // ROUNDS, 1))
            best[place] = min(best[place], short.cost())
    return best


def doubling(values: Sequence[Any], costs: Sequence[float]) -> str:
    """Say what twice as many cost, by the last two."""
    if not all(isinstance(each, int) for each in values[-2:]):
        return ""
    return f"{(costs[-1] / costs[-2]) ** (math.log(2) / math.log(values[-1] / values[-2])):.2f} ×"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure how the cost of a sweep grows.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and shorter loops")
    parser.add_argument("--task", default="compas")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/guides/cluster.md")
    given = parser.parse_args()
    repeats, rounds = (1, 30) if given.quick else (REPEATS, ROUNDS)
    task = fg.load_task(given.task)

    rows: dict[str, dict[Any, Case]] = {
        "K, thresholds of the grid": dict(grids(task)),
        "G, groups (as in `mve-s`)": dict(groups()),
        "n, people per round": dict(batches(task)),
        "T, rounds": dict(lengths(task, ROUNDS)),
        "loops side by side": dict(widths(task)),
    }
    named = learners(task)
    cases = [case for row in rows.values() for case in row.values()] + list(named.values())
    found = dict(zip(map(id, cases), measured(cases, repeats, rounds), strict=True))

    lines = [f"OFS on `{task.name}` with K = {len(task.thresholds)}, G = 2, n = 256, {SEEDS} loops side by side:", ""]
    lines += ["| what grows | µs per loop-round | twice as many of it cost, in the end |", "|---|---|---|"]
    for what, row in rows.items():
        costs = [found[id(case)] for case in row.values()]
        each = [f"{value:,}" if isinstance(value, int) else value for value in row]
        listed = " · ".join(f"{value}: {cost:.2f}" for value, cost in zip(each, costs, strict=True))
        lines.append(f"| {what} | {listed} | {doubling(list(row), costs)} |")

    lines += ["", f"Learners on `{task.name}`, 10 settings × {SEEDS} loops side by side, as in a large sweep:", ""]
    lines += [f"| learner | level | µs per loop-round | loops of {LOOP} rounds per core-hour |", "|---|---|---:|---:|"]
    for name, case in sorted(named.items(), key=lambda pair: found[id(pair[1])]):
        cost = found[id(case)]
        lines.append(f"| `{name}` | {case.learner.level} | {cost:.2f} | {3600e6 / (cost * LOOP):,.0f} |")
    print("\n".join(lines))
    if given.write:
        rewrite("guides/cluster.md", "costs", lines)


if __name__ == "__main__":
    main()
