"""Block: replicates that are played together, with random numbers of their own, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.environments.state import flatten
from fairgate.learners import Learner
from fairgate.loop import Loop
from fairgate.nature import Nature, Repeated, Strided
from fairgate.policy import Policy
from fairgate.problem import Assessment, Problem
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.stacked import StackedGenerator, StackedNature
from fairgate.tasks import Task

Progress = Callable[[int], None]
"""Told the number of loop-rounds just finished."""

BLOCK = 250
"""Replicates simulated together. Each block has its own seed, so results do not depend on the number of workers."""

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
    stacked
        Replicates of each of several blocks, numbered from `number` on, that are played at once with results as if each
        were played alone; only `number` if empty.
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
    stacked: Sequence[int] = ()

    def whole(self, progress: Progress | None = None, room: Run | None = None) -> Run:
        """Play, and return all that happened; `room` is an empty run to write to."""
        (found,) = self._played([self.rounds], progress, room)
        return found

    def pieces(self, lengths: Sequence[int], progress: Progress | None = None) -> Iterator[Run]:
        """Play, and yield what happened piece by piece: `lengths` are the rounds of each and sum to all rounds.

        What the learner would keep for good is known in the last piece only.
        """
        return self._played(lengths, progress, None)

    def _played(self, lengths: Sequence[int], progress: Progress | None, room: Run | None) -> Iterator[Run]:
        task, learner = self.task, self.learner
        loop = Loop(task, self.replicates, self.batch, self._nature(), learner.level)
        state = self.started()
        settings = self.settings()
        for length in lengths:
            kept = Kept(room or empty_run(length, loop.shape, task.problem, learner.traces, settings))
            for t in range(length):
                policy = loop.admitted(learner.propose(state), learner)
                if self.record:
                    kept.keep_state(t, loop.state)
                happened = loop.play(policy)
                traces = {name: learner.trace(state, name) for name in learner.traces}
                kept.keep(t, happened.played, happened.counts, happened.probabilities, traces)
                learner.observe(state, policy, happened.feedback)
                if progress is not None and loop.round % 100 == 0:
                    progress(100 * self.replicates)
            final = learner.recommend(state) if loop.round == self.rounds else None
            yield kept.run(task.problem, final)
        if progress is not None:
            progress(self.rounds % 100 * self.replicates)

    def started(self) -> Any:
        """Return the state with which the learner begins, with random numbers of its own."""
        return self.learner.start(self.task.setting, self.replicates, self._own())

    def _nature(self) -> Nature:
        """Return the random numbers of whatever is not the learner."""
        if not self.stacked:
            return Nature(self.seed, self.number, self.coupling, self.parts)
        natures = [Nature(self.seed, number, self.coupling) for number, _ in enumerate(self.stacked, self.number)]
        return StackedNature(natures, self.stacked)

    def _own(self) -> np.random.Generator:
        """Return the learner's own random numbers."""
        numbers = range(self.number, self.number + max(1, len(self.stacked)))
        sources = [np.random.SeedSequence(self.seed, spawn_key=(number, 1)) for number in numbers]
        if self.stacked:
            return StackedGenerator([Strided(source) for source in sources], self.stacked)
        return Strided(sources[0]) if self.parts == 1 else Repeated(sources[0], self.parts, self.replicates)

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


def empty_run(
    rounds: int, shape: tuple[int, int], problem: Problem, traces: Sequence[str], settings: Mapping[str, Any]
) -> Run:
    """Return a run of replicates × groups of `shape` whose arrays have yet to be written."""
    replicates, groups = shape

    def assessment() -> Assessment:
        return Assessment(np.empty((replicates, rounds)), np.empty((len(problem.names), replicates, rounds)))

    return Run(
        policies=Policy(np.empty((1, replicates, rounds, groups)), np.ones((1, replicates, rounds))),
        counts=np.empty((replicates, rounds, groups, 2, 2), dtype=np.int32),
        probabilities=np.empty((replicates, rounds, groups, 2, 2)),
        batch=assessment(),
        population=assessment(),
        traces={name: np.empty((replicates, rounds)) for name in traces},
        names=problem.names,
        settings=settings,
    )


class Kept:
    """What is kept of some rounds while they are played: written to its place in a run, so that nothing moves later."""

    def __init__(self, room: Run) -> None:
        self.room = room
        self.thresholds, self.weights = room.policies
        self.states: dict[str, Array] = {}

    def keep(
        self, t: int, played: Policy, counts: NDArray[Any], probabilities: Array, traces: Mapping[str, Array]
    ) -> None:
        """Keep a round."""
        thresholds, weights = played
        more = len(weights) - len(self.weights)
        if more > 0:  # a lottery of more thresholds than any before: others have weight 0
            self.thresholds, self.weights = widened(self.thresholds, more, np.inf), widened(self.weights, more, 0.0)
        self.thresholds[: len(weights), :, t] = thresholds
        if len(self.weights) > 1:  # else it is 1 already
            self.weights[: len(weights), :, t] = weights
        if more < 0:
            self.thresholds[more:, :, t], self.weights[more:, :, t] = np.inf, 0.0
        self.room.counts[:, t], self.room.probabilities[:, t] = counts, probabilities
        for name, values in traces.items():
            self.room.traces[name][:, t] = values

    def keep_state(self, t: int, world: Any) -> None:
        """Keep the state before a round."""
        for name, values in flatten(world).items():
            if t == 0:
                self.states[name] = np.empty((len(values), self.room.rounds, *values.shape[1:]))
            self.states[name][:, t] = values

    def run(self, problem: Problem, final: Policy | None) -> Run:
        """Return the run, assessed."""
        _assess(problem, self.room.counts, self.room.batch)
        _assess(problem, self.room.probabilities, self.room.population)
        return replace(self.room, policies=Policy(self.thresholds, self.weights), final=final, states=self.states)


def widened(values: Array, more: int, fill: float) -> Array:
    """Return thresholds or weights (M, …) with so `many` more, filled with one number."""
    return np.concatenate((values, np.full((more, *values.shape[1:]), fill))) if more > 0 else values


def _assess(problem: Problem, cells: Any, into: Assessment) -> None:
    """Assess cells (replicates, rounds, …), a few rounds at a time, so that they stay in the processor's cache."""
    for first in range(0, cells.shape[1], FEW):
        few = slice(first, first + FEW)
        found = problem.assess(cells[:, few].swapaxes(0, 1))  # replicates last, as settings by replicate are
        into.reward[:, few], into.residuals[:, :, few] = found.reward.T, found.residuals.swapaxes(1, 2)


def joined(runs: Sequence[Run], room: Run | None = None) -> Run:
    """Put runs of other replicates together; lotteries of fewer thresholds get more of weight 0.

    `room` is the whole run, if they were written to their places in it, where only lotteries found no place.
    """
    if len(runs) == 1:
        return runs[0]

    def policy(each: Sequence[Policy]) -> Policy:
        most = max(len(one.weights) for one in each)
        thresholds = [widened(one.thresholds, most - len(one.weights), np.inf) for one in each]
        weights = [widened(one.weights, most - len(one.weights), 0.0) for one in each]
        return Policy(np.concatenate(thresholds, axis=1), np.concatenate(weights, axis=1))

    def assessment(each: Sequence[Assessment]) -> Assessment:
        rewards, residuals = zip(*each, strict=True)
        return Assessment(np.concatenate(rewards), np.concatenate(residuals, axis=1))

    first = runs[0]
    finals = [each.final for each in runs if each.final is not None]
    final = policy(finals) if finals else None
    states = {name: np.concatenate([each.states[name] for each in runs]) for name in first.states}
    if room is not None:
        lotteries = any(len(each.policies.weights) > 1 for each in runs)
        policies = policy([each.policies for each in runs]) if lotteries else room.policies
        return replace(room, policies=policies, final=final, states=states)
    return replace(
        first,
        policies=policy([each.policies for each in runs]),
        counts=np.concatenate([each.counts for each in runs]),
        probabilities=np.concatenate([each.probabilities for each in runs]),
        batch=assessment([each.batch for each in runs]),
        population=assessment([each.population for each in runs]),
        traces={name: np.concatenate([each.traces[name] for each in runs]) for name in first.traces},
        final=final,
        states=states,
    )


def blocks_of(replicates: int, size: int = BLOCK) -> list[slice]:
    """Return the replicates that are simulated together."""
    return [slice(low, min(low + size, replicates)) for low in range(0, replicates, size)]
