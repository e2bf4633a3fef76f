"""The distribution of random worlds: all numbers of a world, drawn from its own number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.environments.responsive_scores import ResponsiveScores
from fairgate.worlds.shapes import ROOT, Shape, shape_of

STEEPEST = 0.85
"""Largest slope of where people end up in where they are: below 1 there is one steady state, and it is reached."""

ANSWERS = {
    "nothing": 0.10,
    "quality": 0.30,
    "inflation": 0.12,
    "labels": 0.10,
    "participation": 0.13,
    "quality and participation": 0.15,
    "inflation and labels": 0.10,
}
"""What answers to decisions, and how often."""

SIGNALS = {"acceptance": 0.50, "threshold": 0.20, "outcome": 0.20, "acceptance and threshold": 0.10}
"""What people answer to, and how often."""

CHANGES = {"nothing": 0.80, "season": 0.10, "jump": 0.10}
"""What changes by itself, and how often."""

ROUNDS = 3000
"""Length of a run that seasons and jumps are meant for."""


@dataclass(frozen=True, eq=False)
class World:
    """A random world: its shape, the settings of its environment and problem, and what they stand for in words.

    `attempt` is how often it was drawn before, without anything at stake.
    """

    number: int
    attempt: int
    shape: Shape
    environment: dict[str, Any]
    problem: dict[str, Any]
    words: dict[str, str]


def draw_world(number: int, attempt: int = 0) -> World:
    """Draw a world by its number. Worlds in which nothing is at stake are drawn again, as another `attempt`.

    >>> world = draw_world(7)
    >>> world.shape.groups == len(world.environment["weak"]), world.problem == draw_world(7).problem
    (True, True)
    """
    rng = np.random.default_rng([ROOT, 1, number, attempt])
    shape = shape_of(number)
    people = _people(rng, shape.groups)
    answers, signal, changes = (_pick(rng, options) for options in (ANSWERS, SIGNALS, CHANGES))
    answering = _answers(rng, answers, shape.groups)
    heard = _signal(rng, signal)
    environment = people | answering | heard | _changes(rng, changes, shape.groups)
    environment |= {"label_arrival": shape.label_arrival, "label_loss": shape.label_loss}
    _weaken(environment)
    words = {"answers": answers, "signal": signal, "changes": changes}
    return World(number, attempt, shape, environment, _problem(rng, shape), words)


def _pick(rng: np.random.Generator, options: dict[str, float]) -> str:
    return str(rng.choice(list(options), p=list(options.values())))


def _sometimes(rng: np.random.Generator, chance: float, value: Any, otherwise: Any) -> Any:
    """Draw whether, of two values that are drawn either way, so that nothing that follows depends on it."""
    return value if rng.random() < chance else otherwise


def _people(rng: np.random.Generator, groups: int) -> dict[str, Any]:
    """Who there is: scores, labels, and how many of each group."""
    centre = rng.uniform(-0.3, 0.3) + rng.uniform(0.0, 0.35) * rng.standard_normal(groups)
    apart = rng.uniform(0.6, 1.8)
    shares = rng.dirichlet(np.full(groups, 4.0))
    rare = np.where(np.arange(groups) == rng.integers(groups), rng.uniform(0.02, 0.06), 0.0)
    others = np.where(rare > 0, 0.0, shares)
    some = rare + (1.0 - rare.sum()) * others / others.sum()
    shares = _sometimes(rng, 0.3, some, 0.05 * (1.0 / groups) + 0.95 * shares)
    own_curves = rng.random() < 0.3
    slope = rng.uniform(1.0, 3.0) * np.exp(own_curves * 0.25 * rng.standard_normal(groups))
    midpoint = rng.uniform(-0.8, 0.8) + own_curves * 0.2 * rng.standard_normal(groups)
    quality = rng.uniform(0.3, 0.7) + rng.uniform(-0.05, 0.05, groups)
    far = np.where(rng.random(groups) < 0.5, rng.uniform(0.0, 0.15, groups), rng.uniform(0.85, 1.0, groups))
    return {
        "weak": centre - 0.5 * apart,
        "strong": centre + 0.5 * apart,
        "sd": rng.uniform(0.6, 1.0) * rng.uniform(0.85, 1.15, groups),
        "shares": shares / shares.sum(),
        "slope": slope,
        "midpoint": midpoint,
        "quality": quality,
        "first_quality": _sometimes(rng, 0.35, far, quality),
        "outliers": _sometimes(rng, 0.3, rng.uniform(0.05, 0.2), 0.0),
        "ties": _sometimes(rng, 0.35, float(rng.choice([0.1, 0.25, 0.5])), 0.0),
    }


def _answers(rng: np.random.Generator, answers: str, groups: int) -> dict[str, Any]:
    """How people answer; what does not answer stays as it is."""
    sign = 1.0 if rng.random() < 0.7 else -1.0
    gain = {name: sign * rng.uniform(0.3, 1.2) * rng.uniform(0.6, 1.4, groups) for name in ("q", "v", "m")}
    stay = sign * rng.uniform(0.5, 3.0) * rng.uniform(0.6, 1.4, groups)
    inflation, lift = rng.uniform(0.1, 0.5, groups), rng.uniform(0.4, 1.2)
    relabelled, shift = rng.uniform(0.1, 0.5, groups), rng.uniform(0.4, 1.2)
    none = np.zeros(groups)
    return {
        "quality_gain": gain["q"] if "quality" in answers else none,
        "inflation": inflation if "inflation" in answers else none,
        "inflation_gain": gain["v"] if "inflation" in answers else none,
        "lift": lift if "inflation" in answers else 0.0,
        "relabelled": relabelled if "labels" in answers else none,
        "relabelled_gain": gain["m"] if "labels" in answers else none,
        "label_shift": shift if "labels" in answers else 0.0,
        "participation_gain": stay if "participation" in answers else none,
    }


def _signal(rng: np.random.Generator, signal: str) -> dict[str, Any]:
    """What people answer to, how fast, how late, and whether they look at other groups."""
    part = rng.uniform(0.3, 0.7)
    shares = {"threshold": (1.0, 0.0), "outcome": (0.0, 1.0), "acceptance and threshold": (part, 0.0)}
    by_threshold, by_outcome = shares.get(signal, (0.0, 0.0))
    return {
        "by_threshold": by_threshold,
        "by_outcome": by_outcome,
        "rate": float(np.exp(rng.uniform(np.log(0.005), np.log(0.5)))),
        "lag": _sometimes(rng, 0.25, int(rng.integers(2, 41)), 0),
        "cross": _sometimes(rng, 0.25, rng.uniform(-0.4, 0.4), 0.0),
    }


def _changes(rng: np.random.Generator, changes: str, groups: int) -> dict[str, Any]:
    """What changes by itself, during a run of so many rounds."""
    swing = rng.uniform(0.05, 0.2) * rng.uniform(0.5, 1.5, groups)
    jump = rng.choice([-1.0, 1.0]) * rng.uniform(0.1, 0.3) * rng.uniform(0.0, 1.5, groups)
    when, period = int(rng.integers(ROUNDS // 6, ROUNDS * 5 // 6)), rng.uniform(ROUNDS / 6, ROUNDS)
    none = np.zeros(groups)
    return {
        "swing": swing if changes == "season" else none,
        "period": period,
        "jump": jump if changes == "jump" else none,
        "jump_round": when,
    }


def _problem(rng: np.random.Generator, shape: Shape) -> dict[str, Any]:
    """What is wanted and what is required."""
    low, floor = rng.uniform(0.1, 0.35), rng.uniform(0.08, 0.25)
    limits = {
        "parity": {"epsilon": rng.uniform(0.04, 0.16)},
        "ratio": {"ratio": rng.uniform(0.55, 0.85)},
        "opportunity": {"epsilon": rng.uniform(0.05, 0.18)},
        "equalised-odds": {"epsilon": rng.uniform(0.08, 0.2)},
        "service": {"low": low, "high": low + rng.uniform(0.3, 0.6)},
        "group-service": {"low": floor, "high": floor + rng.uniform(0.55, 0.7)},
        "improvement": {"rise": 75.0, "fall": 150.0, "minimum": rng.uniform(-20.0, -2.0)},
        "budget": {"share": rng.uniform(0.2, 0.6)},
    }
    cost = float(np.exp(rng.uniform(np.log(0.3), np.log(3.0))))
    return {"false_positive_cost": cost, **{name: limits[name] for name in shape.constraints}}


def _weaken(environment: dict[str, Any]) -> None:
    """Scale answers down where they could have more than one steady state."""
    steep = ResponsiveScores(**environment).feedback()
    if steep > STEEPEST:
        for name in ("quality_gain", "inflation_gain", "relabelled_gain", "participation_gain"):
            environment[name] = environment[name] * (STEEPEST / steep)
