"""Sweeps made up by a formula, for tests of figures, pages and texts: what they must show is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import wilcoxon

FIGURES = (
    "reward",
    "gap",
    "violation",
    "population_reward",
    "population_gap",
    "population_violation",
    "acceptance",
    "feasible",
    "regret",
    "shortfall",
    "excess_violation",
    "success",
    "share",
)


@dataclass
class Failure:
    setting: dict[str, Any]
    learner: str | None
    text: str


@dataclass
class Winners:
    best: NDArray[np.int64]
    advantage: NDArray[np.float64]
    p: NDArray[np.float64]


@dataclass
class Made:
    """A sweep as fairgate.sweep returns it."""

    task: str
    parameters: tuple[str, ...]
    design: Mapping[str, NDArray[Any]]
    learners: tuple[str, ...]
    figures: Mapping[str, NDArray[np.float64]]
    truth: Mapping[str, NDArray[Any]]
    failures: tuple[Failure, ...]
    settings: Mapping[str, Any]

    def mean(self, figure: str) -> NDArray[np.float64]:
        return np.asarray(self.figures[figure].mean(axis=2))

    def winners(self, figure: str = "shortfall") -> Winners:
        means = self.mean(figure)
        order = np.argsort(np.where(np.isnan(means), np.inf, means), axis=1)
        rows = np.arange(len(means))
        best = np.where(np.isnan(means).all(axis=1), -1, order[:, 0])
        if means.shape[1] == 1:
            return Winners(best, np.full(len(means), np.nan), np.full(len(means), np.nan))
        first, second = (self.figures[figure][rows, order[:, place]] for place in (0, 1))
        gap = second - first
        p = [wilcoxon(each).pvalue if np.isfinite(each).all() and each.any() else np.nan for each in gap]
        return Winners(best, gap.mean(axis=1), np.array(p))

    def command(self, setting: int, learner: str) -> str:
        values = " ".join(f"--set {name}={self.design[name][setting]:g}" for name in self.parameters)
        seeds = self.settings["seeds"]
        return " ".join(f"fairgate run {self.task} {learner} --seeds {seeds} --rounds 3000 {values}".split())


def made(
    over: Mapping[str, ArrayLike],
    learners: Sequence[str] = ("ofs", "safe-forecast"),
    seeds: int = 12,
    random: bool = False,
    broken: Sequence[int] = (),
) -> Made:
    """Make a sweep up: learner 0 is best at low values of the first parameter, the next ones further up.

    Nothing is feasible where the second parameter is below its lowest fifth; `broken` settings failed.
    """
    names = tuple(over)
    given = {name: np.asarray(values, dtype=float) for name, values in over.items()}
    rng = np.random.default_rng(1)
    if random:
        count = max(len(values) for values in given.values())
        design = {name: rng.uniform(min(values), max(values), count) for name, values in given.items()}
    else:
        combined = np.array(list(product(*given.values())), dtype=float).reshape(-1, len(names))
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
    truth = {
        "attainable": attainable,
        "best_threshold": 1.0 - second,
        "best_reward": best,
        "best_gap": 0.02 + 0.01 * first,
        "best_acceptance": 0.5 + 0.1 * second,
        "least_violation": np.where(attainable == 0, 0.2 - second, 0.0),
    }
    for place in broken:
        for values in figures.values():
            values[place] = np.nan
        for values in truth.values():
            values[place] = np.nan
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
        "code": "0123abcd",
    }
    return Made("compas", names, design, tuple(learners), figures, truth, failures, settings)
