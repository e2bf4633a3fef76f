"""A small world of every kind, with states and thresholds to try it in."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairgate.environments import (
    CreditScores,
    DelayedImpact,
    Drift,
    Environment,
    GaussianScores,
    LocationScale,
    Performative,
    ScorePools,
    Strategic,
)
from fairgate.settings import Array

RNG = np.random.default_rng(0)
"""For updates that need no random numbers, as none of these do."""

NORMAL: dict[str, Any] = {
    "means": [-0.2, 0.3], "shares": [0.4, 0.6], "sd": [1.0, 0.7], "slope": 2.5, "midpoint": 0.1, "rate": 0.3,
}  # fmt: skip


def gaussian(**changes: Any) -> GaussianScores:
    return GaussianScores(**(NORMAL | {"gain": 0.5} | changes))


def drift(**changes: Any) -> Drift:
    changing = {"gain": 0.5, "swing": [0.3, 0.1], "period": 900.0, "jump": [-0.2, 0.4], "jump_round": 700}
    return Drift(**(NORMAL | changing | changes))


def strategic(**changes: Any) -> Strategic:
    return Strategic(**(NORMAL | {"expected": 0.2, "budgets": [0.5, 0.2]} | changes))


def performative(**changes: Any) -> Performative:
    return Performative(**(NORMAL | {"expected": 0.2, "response": [0.5, -0.3]} | changes))


def location_scale(**changes: Any) -> LocationScale:
    return LocationScale(**(NORMAL | {"expected": 0.2, "location": [0.5, 1.3], "scale": [0.2, -0.3]} | changes))


def delayed_impact(**changes: Any) -> DelayedImpact:
    scores = {"means": [600.0, 640.0], "sd": [90.0, 60.0], "slope": 0.02, "midpoint": 590.0, "carry": 0.4}
    return DelayedImpact(**(NORMAL | scores | changes))


def pools() -> ScorePools:
    """People with tied scores and unequal groups."""
    rng = np.random.default_rng(7)
    groups = (rng.random(300) < 0.7).astype(int)
    scores = np.round(rng.normal(0.3 * groups, 1.0), 1)
    labels = (rng.random(300) < 1 / (1 + np.exp(-1.5 * scores))).astype(int)
    return ScorePools(scores, labels, groups, split=0.4, floor=0.1, ceiling=0.9, rate=0.3)


def credit_scores(**changes: Any) -> CreditScores:
    """Two groups of 200 scores, unequally far apart."""
    rng = np.random.default_rng(8)
    scores = np.concatenate(([300.0], np.sort(rng.uniform(300.0, 850.0, 198)), [850.0]))
    pdf = rng.dirichlet(np.full(len(scores), 3.0), 2)
    repay = np.clip(1 / (1 + np.exp(-0.015 * (scores - np.array([[560.0], [610.0]])))), 0.0, 1.0)
    known = {"scores": scores, "pdf": pdf, "repay": repay, "shares": [0.7, 0.3], "rate": 0.3, "carry": 0.8}
    return CreditScores(**(known | changes))


WORLDS: dict[str, Environment] = {
    "GaussianScores": gaussian(),
    "ScorePools": pools(),
    "DelayedImpact": delayed_impact(),
    "CreditScores": credit_scores(),
    "Strategic": strategic(),
    "Performative": performative(),
    "LocationScale": location_scale(),
    "Drift": drift(),
}


def unit(environment: Environment) -> tuple[float, float]:
    """Where the scores lie, and how widely."""
    return (610.0, 80.0) if isinstance(environment, (CreditScores, DelayedImpact)) else (0.0, 1.0)


def some_states(environment: Environment, count: int, rng: np.random.Generator) -> Array:
    """States that the loop can lead to."""
    if isinstance(environment, ScorePools):
        return rng.random((count, 2))
    if isinstance(environment, CreditScores):
        return rng.dirichlet(np.ones(3), (count, 2))[..., :2]
    if isinstance(environment, (Strategic, Performative, LocationScale)):
        return rng.uniform(-1.5, 1.5, (count, 2))
    states: Array = environment.start(count)
    states[:, :2] += rng.uniform(-0.2, 0.2, (count, 2)) * unit(environment)[1]
    if isinstance(environment, Drift):
        states[:, 2] = rng.integers(0, 2000, count)
    return states


def some_thresholds(environment: Environment, count: int, rng: np.random.Generator) -> Array:
    """Thresholds from where nearly all are accepted to where nearly nobody is."""
    middle, width = unit(environment)
    return middle + width * rng.uniform(-2.0, 2.0, (count, environment.group_count))


def some_edges(environment: Environment, count: int = 41) -> Array:
    """Increasing edges over the scores; two lie beyond everybody."""
    middle, width = unit(environment)
    inside = middle + width * np.linspace(-2.0, 2.0, count - 2)
    return np.concatenate(([middle - 30 * width], inside, [middle + 30 * width]))
