"""The best feasible lottery of two thresholds, in the steady state of the lottery itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairgate.oracle.policies import PolicyPoint, point_of, ranked, steady_cells
from fairgate.policy import Policy
from fairgate.problem import Assessment
from fairgate.settings import Array
from fairgate.tasks import Task

WEIGHTS = np.linspace(0.0, 1.0, 11)
"""Weights at which every pair of thresholds is solved first."""

FINER = 20
"""Weights between two of these, at which what a pair leads to is interpolated to see which pairs are promising."""

OPTIONS = 43
"""Thresholds that are paired first, those that accept all and nobody among them; of a larger grid, every so many."""

KEPT = 24
"""Lotteries around which the search goes on."""

STEPS = (0.02, 0.005, 0.002, 5e-4, 1e-4, 2e-5, 4e-6, 1e-6)
"""By how much the search then moves the weight, coarse to fine."""

MOVES = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
"""Down, not at all, or up, for either threshold and the weight."""


def best_lottery(task: Task) -> tuple[PolicyPoint, int]:
    """Search lotteries of two thresholds of the grid, or that accept all or nobody; also say how many were solved.

    A lottery is (lower option, higher option, weight of the lower). All pairs are solved at a few weights, what they
    lead to is interpolated in between, and the most promising are improved step by step, each solved exactly.
    """
    options = np.concatenate(([-np.inf], task.thresholds, [np.inf]))
    stride = max(1, -(-len(task.thresholds) // (OPTIONS - 2)))
    few = np.unique(np.concatenate((np.arange(0, len(options), stride), [1, len(options) - 2, len(options) - 1])))
    low, high = (few[side] for side in np.triu_indices(len(few), 1))
    best = np.stack(_promising(task, options, low, high))
    solved = len(low) * len(WEIGHTS)
    for share in STEPS:
        best_before = best[:, :0]
        while not np.array_equal(best[:, :1], best_before):
            best_before = best[:, :1]
            tried = _around(best, np.array([stride, stride, share]), len(options))
            found = task.problem.assess(steady_cells(task, _policy(task, options, *tried)))
            best = tried[:, ranked(found)[:KEPT]]
            solved += tried.shape[1]
        stride = max(1, stride // 2)
    return point_of(task, _plain(_policy(task, options, *best[:, :1]))), solved


def _around(lotteries: Array, step: Array, options: int) -> Array:
    """Return lotteries (3, N) and those a step away, each once."""
    tried = (lotteries[:, :, None] + (step * MOVES).T[:, None]).reshape(3, -1)
    tried[2] = np.clip(np.round(tried[2], 9), 0.0, 1.0)
    tried = np.unique(tried, axis=1)
    return np.asarray(tried[:, (tried[0] >= 0) & (tried[1] < options) & (tried[0] < tried[1])])


def _promising(task: Task, options: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return the best lotteries of each of many pairs, as far as interpolation can tell, best first."""
    fine = np.linspace(0.0, 1.0, (len(WEIGHTS) - 1) * FINER + 1)
    cells = []
    for weight in WEIGHTS:
        cells.append(steady_cells(task, _policy(task, options, low, high, np.full(len(low), weight))))
    reward, residuals = [], []
    for place, part in _between(len(fine)):
        mixed = cells[place] + part * (cells[min(place + 1, len(cells) - 1)] - cells[place])
        found = task.problem.assess(mixed)
        reward.append(found.reward)
        residuals.append(found.residuals)
    rewards, broken = np.stack(reward, axis=1), np.stack(residuals, axis=2)  # (pairs, weights), (J, pairs, weights)
    order = ranked(Assessment(rewards.ravel(), broken.reshape(len(broken), -1)))
    pair, weight = np.unravel_index(order, rewards.shape)
    _, first = np.unique(pair, return_index=True)  # of every pair its best weight
    chosen = np.sort(first)[: 4 * KEPT]
    return low[pair[chosen]].astype(float), high[pair[chosen]].astype(float), fine[weight[chosen]]


def _between(count: int) -> Iterator[tuple[int, float]]:
    for number in range(count):
        yield number // FINER, number % FINER / FINER


def _policy(task: Task, options: Array, low: Array, high: Array, weight: Array) -> Policy:
    thresholds = options[np.stack((low, high)).astype(np.int64)][:, :, None]
    return Policy(np.repeat(thresholds, task.environment.group_count, axis=2), np.stack((weight, 1.0 - weight)))


def _plain(policy: Policy) -> Policy:
    """Write a lottery that is none as its one threshold."""
    return Policy.of(policy.single) if not policy.is_lottery.any() else policy
