"""Block: replicates that are played together, with random numbers of their own, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.environments.state import flatten
from fairgate.learners import Learner
from fairgate.loop import Loop, Round
from fairgate.nature import Nature, Repeated, Strided
from fairgate.policy import Policy
from fairgate.problem import Assessment, Problem
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.tasks import Task

Progress = Callable[[int], None]
"""Told the number of loop-rounds just finished."""

FEW = 50
"""Rounds that are assessed together."""


@dataclass(frozen=True)
class Block:
    """Replicates that are played together.

    Attributes
    ----------
    task, learner
        What to do and who does it, for as many replicates.
    rounds, batch, seed, coupling
        As in :func:`~fairgate.simulate`.
    number
        Which block of a simulation it is: it has random numbers of its own.
    parts
        Equal parts of the replicates that all have the random numbers of the first.
    record
        What else to keep: see :func:`~fairgate.simulate`.
    """

    task: Task
    learner: Learner[Any]
    replicates: int
    rounds: int
    batch: int
    seed: int
    coupling: str
    number: int = 0
    parts: int = 1
    record: Sequence[str] = ()

    def pieces(self, lengths: Sequence[int], progress: Progress | None = None) -> Iterator[Run]:
        """Play, and yield what happened piece by piece: `lengths` are the rounds of each and sum to all rounds.

        What the learner would keep for good is known in the last piece only.
        """
        task, learner = self.task, self.learner
        nature = Nature(self.seed, self.number, self.coupling, self.parts)
        loop = Loop(task, self.replicates, self.batch, nature, learner.level)
        source = np.random.SeedSequence(self.seed, spawn_key=(self.number, 1))
        state = learner.start(
            task.setting, self.replicates, Strided(source) if self.parts == 1 else Repeated(source, self.parts)
        )
        settings = self.settings()
        for length in lengths:
            kept = _Kept(length, loop.shape, learner.traces)
            for t in range(length):
                policy = loop.admitted(learner.propose(state), learner)
                if self.record:
                    kept.keep_state(t, loop.state)
                happened = loop.play(policy)
                kept.keep(t, happened, {name: learner.trace(state, name) for name in learner.traces})
                learner.observe(state, policy, happened.feedback)
                if progress is not None and loop.round % 100 == 0:
                    progress(100 * self.replicates)
            final = learner.recommend(state) if loop.round == self.rounds else None
            yield kept.run(task.problem, final, settings)
        if progress is not None:
            progress(self.rounds % 100 * self.replicates)

    def settings(self) -> dict[str, Any]:
        """Return what was asked for, as plain data."""
        return {
            "task": self.task.describe(),
            "learner": self.learner.describe(),
            "rounds": self.rounds,
            "seeds": self.replicates,
            "seed": self.seed,
            "batch": self.batch,
            "coupling": self.coupling,
        }


class _Kept:
    """What is kept of some rounds while they are played: in its place, replicates first, so that nothing moves later."""

    def __init__(self, rounds: int, shape: tuple[int, int], traces: Sequence[str]) -> None:
        replicates, groups = shape
        self.rounds = rounds
        self.thresholds = np.empty((1, replicates, rounds, groups))
        self.weights = np.ones((1, replicates, rounds))
        self.counts = np.empty((replicates, rounds, groups, 2, 2), dtype=np.int32)
        self.probabilities = np.empty((replicates, rounds, groups, 2, 2))
        self.traces: dict[str, Array] = {name: np.empty((replicates, rounds)) for name in traces}
        self.states: dict[str, Array] = {}

    def keep(self, t: int, happened: Round, traces: Mapping[str, Array]) -> None:
        thresholds, weights = happened.played
        more = len(weights) - len(self.weights)
        if more > 0:  # a lottery of more thresholds than any before: others have weight 0
            self.thresholds, self.weights = widened(self.thresholds, more, np.inf), widened(self.weights, more, 0.0)
        self.thresholds[: len(weights), :, t] = thresholds
        if len(self.weights) > 1:
            self.weights[: len(weights), :, t] = weights
        if more < 0:
            self.thresholds[more:, :, t], self.weights[more:, :, t] = np.inf, 0.0
        self.counts[:, t], self.probabilities[:, t] = happened.counts, happened.probabilities
        for name, values in traces.items():
            self.traces[name][:, t] = values

    def keep_state(self, t: int, world: Any) -> None:
        for name, values in flatten(world).items():
            if t == 0:
                self.states[name] = np.empty((len(values), self.rounds, *values.shape[1:]))
            self.states[name][:, t] = values

    def run(self, problem: Problem, final: Policy | None, settings: Mapping[str, Any]) -> Run:
        """Return it as a run."""
        return Run(
            policies=Policy(self.thresholds, self.weights),
            counts=self.counts,
            probabilities=self.probabilities,
            batch=_assessed(problem, self.counts),
            population=_assessed(problem, self.probabilities),
            traces=self.traces,
            names=problem.names,
            final=final,
            states=self.states,
            settings=settings,
        )


def widened(values: Array, more: int, fill: float) -> Array:
    """Return thresholds or weights (M, …) with so `many` more, filled with one number."""
    return np.concatenate((values, np.full((more, *values.shape[1:]), fill))) if more > 0 else values


def _assessed(problem: Problem, cells: Any) -> Assessment:
    """Assess cells (replicates, rounds, …), a few rounds at a time, so that all of it stays in the processor's cache."""
    replicates, rounds = cells.shape[:2]
    reward, residuals = np.empty((replicates, rounds)), np.empty((len(problem.names), replicates, rounds))
    for first in range(0, rounds, FEW):
        few = slice(first, first + FEW)
        found = problem.assess(cells[:, few].swapaxes(0, 1))  # replicates last, as settings by replicate are
        reward[:, few], residuals[:, :, few] = found.reward.T, found.residuals.swapaxes(1, 2)
    return Assessment(reward, residuals)
