"""Environments in both forms, with states, policies and batches to compare them in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairgate.core.environments.drift import DriftState
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.environments import CreditScores, Drift, Environment, GaussianScores, NormalScores
from fairgate.environments.beliefs import Beliefs
from fairgate.policy import Policy as PolicyOfMany
from fairgate.settings import Array

BATCH = 256


class Case(NamedTuple):
    """A state of one loop as the environment for many has it, a policy, and a batch of applicants."""

    state: Array
    policy: Policy
    counts: Counts


def some_case(environment: Environment, grid: Array, number: int) -> Case:
    """Return a case. The policies of five in a row are of five kinds, and every fourth case lacks a group."""
    rng = np.random.default_rng(number)
    groups = environment.group_count
    low, high = grid[0], grid[-1]
    policy = (
        Policy.at(rng.choice(grid)),
        Policy.per_group(rng.uniform(low, high, groups)),
        Policy.per_group(np.where(rng.random(groups) < 0.5, -np.inf, np.inf)),
        Policy.lottery(np.array([-np.inf, rng.choice(grid)]), np.array([0.3, 0.7])),
        Policy(rng.uniform(low, high, (2, groups)), np.array([0.6, 0.4])),
    )[number % 5]
    state = some_state(environment, rng)
    cells = environment.cells(state, of_many(policy, groups))[0]
    people = rng.multinomial(BATCH, cells.ravel() / cells.sum()).reshape(cells.shape).astype(np.float64)
    people[0] *= number % 4 > 0
    return Case(state, policy, Counts(people))


def some_state(environment: Environment, rng: np.random.Generator) -> Array:
    """Return a state that the loop can lead to, (1, …)."""
    groups = environment.group_count
    if isinstance(environment, CreditScores):
        return rng.dirichlet(np.ones(3), (1, groups))[..., :2]
    if isinstance(environment, Beliefs):
        return rng.uniform(-1.5, 1.5, (1, groups))
    state: Array = environment.start(1)
    if isinstance(environment, Drift):
        return np.append(state[:, :-1] + rng.uniform(-0.1, 0.1, groups), [[rng.integers(2000)]], axis=1)
    assert isinstance(environment, NormalScores)
    return state + environment.reach * rng.uniform(-1.0, 1.0, groups)


def of_many(policy: Policy, groups: int) -> PolicyOfMany:
    """Return a policy of one loop as one of one replicate."""
    shape = len(policy.weights), 1, groups
    return PolicyOfMany(np.broadcast_to(policy.thresholds[:, None], shape), policy.weights[:, None])


def of_one(environment: Environment, state: Array) -> Any:
    """Return the state of a single replicate as its pure form has it."""
    return DriftState(state[0, :-1], state[0, -1]) if isinstance(environment, Drift) else state[0]


def numbers_of(state: Any) -> Array:
    """Return the numbers of a state of one loop as its environment for many lays them out."""
    return np.append(state.means, state.round) if isinstance(state, DriftState) else np.asarray(state)


def steep() -> GaussianScores:
    """Return normal scores whose labels change within a fiftieth of a standard deviation."""
    return GaussianScores([0.0, 1.0], [0.3, 0.7], [1.0, 2.0], slope=-50.0, midpoint=0.3, gain=0.4, rate=0.2)
