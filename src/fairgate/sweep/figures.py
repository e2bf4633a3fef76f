"""Figures: what each loop of a sweep is judged by, gathered while it runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairgate.against import SUCCESS, compare
from fairgate.problem import Assessment, violation
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.truth import Truth

FIGURES = {
    "reward": "reward per person of the batches, mean of the tail",
    "gap": "largest difference of acceptance rates in the batches, mean of the tail",
    "violation": "violation of the batches, summed over all rounds",
    "population_reward": "exact reward per person, mean of the tail",
    "population_gap": "exact difference of acceptance rates, mean of the tail",
    "population_violation": "exact violation, summed over all rounds",
    "acceptance": "exact share of people accepted, mean of the tail",
    "feasible": "share of the tail's rounds in which the population meets every constraint",
    "regret": "best feasible reward minus the exact reward, summed over all rounds",
    "shortfall": "the larger of regret and largest residual, at least 0; where nothing is feasible, the violation "
    "beyond the least there is; mean of all rounds",
    "excess_violation": "exact violation beyond the least there is, mean of all rounds",
    "success": "whether the tail's mean is within 0.01 of the best reward and of every constraint; where nothing is "
    "feasible, of the least violation",
    "share": "exact reward of the tail as a share of the best feasible reward",
}
"""What a sweep knows of each loop. All but the first three speak of the population as it was in each round."""

RANGES = {
    "gap": (0.0, 1.0),
    "violation": (0.0, math.inf),
    "population_gap": (0.0, 1.0),
    "population_violation": (0.0, math.inf),
    "acceptance": (0.0, 1.0),
    "feasible": (0.0, 1.0),
    "shortfall": (0.0, math.inf),
    "excess_violation": (0.0, math.inf),
    "success": (0.0, 1.0),
}
"""Smallest and largest value of each figure that cannot be just any number."""

TRUTH = {
    "attainable": "whether some threshold of the grid is feasible",
    "best_threshold": "the feasible threshold of highest reward; if there is none, the least violating",
    "best_reward": "its exact reward per person in its steady state",
    "best_gap": "its exact difference of acceptance rates",
    "best_acceptance": "the exact share it accepts",
    "least_violation": "smallest violation of any threshold of the grid: 0 if one is feasible",
}
"""What a sweep knows of each setting, exactly; of one that changes by itself, as it stands in the end."""


class Gathered:
    """The figures of one cell, from its rounds in pieces of which the last is the tail."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.rounds = 0
        self.feasible = False  # whether anything was, in any round
        self.sums: dict[str, Array | float] = {}

    def add(self, piece: Run) -> None:
        """Take in the next rounds."""
        found = piece.against(self.truth, state="actual", first=self.rounds)
        sums = {
            "violation": violation(piece.batch.residuals),
            "population_violation": found.violation,
            "regret": np.nan_to_num(found.regret, nan=0.0),  # rounds in which nothing is feasible add none
            "shortfall": found.shortfall,
            "excess_violation": found.excess,
        }
        for name, values in sums.items():
            self.sums[name] = self.sums.get(name, 0.0) + values.sum(axis=1)
        self.rounds += piece.rounds
        self.feasible = self.feasible or not np.isnan(found.regret).all()
        self.last = piece

    def figures(self) -> dict[str, Array]:
        """Return every figure of each loop, (seeds,)."""
        tail, truth = self.last, self.truth.last
        found = {**tail.per_replicate(tail.rounds), **self.sums}
        for name in ("shortfall", "excess_violation"):
            found[name] = np.asarray(found[name]) / self.rounds
        if not self.feasible:
            found["regret"] = np.full(tail.replicates, np.nan)
        mean = Assessment(tail.population.reward.mean(axis=1), tail.population.residuals.mean(axis=2))
        end = compare(mean, truth.reward, truth.least)
        found["success"] = end.within(*SUCCESS).astype(np.float64)
        best = truth.reward if truth.reward > 0 else math.nan  # a share of a loss says nothing
        found["share"] = found["population_reward"] / best
        return {name: np.asarray(found[name], dtype=np.float64) for name in FIGURES}


def truth_figures(truth: Truth) -> dict[str, Any]:
    """Return what is known of a setting exactly."""
    best = truth.last.sweep.best
    return {
        "attainable": truth.last.feasible,
        "best_threshold": best.threshold,
        "best_reward": best.reward,
        "best_gap": best.gap,
        "best_acceptance": best.acceptance,
        "least_violation": truth.last.least,
    }
