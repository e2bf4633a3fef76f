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
    """What is kept of some rounds while they are played: rounds first, so that what a round writes lies together."""

    def __init__(self, rounds: int, shape: tuple[int, int], traces: Sequence[str]) -> None:
        self.rounds, self.shape = rounds, shape
        self.thresholds = np.empty((1, rounds, *shape))
        self.weights = np.ones((1, rounds, shape[0]))
        self.counts = np.empty((rounds, *shape, 2, 2), dtype=np.int32)
        self.probabilities = np.empty((rounds, *shape, 2, 2))
        self.traces: dict[str, Array] = {name: np.empty((rounds, shape[0])) for name in traces}
        self.states: dict[str, Array] = {}

    def keep(self, t: int, happened: Round, traces: Mapping[str, Array]) -> None:
        thresholds, weights = happened.played
        more = len(weights) - len(self.weights)
        if more > 0:  # a lottery of more thresholds than any before: others have weight 0
            self.thresholds, self.weights = widened(self.thresholds, more, np.inf), widened(self.weights, more, 0.0)
        self.thresholds[: len(weights), t], self.weights[: len(weights), t] = thresholds, weights
        if more < 0:
            self.thresholds[more:, t], self.weights[more:, t] = np.inf, 0.0
        self.counts[t], self.probabilities[t] = happened.counts, happened.probabilities
        for name, values in traces.items():
            self.traces[name][t] = values

    def keep_state(self, t: int, world: Any) -> None:
        for name, values in flatten(world).items():
            if t == 0:
                self.states[name] = np.empty((self.rounds, *values.shape))
            self.states[name][t] = values

    def run(self, problem: Problem, final: Policy | None, settings: Mapping[str, Any]) -> Run:
        """Return it as a run, replicates first."""
        return Run(
            policies=Policy(_turned(self.thresholds, 1), _turned(self.weights, 1)),
            counts=_turned(self.counts),
            probabilities=_turned(self.probabilities),
            batch=_assessed(problem, self.counts),
            population=_assessed(problem, self.probabilities),
            traces={name: _turned(values) for name, values in self.traces.items()},
            names=problem.names,
            final=final,
            states={name: _turned(values) for name, values in self.states.items()},
            settings=settings,
        )


def widened(values: Array, more: int, fill: float) -> Array:
    """Return thresholds or weights (M, …) with so `many` more, filled with one number."""
    return np.concatenate((values, np.full((more, *values.shape[1:]), fill))) if more > 0 else values


def _turned(values: Any, axis: int = 0) -> Any:
    """Put replicates before rounds, which are this axis and the next."""
    return np.ascontiguousarray(values.swapaxes(axis, axis + 1))


def _assessed(problem: Problem, cells: Any) -> Assessment:
    found = problem.assess(cells)
    return Assessment(_turned(found.reward), _turned(found.residuals, 1))
