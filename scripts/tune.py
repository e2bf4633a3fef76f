"""Tune every baseline with the same budget: twelve settings each, one setting for all tasks.

    python scripts/tune.py                  # a few minutes on one core
    python scripts/tune.py --seeds 5        # a rougher look

A setting is judged by its mean shortfall over rounds, seeds and tasks, where the shortfall of playing threshold θ is

    max(r(θ*) − r(θ), max_j g_j(θ), 0),

with exact steady-state rewards r and residuals g, and θ* the best feasible threshold of the grid. Exploring counts as
much as settling. Seeds are not those on which learners are compared, and
several tasks of the suite are not among those tuned on. OFS and PrimalDual get the same budget, but keep
the paper's numbers as their defaults.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

import fairgate as fg
from fairgate.learners import LEARNERS, Learner
from fairgate.problem import is_feasible
from fairgate.settings import Array
from fairgate.tasks import presets
from fairgate.thresholds import exact_sweep

ROUNDS, SEEDS, ROOT = 3000, 20, 1000
TASKS = ("interior", "german", "compas", "mve-s", "performative", "strategic", "delayed-impact")

Choice = dict[str, float | bool]


def product(epochs: Iterable[tuple[int, int]] = (), **values: Iterable[float | bool]) -> list[Choice]:
    """Return every combination; `epochs` are pairs of epoch length and burn-in."""
    rest = [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    pairs: list[Choice] = [{"epoch_length": epoch_length, "burn_in": burn_in} for epoch_length, burn_in in epochs]
    return [{**pair, **each} for pair in pairs or [{}] for each in rest]


SPACES: dict[str, list[Choice]] = {
    "ofs": product(c=(0.000005, 0.00005, 0.0005, 0.005), exploration=(0.03, 0.1, 0.2)),
    "primal-dual": product(step=(0.001, 0.003, 0.01), radius=(0.05, 0.15), dual_step=(0.4, 1.6)),
    "two-point": product([(20, 10), (30, 15)], step=(0.1, 0.3, 1.0), dual_step=(2.0, 8.0)),
    "pessimistic-optimistic": product([(2, 0), (5, 2)], trade_off=(0.01, 0.03, 0.1), rectified=(False, True)),
    "exp3-primal-dual": product([(1, 0), (3, 0)], rate=(1.0, 2.0, 4.0), largest=(0.3, 1.0)),
    "explore-then-commit": product(
        [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 1), (5, 2), (5, 3), (7, 3), (10, 3), (10, 6), (20, 10)]
    ),
    "epsilon-greedy": product([(5, 2), (10, 5), (20, 10)], exploration=(0.03, 0.1, 0.25, 0.5)),
    "bayesian": product([(20, 10), (30, 15)], length=(0.1, 0.2), beta=(1.0, 2.0, 3.0)),
    "safe-bayesian": product(length=(0.2, 0.4), amplitude=(0.2, 0.5), beta=(1.0, 2.0, 3.0)),
}
"""Twelve settings per learner; what is not named keeps its default."""

PAPER = ("ofs", "primal-dual")
"""Learners whose defaults are the paper's, tuned or not."""


def tuning_tasks(names: Iterable[str]) -> list[fg.Task]:
    """Return the tasks that exist, stand still and have a feasible threshold."""
    found = [fg.load_task(name) for name in names if name in presets()]
    still = [task for task in found if task.environment.at(1) is task.environment]
    return [task for task in still if is_feasible(exact_sweep(task, task.thresholds).residuals).any()]


class Judge:
    """Knows the shortfall of every threshold of a task."""

    def __init__(self, task: fg.Task) -> None:
        self.at = np.union1d(task.thresholds, np.linspace(task.thresholds[0], task.thresholds[-1], 801))
        best = exact_sweep(task, task.thresholds).best.reward
        sweep = exact_sweep(task, self.at)
        self.of = np.maximum(np.maximum(best - sweep.reward, sweep.residuals.max(axis=0)), 0.0)

    def shortfall(self, run: fg.Run) -> Array:
        """Return each replicate's mean shortfall, (R,); thresholds are shared by the groups."""
        return np.asarray(np.interp(run.thresholds[:, :, 0], self.at, self.of).mean(axis=1))


def compare(name: str, settings: list[Choice], task: fg.Task, judge: Judge, seeds: int) -> Array:
    """Return the mean shortfall of each setting; those that differ in numbers alone are one run."""
    found = np.empty(len(settings))
    switches = [tuple(value for value in setting.values() if isinstance(value, bool)) for setting in settings]
    for switch in sorted(set(switches)):
        members = [index for index, each in enumerate(switches) if each == switch]
        first = settings[members[0]]
        varied: dict[str, Any] = {
            key: value if isinstance(value, bool) else np.repeat([settings[m][key] for m in members], seeds).tolist()
            for key, value in first.items()
        }
        learner: Learner[Any] = LEARNERS[name](**varied)
        run = fg.simulate(task, learner, ROUNDS, len(members) * seeds, seed=ROOT)
        found[members] = judge.shortfall(run).reshape(len(members), seeds).mean(axis=1)
    return found


def words(setting: Choice) -> str:
    """Return a setting as it is written on the command line."""
    return ",".join(f"{key}={value:g}" for key, value in setting.items())


def main() -> None:
    """Tune and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--learners", nargs="+", choices=SPACES, default=list(SPACES))
    parser.add_argument("--every", action="store_true", help="print every setting, not only the chosen one")
    options = parser.parse_args()
    tasks = tuning_tasks(TASKS)
    judges = [Judge(task) for task in tasks]
    print(f"mean shortfall, {ROUNDS} rounds, {options.seeds} seeds from root {ROOT}, of 12 settings each\n")
    print(f"| learner | chosen | default | setting chosen | {' | '.join(task.name for task in tasks)} |")
    print(f"|---|---|---|---|{'---|' * len(tasks)}")
    differing, began = [], time.perf_counter()
    for name in options.learners:
        named = SPACES[name]
        default: Any = LEARNERS[name]()
        current: Choice = {key: getattr(default, key) for key in named[0]}
        tried = named if current in named else [*named, current]
        scores = [compare(name, tried, *pair, options.seeds) for pair in zip(tasks, judges, strict=True)]
        table = np.array(scores)  # (tasks, settings)
        mean = table.mean(axis=0)
        best = int(mean[: len(named)].argmin())
        if options.every:
            for index in mean.argsort():
                print(f"  {mean[index]:.4f}  {words(tried[index])}")
        cells = " | ".join(f"{value:.4f}" for value in table[:, best])
        print(
            f"| {name} | {mean[best]:.4f} | {mean[tried.index(current)]:.4f} | `{words(named[best])}` | {cells} |",
            flush=True,
        )
        if named[best] != current:
            differing.append(f"{name}: {words(current)}{' (the paper’s, kept)' if name in PAPER else ''}")
    print(f"\nDefaults that differ from the setting chosen: {'; '.join(differing) or 'none'}")
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
