"""Print how much of a difference's variance is left when two thresholds meet the same people, for docs/guides.

Two neighbouring thresholds of the grid at the best one, 200 seeds, means over the last 100 of 150 rounds: the variance
of their paired difference, divided by what it would be if the two were unrelated.
"""

from __future__ import annotations

import numpy as np

import fairgate as fg
from fairgate.settings import Array

TASKS = ("interior", "compas", "german", "performative", "many-groups", "delayed-impact")
ROUNDS, TAIL, SEEDS, SEED = 150, 100, 200, 3


def ratio(one: Array, other: Array) -> float:
    """Variance of the paired difference over that of an unpaired one."""
    return float(np.var(one - other) / (np.var(one) + np.var(other)))


def main() -> None:
    """Simulate and print, for reward and gap."""
    for name in TASKS:
        task = fg.load_task(name)
        grid = task.thresholds
        best = int(abs(grid - fg.oracle(task, refine=False).best.threshold).argmin())
        best = min(max(best, 1), len(grid) - 2)
        one, other = (fg.simulate(task, fg.Fixed(float(grid[k])), ROUNDS, SEEDS, seed=SEED) for k in (best, best + 1))
        reward = ratio(*(run.batch.reward[:, -TAIL:].mean(axis=1) for run in (one, other)))
        gap = ratio(*(run.batch_gap[:, -TAIL:].mean(axis=1) for run in (one, other)))
        print(f"{name:14} reward {reward:.2f}, gap {gap:.2f}", flush=True)


if __name__ == "__main__":
    main()
