"""Print the figures of simulations that docs/learners and docs/reproduction.md quote.

    python -m scripts.quoted learners        # docs/learners: 20 seeds of 3000 rounds
    python -m scripts.quoted searches        # docs/learners/safe-search.md: writes "Where it fails" on named tasks
    python -m scripts.quoted reproduction    # docs/reproduction.md: "How near it comes", and OFS loops far away
    python -m scripts.quoted spread          # docs/reproduction.md: "Spread", of the unconstrained learner

The figures of `fairgate reproduce` are in its summary.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import fairgate as fg
from fairgate.experiments.choices import miss
from fairgate.experiments.plan import paper
from fairgate.learners import BanditGradient, PrimalDual, load_learner
from fairgate.problem import best_feasible, violation
from scripts.calibrate import OFS, ORACLE, WINDOW, Descent, loops_of, report, unconstrained_choices
from scripts.passages import rewrite

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


UNFORESEEN = ("mve-s", "performative", "retraining-diverges", "interior")
SEARCHES = ("safe-search", "safe-search-lottery", "safe-search-no-lottery")
FEW = 10


def quote_searches() -> None:
    """Write reward in the tail and violation of SafeSearch's classes where following and foreseeing differ."""
    lines = [
        f"{FEW} seeds of {ROUNDS:,} rounds: reward per person in the tail, and violation summed over all rounds.",
        "",
        "| task | best threshold | best lottery | " + " | ".join(f"`{name}`" for name in SEARCHES) + " |",
        "|---|---:|---:|" + "---:|" * len(SEARCHES),
    ]
    for name in UNFORESEEN:
        task = fg.load_task(name)
        cells = [f"{fg.oracle(task, policies).best.reward:.3f}" for policies in ("threshold", "lottery")]
        for learner in SEARCHES:
            found = fg.simulate(task, load_learner(learner), ROUNDS, FEW).summary()
            cells.append(f"{found['population_reward'].mean:.3f}, {found['population_violation'].mean:.2f}")
        lines.append(f"| `{name}` | " + " | ".join(cells).replace("-", "−") + " |")
        print(lines[-1], flush=True)
    rewrite("learners/safe-search.md", "unforeseen", lines)


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


def quote_spread() -> None:
    """Print, for every setting of the unconstrained learner that is searched, its summed miss and its spreads.

    Spreads are sds over seeds in units of the paper's: geometric means over the three tasks of reward, gap, violation.
    """
    choices = unconstrained_choices()
    total, logs = np.zeros(len(choices)), np.zeros((3, len(choices)))
    for name in ORACLE:
        printed = paper()["table1"][name]["unconstrained"]
        for place, (key, values) in enumerate(loops_of(fg.load_task(name), choices).items()):
            mean, sd = printed[key]
            total += miss(key, values.mean(axis=1), mean)
            logs[place] += np.log(values.std(axis=1, ddof=1) / sd) / len(ORACLE)
    for index in np.abs(logs).sum(axis=0).argsort():
        ratios = ", ".join(f"{ratio:.1f}" for ratio in np.exp(logs[:, index]))
        print(f"{choices[index][:3]}: miss {total[index]:.2f}, sds {ratios} times the paper's")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures of one part of the docs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parts = {
        "learners": quote_learners,
        "searches": quote_searches,
        "reproduction": quote_reproduction,
        "spread": quote_spread,
    }
    parser.add_argument("part", choices=tuple(parts))
    parts[parser.parse_args(arguments).part]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
