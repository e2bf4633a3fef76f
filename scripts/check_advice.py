"""How often the recommended threshold is feasible, and nearly the best, on tables drawn from tasks of known truth.

Prints the table of docs/your-data.md; some minutes on one core.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa

import fairgate as fg
from fairgate.advice.choice import choose, pick
from fairgate.advice.intervals import CAUTION
from fairgate.advice.steady import Response
from fairgate.counts import Counts
from fairgate.people import Applicants, from_frame
from fairgate.problem import Assessment, is_feasible
from fairgate.settings import Array

TASKS = ("compas", "delayed-impact", "german", "performative", "mve-s", "interior")
SIZES = (5_000, 20_000, 80_000)
NEAR = 0.01


class Law:
    """The people of a task before any of them reacts: who they are, and what every threshold does to them."""

    def __init__(self, task: fg.Task, points: int = 4001) -> None:
        self.task, self.state = task, task.environment.start(1)
        low, high = task.thresholds[0], task.thresholds[-1]
        self.grid = np.linspace(1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low, points)
        cells = self.cells(self.grid)
        edges = np.concatenate((cells.sum(axis=-1)[:1], cells[..., 1], np.zeros_like(cells[:1, ..., 1])))
        self.mass = np.maximum(-np.diff(edges, axis=0), 0.0)  # P(score between two thresholds, group, label)
        found = task.problem.assess(Counts(cells))
        self.best = float(np.where(is_feasible(found.residuals), found.reward, -np.inf).max())

    def cells(self, thresholds: Array) -> Array:
        """Return P(group, label, decision) at shared thresholds, (K, G, 2, 2)."""
        shared = np.repeat(np.atleast_1d(thresholds)[:, None], self.task.environment.group_count, axis=1)
        return self.task.environment.probabilities(np.repeat(self.state, len(shared), axis=0), shared)

    def draw(self, people: int, rng: np.random.Generator) -> Applicants:
        """Draw a table; a score is the middle of its little bin."""
        middles = np.concatenate(([self.grid[0] - 1.0], (self.grid[1:] + self.grid[:-1]) / 2.0, [self.grid[-1] + 1.0]))
        drawn = rng.multinomial(people, self.mass.ravel() / self.mass.sum())
        place, group, label = np.unravel_index(np.repeat(np.arange(drawn.size), drawn), self.mass.shape)
        table = pa.table({"score": middles[place], "label": label, "group": group})
        return from_frame(table, score="score", label="label", group="group").coarsened()

    def truth(self, threshold: float) -> Assessment:
        """Return what one threshold does to everybody."""
        return self.task.problem.assess(Counts(self.cells(np.array([threshold]))))


def judge(law: Law, people: int, draws: int) -> dict[str, float]:
    """Return the shares of draws in which the recommendation is feasible, near the best, and both."""
    rng = np.random.default_rng(people)
    found: list[dict[str, Any]] = []
    for draw in range(draws):
        table = law.draw(people, rng)
        choice = choose(table, law.task.problem, Response(0.0, 0.0), seed=draw)
        truth = law.truth(float(table.cuts[choice.cut]))
        feasible, short = bool(is_feasible(truth.residuals)[0]), law.best - float(truth.reward[0])
        found.append({"feasible": feasible, "both": feasible and short <= NEAR, "short": short})
    median = float(np.median([each["short"] for each in found]))
    return {name: float(np.mean([each[name] for each in found])) for name in ("feasible", "both")} | {"short": median}


def distances(law: Law, people: int, draws: int) -> dict[float, float]:
    """Return the share of draws that are feasible and near the best with other distances, in standard errors."""
    rng = np.random.default_rng(people)
    good = dict.fromkeys((0.0, 0.5, 1.0, 1.5, 2.0, 2.5), 0)
    for draw in range(draws):
        table = law.draw(people, rng)
        found = choose(table, law.task.problem, Response(0.0, 0.0), seed=draw)
        sweep = found.steady.sweep
        for distance in good:
            errors = found.residual_errors * distance / CAUTION
            cut, _ = pick(sweep.reward[None], sweep.residuals[:, None], errors, table.known)
            truth = law.truth(float(table.cuts[cut[0]]))
            good[distance] += bool(is_feasible(truth.residuals)[0] and law.best - truth.reward[0] <= NEAR)
    return {distance: count / draws for distance, count in good.items()}


def main() -> None:
    """Print the table, and what other distances would do where 5,000 people are too few."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    draws = parser.parse_args().draws
    print("| task | " + " | ".join(f"{size:,} people".replace(",", " ") for size in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for name in TASKS:
        law = Law(fg.load_task(name))
        cells = []
        for size in SIZES:
            figures = judge(law, size, draws)
            cells.append(f"{figures['both']:.0%} ({figures['feasible']:.0%}; {figures['short']:.4f})")
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)
    for name in ("interior", "german"):
        found = distances(Law(fg.load_task(name)), SIZES[0], draws)
        print(f"{name}, by distance: " + ", ".join(f"{at:g}: {share:.0%}" for at, share in found.items()), flush=True)


if __name__ == "__main__":
    main()
