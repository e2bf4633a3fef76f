"""check_learner: what every learner must do, built-in or a user's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fairgate.constraints import Constraint, DemographicParity, ServiceRate
from fairgate.counts import Counts, draw, over_bins
from fairgate.environments import GaussianScores
from fairgate.learners.base import Learner
from fairgate.policy import Lottery, published
from fairgate.problem import Problem, Utility
from fairgate.settings import Array
from fairgate.tasks import Task


class LearnerCheckError(AssertionError):
    """A learner does not keep the contract; the message says which part."""


def check_learner(learner: Learner[Any]) -> None:
    """Run a learner through the contract and raise :class:`LearnerCheckError` at the first breach.

    Checked: a repr, a clone that plays the same, thresholds of the right shape, finite and within the
    grid's interval, the same plays from the same seed, a JSON round trip after which it goes on exactly
    as before, one group, three groups, a grid of a single threshold.

    >>> import fairgate as fg
    >>> check_learner(fg.OFS())
    """
    for groups, arms in ((2, 9), (1, 9), (3, 5), (2, 1)):
        task = _task(groups, arms)
        where = f"{groups} groups, {arms} thresholds"
        plays = _play(learner, task, seed=1)
        _require(_same(plays, _play(learner, task, seed=1)), learner, "plays differ from the same seed", where)
        _require(_same(plays, _play(learner.clone(), task, seed=1)), learner, "a clone plays differently", where)
        _require(_same(plays, _play(learner, task, seed=1, save_at=7)), learner, "saving changes the plays", where)
        _require(
            _same(plays, _play(learner, task, seed=1, save_at=8, half=True)),
            learner,
            "saving between propose and observe changes the plays",
            where,
        )
    _require(repr(learner) == repr(learner.clone()), learner, "repr differs between a learner and its clone", "")


def _task(groups: int, arms: int) -> Task:
    environment = GaussianScores(
        means=np.linspace(-0.4, 0.4, groups),
        shares=np.full(groups, 1.0 / groups),
        sd=np.ones(groups),
        slope=2.0,
        midpoint=0.0,
        gain=0.3,
        rate=0.2,
    )
    grid = np.linspace(-2.0, 2.0, arms) if arms > 1 else [0.0]
    constraints: list[Constraint] = [ServiceRate(0.2, 0.8), *([DemographicParity(0.1)] if groups > 1 else [])]
    return Task(environment, Problem(Utility(1.0), constraints), grid, "check")


def _play(learner: Learner[Any], task: Task, seed: int, save_at: int = -1, half: bool = False) -> Array:
    """Play 30 rounds of 3 replicates; at round `save_at` continue from a JSON copy, taken before or after proposing."""
    nature, own = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    state = learner.start(task, 3, own)
    world = task.environment.start(3)
    played = []
    for t in range(30):
        if t == save_at and not half:
            state = learner.load(json.loads(json.dumps(learner.save(state), allow_nan=False)), task)
        policy = learner.propose(state)
        if t == save_at and half:
            state = learner.load(json.loads(json.dumps(learner.save(state), allow_nan=False)), task)
        thresholds = np.array(policy.thresholds if isinstance(policy, Lottery) else policy, dtype=np.float64)
        low, high = task.thresholds[0], task.thresholds[-1]
        shape = (*thresholds.shape[:-2], 3, task.environment.group_count)
        _require(thresholds.shape == shape, learner, f"thresholds have shape {thresholds.shape}, not {shape}", "")
        inside = (thresholds >= low - 1e-12) & (thresholds <= high + 1e-12)
        inside |= isinstance(policy, Lottery) & np.isinf(thresholds)
        _require(bool(inside.all()), learner, f"a threshold lies outside the grid's interval [{low}, {high}]", "")
        edges = None if learner.level == "bandit" else task.thresholds
        cells = draw(task.environment.cells(world, policy, edges), 40, nature)
        counts = Counts(cells if edges is None else over_bins(cells))
        world = task.environment.update(world, counts, published(policy), nature)
        played.append(thresholds[0] if isinstance(policy, Lottery) else thresholds)
        learner.observe(state, played[-1], task.problem.reveal(cells, learner.level))
    return np.array(played)


def _same(one: Array, other: Array) -> bool:
    return bool(np.array_equal(one, other))


def _require(kept: bool, learner: object, breach: str, where: str) -> None:
    if not kept:
        raise LearnerCheckError(f"{learner!r}: {breach}{f' ({where})' if where else ''}")
