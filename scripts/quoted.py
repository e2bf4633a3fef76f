"""Print the figures of simulations that docs/learners and docs/reproduction.md quote.

    python -m scripts.quoted learners        # docs/learners: 20 seeds of 3000 rounds
    python -m scripts.quoted reproduction    # docs/reproduction.md: "How near it comes", and OFS loops far away

The figures of `fairgate reproduce` are in its summary.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import fairgate as fg
from fairgate.learners import BanditGradient, PrimalDual, load_learner
from fairgate.problem import best_feasible, violation
from scripts.calibrate import OFS, ORACLE, WINDOW, Descent, report

ROUNDS, SEEDS, LOOPS = 3000, 20, 300
PAIRS = (
    ("german-strict", "mixture"), ("german-strict", "best-lottery"), ("mean-shift", "mixture"),
    ("mean-shift", "best-lottery"), ("compas-strict", "mixture"), ("compas-strict", "best-lottery"),
    ("interior", "per-group"), ("mean-shift", "per-group"), ("interior", "smooth-optimist"),
    ("interior", "doubly-optimistic"), ("drift", "repeated-retraining"), ("drift", "safe-forecast"),
    ("mve-s", "repeated-retraining"), ("strategic", "repeated-retraining"), ("strategic", "ofs"),
)  # fmt: skip


def quote_learners() -> None:
    """Print reward in the tail and in all rounds, violation, and where DoublyOptimistic settles."""
    for name, learner in PAIRS:
        task = fg.load_task(name)
        run = fg.simulate(task, load_learner(learner), ROUNDS, SEEDS)
        spent = violation(run.population.residuals).mean(axis=0)
        print(
            f"{name:14} {learner:20} tail reward {run.summary()['population_reward'].mean:.4f}, "
            f"all rounds {run.population.reward.mean():.4f}; violation {spent.sum():.2f}, "
            f"first 500 rounds {spent[:500].sum():.2f}",
            flush=True,
        )
        if learner == "doubly-optimistic":
            there = abs(run.settled().single[:, 0] - fg.oracle(task, refine=False).best.threshold) < 1e-9
            print(f"{'':14} settles on the oracle's threshold in {there.sum()} of {SEEDS} seeds", flush=True)
        if learner == "per-group":
            print(f"{'':14} best pair of the grid in the long run {best_pair(task):.4f}", flush=True)


def best_pair(task: fg.Task) -> float:
    """Return the exact reward, in the long run, of the best feasible thresholds for two groups, by enumeration."""
    pairs = np.array([(one, other) for one in task.thresholds for other in task.thresholds])
    world = task.environment.steady_state(pairs)
    found = task.problem.assess(task.environment.probabilities(world, pairs))
    return float(found.reward[best_feasible(found.reward, found.residuals)])


def quote_reproduction() -> None:
    """Print the table of all misses, and what OFS loops that lock in far away add to violations."""
    tasks = {name: fg.load_task(name) for name in ("mve-s", *WINDOW)}
    descents = {}
    for name in ORACLE:
        for who in ("unconstrained", "primal-dual"):
            learner = load_learner(who, task=name)
            if not isinstance(learner, BanditGradient):
                raise TypeError(f"{who} is not a gradient learner")
            dual = learner.dual_step if isinstance(learner, PrimalDual) else 0.0
            numbers = (learner.step, learner.radius, learner.start_at, dual)
            descents[name, who] = Descent(*(float(np.asarray(number)) for number in numbers))
    report(tasks, descents)
    for name in ORACLE:
        grid = tasks[name].thresholds
        run = fg.simulate(tasks[name], OFS, ROUNDS, LOOPS, seed=5000)
        far = np.median(run.thresholds[:, -200:, 0], axis=1) > grid[0] + 4.5 * (grid[1] - grid[0])
        spent = run.per_replicate()["violation"]
        print(f"{name}: {far.sum()} of {LOOPS} far away; violation {spent.mean():.1f}, median {np.median(spent):.1f}")
    lowest = fg.Fixed(float(tasks["compas"].thresholds[0]))
    print("lowest on compas:", fg.simulate(tasks["compas"], lowest, ROUNDS, SEEDS, seed=7000).summary()["violation"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of one part of the docs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("learners", "reproduction"))
    (quote_learners if parser.parse_args(arguments).part == "learners" else quote_reproduction)()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
