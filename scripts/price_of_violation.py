"""What breaking a constraint earns: reward beyond the best feasible lottery, per unit of violation, over worlds.

A learner gains nothing by breaking constraints if a unit of violation costs at least what it earns: if the price λ of
`fairgate.bench.share` is above the steepest exchange of reward for violation,

    max over lotteries with violation v ≥ 0.01 of (r − r*) / v,

r* being what the best feasible lottery earns. It is worked out by the oracle twice for each world: in the long run,
where people have answered, and in the state that a world begins in, where they have not yet. Lotteries are those of two
of 25 options, thresholds of the grid, everybody and nobody, at 21 weights.

`python -m scripts.price_of_violation 0:200 --write` writes the passage `price` of docs/worlds.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from joblib import Parallel, delayed

from fairgate.bench.share import PRICE, PRICES
from fairgate.bench.worlds.blocks import parse_worlds
from fairgate.environments.long_run import settle
from fairgate.policy import Policy
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array
from fairgate.tasks import Task
from fairgate.worlds.loading import solve_world, task_of
from scripts.passages import rewrite

OPTIONS, WEIGHTS = 25, np.linspace(0.0, 1.0, 21)

LEAST = 0.01
"""Least violation looked at: of smaller ones, errors of the search for r* would decide."""

SLACKS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""Violations up to which the trade-off is told."""


def lotteries(task: Task) -> Policy:
    """Return lotteries of two options at all weights."""
    options = np.concatenate(([-np.inf], task.thresholds, [np.inf]))
    few = options[np.unique(np.linspace(0, len(options) - 1, OPTIONS).round().astype(int))]
    low, high = np.triu_indices(len(few), 1)
    pairs = np.repeat(np.stack((few[low], few[high])), len(WEIGHTS), axis=1)
    first = np.tile(WEIGHTS, len(low))
    thresholds = np.repeat(pairs[:, :, None], task.environment.group_count, axis=2)
    return Policy(thresholds, np.stack((first, 1.0 - first)))


def exchange(number: int) -> Array:
    """Return, in the long run and at the start of a world (2,), the steepest exchange and then what slacks earn."""
    world, best = solve_world(number)
    task = task_of([world]).at(0)
    environment, policy = task.environment, lotteries(task)
    found: list[list[float]] = []
    for state in (settle(environment, policy), environment.start(policy.replicates)):
        reward, residuals = task.problem.assess(environment.cells(state, policy))
        broken, feasible = violation(residuals), is_feasible(residuals)
        top = reward[feasible].max(initial=best.lottery if not found else -np.inf)
        beyond = np.where(broken >= LEAST, (reward - top) / np.maximum(broken, LEAST), 0.0)
        more = [max(float(reward[broken <= slack].max(initial=top)) - top, 0.0) for slack in SLACKS]
        found.append([max(float(beyond.max()), 0.0) if np.isfinite(top) else np.nan, *more])
    return np.array(found)


def passage(found: Array, which: str) -> list[str]:
    """Return what is said of the exchanges (worlds, 2, 1 + slacks)."""
    steepest = found[:, :, 0]
    lines = [
        f"Worlds {which}: reward per person that breaking constraints by a unit of violation earns, at its steepest "
        "in each world.",
        "",
        "| | median | 90% | 99% | largest | " + " | ".join(f"below λ = {price:g}" for price in PRICES) + " |",
        "|---|" + "---:|" * (4 + len(PRICES)),
    ]
    for name, column in zip(("in the long run", "in the first round"), steepest.T, strict=True):
        known = column[~np.isnan(column)]
        quantiles = [float(np.quantile(known, part)) for part in (0.5, 0.9, 0.99, 1.0)]
        below = [float((known < price).mean()) for price in PRICES]
        lines.append(
            f"| {name} | " + " | ".join(f"{each:.2f}" for each in quantiles) + " | "
            + " | ".join(f"{each:.1%} of worlds" for each in below) + " |"
        )  # fmt: skip
    lines += [
        "",
        "| violation of at most | " + " | ".join(f"{slack:g}" for slack in SLACKS) + " |",
        "|---|" + "---:|" * len(SLACKS),
        "| earns at most, mean in the long run | "
        + " | ".join(f"{np.nanmean(found[:, 0, 1 + place]):.3f}" for place in range(len(SLACKS))) + " |",
        f"| costs at λ = {PRICE:g} | " + " | ".join(f"{PRICE * slack:.3f}" for slack in SLACKS) + " |",
    ]  # fmt: skip
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Solve the worlds and tell, or write, what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", help="which, such as 0:200")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the passage of docs/worlds.md")
    given = parser.parse_args(arguments)
    numbers = parse_worlds(given.worlds)
    found = np.array(Parallel(given.workers)(delayed(exchange)(number) for number in numbers))
    lines = passage(found, f"{numbers[0]} to {numbers[-1]}")
    if given.write:
        rewrite("worlds.md", "price", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
