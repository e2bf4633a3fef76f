"""The best feasible lottery of up to three thresholds, in the steady state of the lottery itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import NoSteadyStateError
from fairgate.oracle.policies import PolicyPoint, point_of, ranked
from fairgate.policy import Policy
from fairgate.problem import Assessment, violation
from fairgate.settings import Array
from fairgate.tasks import Task

WEIGHTS = np.linspace(0.0, 1.0, 11)
"""Weights at which every pair of thresholds is solved first."""

FINER = 20
"""Weights between two of these, at which what a pair leads to is interpolated to see which pairs are promising."""


class Effort(NamedTuple):
    """How far a search goes.

    Attributes
    ----------
    options
        Thresholds that are paired first, those that accept all and nobody among them; of a larger grid, every so many.
    kept
        Lotteries around which the search goes on.
    steps
        By how much it then moves weights, coarse to fine.
    patience
        Moves of the same step size, at most.
    third
        Whether a third threshold is tried.
    """

    options: int
    kept: int
    steps: tuple[float, ...]
    patience: int
    third: bool


FULL = Effort(43, 24, (0.02, 0.005, 0.002, 5e-4, 1e-4, 2e-5, 4e-6, 1e-6), 20, third=True)
"""All that helps, in seconds."""

QUICK = Effort(15, 6, (0.05, 0.02, 0.005, 0.001), 3, third=False)
"""For many tasks, in a tenth of a second each; how much worse it is, tests/worlds/ says."""

CAREFUL = Effort(25, 12, (0.05, 0.02, 0.005, 0.001), 6, third=False)
"""The same for tasks without a feasible threshold, where lotteries matter most."""

THIRD = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Weights that a third threshold is tried at first."""

ANGLES = 24
"""Directions in which the weights of three thresholds are moved: where two constraints bind, few ways lead up."""


class Lotteries(NamedTuple):
    """Lotteries (N,) of three: places of their options (3, N), ascending or of weight 0, and weights (3, N)."""

    places: NDArray[np.int64]
    weights: Array

    def take(self, index: NDArray[np.int64]) -> Lotteries:
        """Return some of them."""
        return Lotteries(self.places[:, index], self.weights[:, index])

    def joined(self, other: Lotteries) -> Lotteries:
        """Return these and others."""
        return Lotteries(*(np.concatenate(each, axis=1) for each in zip(self, other, strict=True)))


class _Search:
    """Lotteries of one task, and how many were solved."""

    def __init__(self, task: Task, effort: Effort) -> None:
        self.task, self.effort, self.solved = task, effort, 0
        self.options = np.concatenate(([-np.inf], task.thresholds, [np.inf]))

    def policy(self, tried: Lotteries) -> Policy:
        thresholds = self.options[tried.places][:, :, None]
        return Policy(np.repeat(thresholds, self.task.environment.group_count, axis=2), tried.weights)

    def cells(self, tried: Lotteries) -> Array:
        """Return what each leads to; NaN, which ranks last, where it comes to no rest."""
        policy = self.policy(tried)
        self.solved += policy.replicates
        left = np.arange(policy.replicates)
        while True:
            try:
                found = self.task.environment.long_run_cells(policy.rows(left))
                break
            except NoSteadyStateError as error:
                left = np.delete(left, error.places)
                if not len(left):
                    raise
        if len(left) == policy.replicates:
            return found
        cells = np.full((policy.replicates, *found.shape[1:]), np.nan)
        cells[left] = found
        return cells

    def best(self, tried: Lotteries) -> tuple[Lotteries, float, float]:
        """Return the best of them, all of other options, and the violation and the reward of the first."""
        found = self.task.problem.assess(self.cells(tried))
        order = ranked(found)
        _, first = np.unique(tried.places[:, order], axis=1, return_index=True)
        order = order[np.sort(first)[: self.effort.kept]]
        broken = float(violation(found.residuals[:, order[:1]])[0])
        return tried.take(order), broken, float(found.reward[order[0]])

    def improved(self, found: Lotteries, directions: Array, stride: int) -> Lotteries:
        """Move options by a stride or weights by a step while that helps, with smaller and smaller steps."""
        least, most = np.inf, -np.inf
        for step in self.effort.steps:
            for _ in range(self.effort.patience):
                found, broken, reward = self.best(self.around(found, step * directions, stride if step > 1e-4 else 0))
                better = broken < least - 1e-10 or (broken <= least and reward > most + 1e-10)
                least, most = min(broken, least), reward
                if not better:
                    break
            stride = max(1, stride // 2)
        return found

    def around(self, found: Lotteries, moves: Array, stride: int) -> Lotteries:
        """Return lotteries and those one option, one move of weights (3, D), or both away, each once."""
        alone = stride * np.eye(3, dtype=np.int64)
        shifts = np.concatenate((0 * alone[:1], alone, -alone)) if stride else 0 * alone[:1]  # (S, 3)
        places = found.places.T[:, None, None] + shifts[:, None]  # (N, S, 1, 3)
        weights = found.weights.T[:, None, None] + moves.T  # (N, 1, D, 3)
        every = np.broadcast_shapes(places.shape, weights.shape)
        flat = np.broadcast_to(places, every).reshape(-1, 3).T
        mixed = np.round(np.clip(np.broadcast_to(weights, every).reshape(-1, 3).T, 0.0, 1.0), 9)
        mixed = mixed / mixed.sum(axis=0)
        kept = ((flat >= 0) & (flat < len(self.options))).all(axis=0)
        return _different(Lotteries(flat[:, kept], mixed[:, kept]))

    def promising(self, few: NDArray[np.int64]) -> Lotteries:
        """Return pairs of `few` options, each at its best weight, as far as interpolation can tell, best first."""
        low, high = (few[side] for side in np.triu_indices(len(few), 1))
        cells = [self.cells(_pairs(low, high, np.full(len(low), weight))) for weight in WEIGHTS]
        fine = np.linspace(0.0, 1.0, (len(WEIGHTS) - 1) * FINER + 1)
        found = []
        for number in range(len(fine)):
            place, part = divmod(number, FINER)
            after = cells[min(place + 1, len(cells) - 1)]
            found.append(self.task.problem.assess(cells[place] + part / FINER * (after - cells[place])))
        reward = np.stack([each.reward for each in found], axis=1)  # (pairs, weights)
        residuals = np.stack([each.residuals for each in found], axis=2)
        order = ranked(Assessment(reward.ravel(), residuals.reshape(len(residuals), reward.size)))
        pair, weight = np.unravel_index(order, reward.shape)
        _, first = np.unique(pair, return_index=True)  # of every pair its best weight
        chosen = np.sort(first)[: 4 * self.effort.kept]
        return _pairs(low[pair[chosen]], high[pair[chosen]], fine[weight[chosen]])

    def with_third(self, pairs: Lotteries, few: NDArray[np.int64]) -> Lotteries:
        """Return pairs with any third option, whose weight is taken from either of the two or from both."""
        sources = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        number, third, share, source = (
            each.ravel() for each in np.indices((pairs.places.shape[1], len(few), len(THIRD), len(sources)))
        )
        given = np.minimum(pairs.weights[:2, number], np.array(THIRD)[share] * sources[source].T)
        places = np.stack((*pairs.places[:2, number], few[third]))
        return _different(Lotteries(places, np.stack((*(pairs.weights[:2, number] - given), given.sum(axis=0)))))


def best_lottery(task: Task, effort: Effort = FULL) -> tuple[PolicyPoint, int]:
    """Search lotteries of up to three options, thresholds of the grid, all or nobody; also say how many were solved.

    All pairs are solved at a few weights, what they lead to is interpolated in between, and the most promising are
    improved step by step. Then each gets a third option, and is improved again. All that is compared in the end was
    solved exactly.
    """
    search = _Search(task, effort)
    count = len(search.options)
    stride = max(1, -(-len(task.thresholds) // (effort.options - 2)))
    few = np.unique(np.concatenate((np.arange(0, count, stride), [1, count - 2, count - 1])))
    pairs = search.improved(search.promising(few), np.array([[0.0, 1.0, -1.0], [0.0, -1.0, 1.0], [0.0] * 3]), stride)
    if not effort.third:
        return point_of(task, _plain(search.policy(search.best(pairs)[0].take(np.array([0]))))), search.solved
    angles = np.linspace(0.0, 2.0 * np.pi, ANGLES, endpoint=False)
    ways = np.stack((np.cos(angles), np.cos(angles + 2.0 * np.pi / 3.0), np.cos(angles - 2.0 * np.pi / 3.0)))
    directions = np.concatenate((ways, np.zeros((3, 1))), axis=1)
    three = search.improved(search.best(search.with_third(pairs, few))[0], directions, 2 * stride)
    best, _, _ = search.best(pairs.joined(three))
    return point_of(task, _plain(search.policy(best.take(np.array([0]))))), search.solved


def _pairs(low: NDArray[np.int64], high: NDArray[np.int64], weight: Array) -> Lotteries:
    """Return lotteries of two options; the third has no weight."""
    return Lotteries(np.stack((low, high, high)), np.stack((weight, 1.0 - weight, 0.0 * weight)))


def _different(tried: Lotteries) -> Lotteries:
    """Leave out those that are there already."""
    _, first = np.unique(np.concatenate(tried), axis=1, return_index=True)
    return tried.take(np.sort(first))


def _plain(policy: Policy) -> Policy:
    """Write one lottery with each threshold once, lowest first, and without those of no weight."""
    given = policy.thresholds[:, 0, 0]
    single, place = np.unique(given, return_inverse=True)
    weights = np.bincount(place, policy.weights[:, 0])
    kept = weights > 0.0
    thresholds = np.repeat(single[kept, None, None], policy.groups, axis=2)
    return Policy(thresholds, weights[kept, None] / weights.sum())
