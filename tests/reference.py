"""Slow, plain references that the fast code is checked against."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts, draw
from fairgate.environments import (
    CreditScores,
    Drift,
    Environment,
    LocationScale,
    NormalScores,
    Performative,
    ScorePools,
    Strategic,
)
from fairgate.policy import Policy, as_policy

Array = NDArray[np.float64]


def step(
    environment: Environment,
    state: Any,
    policy: Array | Policy,
    people: int,
    rng: np.random.Generator,
    edges: Array | None = None,
) -> tuple[Any, NDArray[np.int64]]:
    """Draw a batch, decide on it, and return the next state and the batch's counts, by bin if there are `edges`."""
    policy = as_policy(policy)
    cells = draw(environment.cells(state, policy, edges), people, rng)
    counts = Counts(cells if edges is None else cells.sum(axis=-3))
    return environment.update(state, counts, policy.published, rng), cells


def tally(probabilities: Array, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Count people, given by increasing numbers below 2³², one by one in all cells by score bin.

    Cells (replicates, groups, bins, label, decision) lie side by side by group, label, decision and bin.
    """
    cells = probabilities.transpose(0, 1, 3, 4, 2)
    ends = np.minimum(2.0**32 * cells.reshape(len(cells), -1).cumsum(axis=1), 2.0**32).astype(np.uint64)
    ends[:, -1] = 2**32
    below = np.stack([row.astype(np.uint64).searchsorted(end) for row, end in zip(numbers, ends, strict=True)])
    return np.diff(below, axis=1, prepend=0).reshape(cells.shape).transpose(0, 1, 4, 2, 3)


def people(
    environment: Environment, state: Array, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """Draw `size` people one by one, as a script would: group, score and label of each. `state` is of one replicate."""
    if isinstance(environment, NormalScores):
        groups = rng.choice(environment.group_count, size=size, p=np.asarray(environment.shares))
        scores = rng.normal(mean_scores(environment, state)[groups], np.asarray(environment.sd)[groups])
        chance = 1.0 / (1.0 + np.exp(-environment.slope * (scores - environment.midpoint)))
        labels = (rng.random(size) < chance).astype(np.int64)
        if isinstance(environment, Strategic):
            for person, group in enumerate(groups):
                believed = state[group]
                if believed - environment.budgets[group] <= scores[person] < believed:
                    scores[person] = believed
        if isinstance(environment, LocationScale):
            for person, group in enumerate(groups):
                spread = max(1.0 + environment.scale[group] * state[group], 0.1)
                mean = environment.means[group]
                shift = environment.location[group] * state[group]
                scores[person] = mean + spread * (scores[person] - mean) + shift
        return groups, scores, labels
    if isinstance(environment, CreditScores):
        return borrowers(environment, state, size, rng)
    assert isinstance(environment, ScorePools)
    all_scores = np.asarray(environment.scores, dtype=float)
    all_labels, all_groups = np.asarray(environment.labels), np.asarray(environment.groups)
    pools = {}
    for group in range(environment.group_count):
        members = np.flatnonzero(all_groups == group)
        cut = np.quantile(all_scores[members], environment.split)
        for high in (True, False):
            pools[group, high] = members[(all_scores[members] > cut) == high]
    drawn = []
    for _ in range(size):
        group = int(all_groups[rng.integers(len(all_groups))])  # a group by its share of the table
        pool = pools[group, bool(rng.random() < state[group])]
        drawn.append(pool[rng.integers(len(pool))])
    chosen = np.array(drawn)
    return all_groups[chosen], all_scores[chosen], all_labels[chosen]


def borrowers(
    environment: CreditScores, state: Array, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """Draw people with a score of the table and a record that moves it; whether they repay goes by the moved score."""
    table, repay = (np.asarray(each, dtype=float) for each in (environment.scores, environment.repay))
    cdf = np.cumsum(environment.pdf, axis=1)
    groups = rng.choice(environment.group_count, size=size, p=np.asarray(environment.shares))
    scores, labels = np.empty(size), np.empty(size, dtype=np.int64)
    for person, group in enumerate(groups):
        place = int(np.searchsorted(cdf[group], rng.random()))
        score, record = table[min(place, len(table) - 1)], rng.random()
        repaid, not_repaid = state[group]
        if record < repaid:
            score = min(score + environment.rise, environment.high)
        elif record < repaid + not_repaid:
            score = max(score - environment.fall, environment.low)
        scores[person] = score
        labels[person] = rng.random() < np.interp(score, table, repay[group])
    return groups, scores, labels


def mean_scores(environment: NormalScores, state: Array) -> Array:
    """Mean score of each group in a state of one replicate, as the docstrings give it."""
    means = []
    for group, mean in enumerate(environment.means):
        if isinstance(environment, Drift):
            swing = environment.swing[group] * math.sin(2 * math.pi * state[-1] / environment.period)
            means.append(state[group] + swing + (environment.jump[group] if state[-1] >= environment.jump_round else 0))
        elif isinstance(environment, Performative):
            means.append(mean + environment.response[group] * state[group])
        else:
            means.append(mean if isinstance(environment, (Strategic, LocationScale)) else state[group])
    return np.array(means)


def tabulate(
    groups: NDArray[np.int64], labels: NDArray[np.int64], decisions: NDArray[np.int64], group_count: int
) -> NDArray[np.int64]:
    """Count people by group × label × decision."""
    cells = np.zeros((group_count, 2, 2), dtype=np.int64)
    np.add.at(cells, (groups, labels, decisions), 1)
    return cells


class PlainOFS:
    """Algorithm 1, line by line, for one loop."""

    def __init__(self, arms: int, residuals: int, c: float, delta: float) -> None:
        self.arms, self.c, self.delta, self.t = arms, c, delta, 0
        self.n = [0] * arms
        self.r = [0.0] * arms
        self.g = [[0.0] * residuals for _ in range(arms)]

    def choose(self, explore: bool, anywhere: int) -> int:
        self.t += 1
        b = [
            math.sqrt(self.c * math.log((self.t + 1) * self.arms / self.delta) / max(1, self.n[i]))
            for i in range(self.arms)
        ]
        self.feasible = [i for i in range(self.arms) if all(g + b[i] <= 0 for g in self.g[i])]
        if explore:
            return anywhere
        if self.feasible:
            best = self.feasible[0]
            for i in self.feasible:
                if self.r[i] + b[i] > self.r[best] + b[best]:
                    best = i
            return best
        least = 0
        cost = [sum(max(g + b[i], 0.0) for g in self.g[i]) for i in range(self.arms)]
        for i in range(self.arms):
            if cost[i] < cost[least]:
                least = i
        return least

    def observe(self, i: int, reward: float, residuals: list[float]) -> None:
        self.n[i] += 1
        self.r[i] += (reward - self.r[i]) / self.n[i]
        for j, g in enumerate(residuals):
            self.g[i][j] += (g - self.g[i][j]) / self.n[i]


class PlainPrimalDual:
    """One-point bandit gradient descent on the Lagrangian with dual ascent, for one loop."""

    def __init__(self, low: float, high: float, residuals: int, **settings: Any) -> None:
        self.low, self.high = low, high
        self.step, self.radius, self.dual_step = settings["step"], settings["radius"], settings["dual_step"]
        self.y = low + settings["start_at"] * (high - low)
        self.multipliers = [0.0] * residuals

    def choose(self, u: float) -> float:
        self.u = u
        played: float = self.y + self.radius * u
        return played

    def observe(self, reward: float, residuals: list[float]) -> None:
        penalty = 0.0
        for multiplier, g in zip(self.multipliers, residuals, strict=True):
            penalty += multiplier * g
        gradient = (-reward + penalty) * self.u / self.radius
        self.y = min(max(self.y - self.step * gradient, self.low + self.radius), self.high - self.radius)
        self.multipliers = [
            max(0.0, multiplier + self.dual_step * g) for multiplier, g in zip(self.multipliers, residuals, strict=True)
        ]
