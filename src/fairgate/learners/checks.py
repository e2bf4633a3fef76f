"""check_learner: what every learner must do, built-in or a user's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from fairgate.constraints import Constraint, DemographicParity, ServiceRate
from fairgate.environments import GaussianScores
from fairgate.errors import InputError
from fairgate.learners.base import AnyLearner, AnyPure, Learner
from fairgate.learners.own import as_learner
from fairgate.learners.state import encode
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.problem import Problem, Utility
from fairgate.settings import Array
from fairgate.tasks import Task


class LearnerCheckError(AssertionError):
    """A learner does not keep the contract; the message says which part."""


def check_learner(learner: AnyLearner | AnyPure) -> None:
    """Run a learner through the contract and raise :class:`LearnerCheckError` at the first breach.

    Checked: a repr, a clone that plays the same, thresholds of the right shape within the grid's interval, the same
    plays from the same seed, a JSON round trip after which it goes on exactly as before, a batch of nobody that
    changes nothing, one group, three groups, a grid of a single threshold. A learner that inherits from nothing is
    checked just the same.

    >>> import fairgate as fg
    >>> check_learner(fg.OFS())
    """
    checked = as_learner(learner)
    for groups, arms in ((2, 9), (1, 9), (3, 5), (2, 1)):
        task = _task(groups, arms)
        where = f"{groups} groups, {arms} thresholds"
        plays = _play(checked, task, seed=1)
        for breach, other in (
            ("plays differ from the same seed", _play(checked, task, seed=1)),
            ("a clone plays differently", _play(checked.clone(), task, seed=1)),
            ("saving changes the plays", _play(checked, task, seed=1, save_at=7)),
            (
                "saving between propose and observe changes the plays",
                _play(checked, task, seed=1, save_at=8, half=True),
            ),
            ("a batch of nobody changes the plays", _play(checked, task, seed=1, empty_at=9)),
        ):
            _require(np.array_equal(plays, other), checked, breach, where)
    _require(repr(checked) == repr(checked.clone()), checked, "repr differs between a learner and its clone", "")


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


def _play(
    learner: Learner[Any], task: Task, seed: int, save_at: int = -1, half: bool = False, empty_at: int = -1
) -> Array:
    """Play 30 rounds of 3 replicates; at `save_at` go on from a JSON copy, at `empty_at` add a batch of nobody."""
    state = learner.start(task.setting, 3, np.random.default_rng(seed))
    loop = Loop(task, 3, 40, Nature(seed), learner.level)
    low, high = task.thresholds[0], task.thresholds[-1]
    played = []
    for t in range(30):
        if t == save_at and not half:
            state = _copied(learner, state, task)
        try:
            policy = loop.admitted(learner.propose(state), learner)
        except InputError as error:
            raise LearnerCheckError(f"{learner!r}: {error}") from None
        if t == save_at and half:
            state = _copied(learner, state, task)
        finite = policy.thresholds[np.isfinite(policy.thresholds)]
        inside = ((finite >= low - 1e-12) & (finite <= high + 1e-12)).all()
        _require(bool(inside), learner, f"a threshold lies outside the grid's interval [{low}, {high}]", "")
        if t == empty_at:
            before = json.dumps(encode(state))
            shape = loop.shape if loop.edges is None else (*loop.shape, len(loop.edges) + 1)
            nobody = np.zeros((*shape, 2, 2), dtype=np.int64)
            learner.observe(state, policy, task.problem.reveal(nobody, learner.level))
            _require(json.dumps(encode(state)) == before, learner, "a batch of nobody changes the state", "")
        happened = loop.play(policy)
        played.append(np.concatenate((policy.thresholds.ravel(), policy.weights.ravel())))
        learner.observe(state, policy, happened.feedback)
    return np.concatenate(played)


def _copied(learner: Learner[Any], state: Any, task: Task) -> Any:
    try:
        return learner.load(json.loads(json.dumps(learner.save(state), allow_nan=False)), task.setting)
    except InputError as error:
        raise LearnerCheckError(f"{learner!r}: its state cannot be saved and loaded: {error}") from None


def _require(kept: bool, learner: object, breach: str, where: str) -> None:
    if not kept:
        raise LearnerCheckError(f"{learner!r}: {breach}{f' ({where})' if where else ''}")
