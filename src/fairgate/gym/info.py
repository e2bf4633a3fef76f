"""Info: what a round tells besides observation and reward, in the forms that gymnasium has for one loop and many."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairgate.counts import Counts
from fairgate.problem import Problem
from fairgate.settings import Array


def describe(problem: Problem, counts: Counts, reward: Array, residuals: Array) -> dict[str, Any]:
    """Say how a round went, with reward (2, loops) and residuals (J, 2, loops) of the batch and of the population.

    Costs are positive parts of residuals, as in safety-gymnasium: ``cost`` (loops,) is the sum of ``costs`` (loops, J).
    """
    costs = np.maximum(residuals, 0.0)
    return {
        "cost": costs[:, 0].sum(axis=0),
        "costs": costs[:, 0].T.copy(),
        "batch_reward": reward[0],
        "batch_residuals": dict(zip(problem.names, residuals[:, 0], strict=True)),
        "gap": counts.gap,
        "population_reward": reward[1],
        "population_residuals": dict(zip(problem.names, residuals[:, 1], strict=True)),
        "population_cost": costs[:, 1].sum(axis=0),
        "population_costs": costs[:, 1].T.copy(),
    }


def first(info: dict[str, Any]) -> dict[str, Any]:
    """Return the info of the only loop."""
    return {
        name: first(value) if isinstance(value, dict) else value[0] if value.ndim > 1 else float(value[0])
        for name, value in info.items()
    }


def masked(info: dict[str, Any], loops: int) -> dict[str, Any]:
    """Say beside every entry which loops have it, as gymnasium's vector environments do: all."""
    everyone = np.ones(loops, dtype=np.bool_)
    both: dict[str, Any] = {}
    for name, value in info.items():
        both[name] = masked(value, loops) if isinstance(value, dict) else value
        both[f"_{name}"] = everyone.copy()
    return both
