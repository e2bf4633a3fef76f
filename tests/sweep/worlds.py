"""Sweeps made up by a formula, for tests of figures, pages and texts: what they must show is known at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.sweep import FIGURES, Failure, Sweep


def made(
    over: Mapping[str, ArrayLike],
    learners: Sequence[str] = ("ofs", "safe-forecast"),
    seeds: int = 12,
    random: bool = False,
    broken: Sequence[int] = (),
) -> Sweep:
    """Make a sweep up: learner 0 is best at low values of the first parameter, the next ones further up.

    Nothing is feasible where the second parameter is below its lowest fifth; `broken` settings failed.
    """
    names = tuple(over)
    given = {name: np.asarray(values, dtype=float) for name, values in over.items()}
    rng = np.random.default_rng(1)
    if random:
        count = max(len(values) for values in given.values())
        design = {name: rng.uniform(min(values), max(values), count) for name, values in given.items()}
    elif not names:
        count, design = 1, {}
    else:
        combined = np.array(list(product(*given.values())), dtype=float)
        count = len(combined)
        design = {name: combined[:, place] for place, name in enumerate(names)}
    where = {name: (values - values.min()) / (np.ptp(values) or 1.0) for name, values in design.items()}
    first = where[names[0]] if names else np.zeros(count)
    second = where[names[1]] if len(names) > 1 else np.full(count, 0.5)
    attainable = (second > 0.2).astype(float)
    best = 0.5 + 0.3 * second
    shape = (count, len(learners), seeds)
    centre = (np.arange(len(learners)) + 0.5)[None, :] / len(learners)
    short = 0.01 + 0.2 * np.abs(first[:, None] - centre) + 0.02 * second[:, None]
    short = short[:, :, None] * np.exp(0.15 * rng.normal(size=shape)) + 0.01 * np.abs(rng.normal(size=shape))
    figures = {
        "shortfall": short,
        "regret": 3000 * short / 2,
        "population_reward": best[:, None, None] - short,
        "reward": best[:, None, None] - short + 0.01 * rng.normal(size=shape),
        "gap": 0.05 + short / 3,
        "population_gap": 0.03 + short / 3,
        "violation": 900 * short,
        "population_violation": 800 * short * np.where(attainable == 0, 2, 1)[:, None, None],
        "excess_violation": short / 5,
        "acceptance": np.broadcast_to(0.6 - 0.2 * short, shape),
        "feasible": np.clip(1 - 4 * short, 0, 1) * attainable[:, None, None],
        "success": (short < 0.06).astype(float),
    }
    figures["share"] = np.where(
        attainable[:, None, None] == 1, figures["population_reward"] / best[:, None, None], np.nan
    )
    figures = {name: np.array(figures[name]) for name in FIGURES}
    truth: dict[str, NDArray[Any]] = {
        "attainable": attainable == 1,
        "best_threshold": 1.0 - second,
        "best_reward": best,
        "best_gap": 0.02 + 0.01 * first,
        "best_acceptance": 0.5 + 0.1 * second,
        "least_violation": np.where(attainable == 0, 0.2 - second, 0.0),
    }
    for place in broken:
        for values in figures.values():
            values[place] = np.nan
        for name, values in truth.items():
            values[place] = False if name == "attainable" else np.nan
    failures = tuple(
        Failure({name: float(design[name][place]) for name in names}, None, "InputError: rate must be in [0, 1], got 2")
        for place in broken
    )
    settings = {
        "task": {"name": "compas", "rate": 0.1},
        "learners": list(learners),
        "over": {name: values.tolist() for name, values in given.items()},
        "rounds": 3000,
        "seeds": seeds,
        "seed": 0,
        "batch": 256,
        "versions": {"fairgate": "0.1", "numpy": np.__version__},
        "code": dict.fromkeys(learners, "0123abcd"),
        "commands": {"task": "compas", "learners": {name: name for name in learners}},
        "design": "random" if random else "full",
        "parameters": {name: [["environment", name]] for name in given},
    }
    return Sweep(design, tuple(learners), figures, truth, failures, settings, plan={})
