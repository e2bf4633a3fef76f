"""A world without luck or memory to try learners of one loop in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fairgate as fg
from fairgate.arrays import Array
from fairgate.core.feedback import reveal
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting
from fairgate.counts import Counts
from fairgate.problem import Feedback, Problem
from fairgate.random import Draws

LEARNERS = (
    "ofs", "random", "fixed:threshold=0.1", "accept-all", "best-lottery", "unconstrained", "primal-dual",
    "epsilon-greedy", "explore-then-commit", "pessimistic-optimistic", "two-point", "thompson", "conformal-tracker",
    "bayesian", "safe-bayesian", "epoch-zeroth-order", "epoch-zeroth-order:points=1", "doubly-optimistic",
    "smooth-optimist", "performative-gradient",
)  # fmt: skip
"""Learners that have a pure form; all but the last see counts only."""

ARMS = 5

World = Callable[[Policy], Array]


def setting_of(low: float = 0.2, high: float = 0.6, cost: float = 1.0) -> Setting:
    """Return thresholds 0, 0.25, …, 1, and a window of the acceptance rate."""
    problem = Problem(fg.Utility(cost), [fg.ServiceRate(low, high)])
    return Setting(problem, np.linspace(0.0, 1.0, ARMS), groups=2)


def uniform(policy: Policy) -> Array:
    """Return 100 people of each of two groups whose scores are uniform, and are the probability of label 1."""
    cells = np.zeros((2, 2, 2))
    for thresholds, weight in zip(policy.thresholds, policy.weights, strict=True):
        least = np.clip(np.broadcast_to(thresholds, 2), 0.0, 1.0)
        cells[:, 1, 1] += 100.0 * weight * 0.5 * (1.0 - least**2)
        cells[:, 0, 1] += 100.0 * weight * ((1.0 - least) - 0.5 * (1.0 - least**2))
    cells[:, :, 0] = 50.0 - cells[:, :, 1]
    return cells


def empty(policy: Policy) -> Array:
    """Return nobody."""
    return np.zeros((2, 2, 2))


def shown(setting: Setting, cells: Array, level: str = "bandit") -> Feedback:
    """Return what a batch shows; where score bins are seen, there are as many people in each."""
    counts = Counts(cells)
    if level != "bandit":
        counts.binned = np.repeat(cells[:, None] / (ARMS + 1), ARMS + 1, axis=1)
    return reveal(setting.problem, counts, setting.problem.assess(counts), level)


class Told(NamedTuple):
    """What a learner played, and its memory at the end."""

    played: list[Policy]
    memory: Any

    @property
    def thresholds(self) -> list[float]:
        return [float(each.thresholds[0, 0]) for each in self.played]


def told(
    learner: Any,
    setting: Setting,
    rounds: int,
    world: World = uniform,
    *,
    after: Told | None = None,
    override: dict[int, Policy] | None = None,
    seed: int = 0,
) -> Told:
    """Play some rounds, after others if there are any, in some of which somebody overrides the learner."""
    memory, first = (after.memory, len(after.played)) if after else (learner.init(setting), 0)
    played: list[Policy] = list(after.played) if after else []
    for number in range(first, first + rounds):
        draws = Draws.of(seed, 0, number)
        policy = (override or {}).get(number) or learner.propose(setting, memory, draws)
        memory = learner.observe(setting, memory, draws, policy, shown(setting, world(policy), learner.level))
        played.append(policy)
    return Told(played, memory)


def numbers(memory: Any) -> Array:
    """Return all numbers of a record in a row."""
    if isinstance(memory, tuple):
        return np.concatenate([np.zeros(0), *map(numbers, memory)])
    if hasattr(memory, "__dataclass_fields__"):
        return np.concatenate([numbers(getattr(memory, name)) for name in memory.__dataclass_fields__])
    return np.ravel(memory).astype(np.float64)
