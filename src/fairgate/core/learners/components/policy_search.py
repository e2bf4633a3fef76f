"""Policy search: the best safe policy of a class, from candidates all over the grid and from neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairgate.arrays import Array, namespace
from fairgate.core.learners.components.prospects import Prospects, Rules
from fairgate.core.learners.components.schedule import repeated
from fairgate.core.learners.components.uniform import PROBABILITIES
from fairgate.problem import Problem

PLACES = 11
"""Thresholds that pairs are made of in a broad search."""

WEIGHTS = np.linspace(0.05, 0.95, 10)
"""Weights of these pairs."""

UNIFORM = PROBABILITIES[::2]
"""Acceptance probabilities of uniform lotteries that are tried."""

UNSAFE = 1e6
"""Price of an unsafe policy, above any reward."""

RATES = np.linspace(0.02, 0.98, 33)
"""Acceptance rates that all groups are given in a broad search for a threshold per group."""

STEPS = np.array([0.01, 0.05, 0.2])
"""Changes of a weight that are tried from a policy on."""

PASSES = 4
"""Steps from a policy to its best neighbour."""

SMALLEST = 1e-6
"""Smallest standard error that a residual is divided by."""

FAR = 12
"""A far neighbour is this fraction of the grid away."""


class Found(NamedTuple):
    """A policy, its reward () and its largest residual plus margin (), which is at most 0 if it is safe."""

    rule: Rules
    reward: Array
    excess: Array


def best_of(problem: Problem, prospects: Prospects, rules: Rules, errors: float) -> Found:
    """Return the policy of the highest reward among the safe ones; if none is safe, the one that breaks least."""
    xp, worth = namespace(prospects.positives), prospects.worth(problem, rules, errors)
    beyond = worth.residuals + worth.margins
    excess = beyond.max(axis=0) if len(beyond) else xp.full_like(worth.reward, -1.0)
    broken = xp.maximum(beyond, 0.0).sum(axis=0)
    best = xp.where(excess <= 0.0, worth.reward, -UNSAFE * (1.0 + broken)).argmax()
    return Found(rules.at(best), worth.reward[best], excess[best])


def least_broken(problem: Problem, prospects: Prospects, rules: Rules) -> Array:
    """Return by how many standard errors the least broken of some policies breaks a constraint, ()."""
    _, residuals, errors = prospects.worth(problem, rules, 1.0)
    xp = namespace(residuals)
    if not len(residuals):
        return xp.asarray(-xp.inf)
    return (residuals / xp.maximum(errors, SMALLEST)).max(axis=0).min()


def improved(
    problem: Problem, prospects: Prospects, start: Rules, errors: float, neighbours: Callable[[Rules], Rules]
) -> Found:
    """Return the policy that some steps to the best neighbour lead to."""

    def step(rule: Rules) -> Found:
        return best_of(problem, prospects, neighbours(rule), errors)

    return step(repeated(namespace(prospects.positives), PASSES - 1, lambda rule: step(rule).rule, start))


def thresholds(arms: int) -> Rules:
    """Return every threshold of the grid, the same for all groups, as rules (K,)."""
    places = np.arange(1, arms + 1)[:, None]
    return Rules(places, places, np.ones(arms))


def uniform(arms: int) -> Rules:
    """Return uniform lotteries."""
    places = np.zeros((len(UNIFORM), 1), dtype=int)
    return Rules(places, places + arms + 1, UNIFORM)


def pairs(arms: int) -> Rules:
    """Return lotteries of two of some thresholds."""
    places = np.unique(np.linspace(0, arms + 1, PLACES).round().astype(int))
    low, high = (places[each] for each in np.triu_indices(len(places), 1))
    low, high, weight = (each.ravel() for each in np.broadcast_arrays(low[:, None], high[:, None], WEIGHTS))
    return Rules(low[:, None], high[:, None], weight)


def equal_rates(prospects: Prospects) -> Rules:
    """Return thresholds per group at which all groups have about the same acceptance rate, for many rates."""
    xp, above = namespace(prospects.positives), prospects.scores.above[:, 1:-1]
    places = 1 + abs(above[None] - xp.asarray(RATES)[:, None, None]).argmin(axis=-1)
    return Rules(places, places, xp.ones(len(RATES)))


def joined(*parts: Rules) -> Rules:
    """Return all policies of several sets; thresholds that all groups share are repeated where others differ."""
    xp = namespace(*(part.weight for part in parts))
    groups = max(part.low.shape[1] for part in parts)

    def together(name: str) -> Array:
        each = [getattr(part, name) for part in parts]
        return xp.concatenate([xp.broadcast_to(one, (len(one), groups)) for one in each])

    return Rules(together("low"), together("high"), xp.concatenate([part.weight for part in parts]))


def near_lotteries(arms: int) -> Callable[[Rules], Rules]:
    """Return a function to the neighbours of a lottery of two shared thresholds, itself among them."""
    far = max(2, round(arms / FAR))
    shifts = [(0, 0, 0.0)]
    for step in (-far, -1, 1, far):
        shifts += [(step, 0, 0.0), (0, step, 0.0), (step, step, 0.0)]
    shifts += [(0, 0, step * sign) for step in STEPS for sign in (-1.0, 1.0)]
    low, high, weight = (np.array(each) for each in zip(*shifts, strict=True))

    def neighbours(rule: Rules) -> Rules:
        xp = namespace(rule.weight)
        lower, higher = (xp.clip(one + by[:, None], 0, arms + 1) for one, by in ((rule.low, low), (rule.high, high)))
        return Rules(xp.minimum(lower, higher), higher, xp.clip(rule.weight + weight, 0.0, 1.0))

    return neighbours


def near_thresholds(arms: int, groups: int) -> Callable[[Rules], Rules]:
    """Return a function to the neighbours of a threshold per group, itself among them."""
    far = max(2, round(arms / FAR))
    one = np.concatenate((np.eye(groups, dtype=int), np.ones((1, groups), dtype=int)))
    shifts = np.concatenate([np.zeros((1, groups), dtype=int), *(step * one for step in (-far, -1, 1, far))])

    def neighbours(rule: Rules) -> Rules:
        xp = namespace(rule.weight)
        single = rule.low == rule.high
        places = xp.clip(rule.low + shifts, 1, arms)
        low, high = xp.where(single, places, rule.low), xp.where(single, places, rule.high)
        return Rules(low, high, xp.zeros(len(shifts)) + rule.weight)

    return neighbours
