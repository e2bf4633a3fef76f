"""Host: run a learner or an environment in plain Python round by round, next to the pure form of the rest.

A learner or environment without a pure form works on arrays of loops, as described in
:class:`fairgate.learners.Learner` and :class:`fairgate.environments.Environment`. Applicants and late labels equal
those of the pure form, because their random numbers are a function of seed, loop and round.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairgate import learners
from fairgate.arrays import Array, each_of, piled, taken
from fairgate.block import Kept, empty_run
from fairgate.core.feedback import reveal
from fairgate.core.labels import Credits, LabelDelay, Pending
from fairgate.core.loop import by_bin, chances, meet, nothing_pending
from fairgate.core.policy import Policy as Pure
from fairgate.core.setting import Setting, register_parts
from fairgate.counts import Counts
from fairgate.environments import Environment
from fairgate.policy import Policy, as_policy
from fairgate.problem import Arrivals, Problem
from fairgate.random import Draws
from fairgate.run import Run
from fairgate.setting import Setting as Told

Function = Callable[[Any, Any], Any]
"""A function of the values that all loops share, and of the values of each loop."""


class Met(NamedTuple):
    """A batch of every loop: counts and their probabilities, (loops, groups, bins, 2, 2), and labels that arrive."""

    counts: Array
    expected: Array
    arrived: tuple[Credits, Array] | None


@dataclass(frozen=True)
class Stage:
    """Values that the environment and the learner of a block of loops share.

    Attributes
    ----------
    setting, delay
        Setting that learners receive, and delay of labels (None if all arrive at once).
    level, batch, key
        Feedback level of the learner, applicants per round, and the seed's key.
    loops
        Numbers of the loops, (loops,).
    library
        ``"jax"`` or ``"numpy"``.
    """

    setting: Setting
    delay: LabelDelay | None
    level: str
    batch: int
    key: Array
    loops: Array
    library: str

    def over(self, function: Function, shared: Any, own: Any) -> Any:
        """Call a function for all loops: compiled, or loop by loop in NumPy."""
        if self.library == "jax":
            register_parts(self.setting.problem)
            return _compiled(function)(shared, own)
        return piled([function(shared, each) for each in each_of(own)])

    def counted(self, drawn: Array) -> Counts:
        """Return the counts of people drawn by score bin, (loops, groups, bins, 2, 2), in the detail of the level."""
        return Counts(drawn.sum(axis=2)) if self.level == "bandit" else Counts.of_bins(drawn)


@functools.lru_cache(maxsize=64)
def _compiled(function: Function) -> Function:
    import jax

    mapped = jax.jit(jax.vmap(function, in_axes=(None, 0)))

    def call(shared: Any, own: Any) -> Any:
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, mapped(shared, own))

    return call


class PurePeople:
    """A pure environment, compiled for all loops."""

    def __init__(self, stage: Stage, environment: Any) -> None:
        self.stage, self.environment = stage, environment
        self.population = piled([environment.start() for _ in stage.loops])

    def meet(self, number: Array, policy: Policy, noted: Pure, pending: Pending | None) -> tuple[Met, Pending | None]:
        """Play a round; `noted` is the policy that is recorded with its pending labels."""
        stage = self.stage
        shared = self.environment, stage.setting, stage.delay, stage.key, number
        own = self.population, pending, _to_pure(policy), noted, stage.loops
        self.population, pending, met = stage.over(_whole_round(stage.level, stage.batch), shared, own)
        return met, pending


@functools.cache
def _whole_round(level: str, batch: int) -> Function:
    def play(shared: Any, own: Any) -> Any:
        environment, setting, delay, key, number = shared
        population, pending, policy, noted, loop = own
        draws = Draws(key, loop[None], number[None])
        expected = chances(environment, setting, level, population, policy)
        counts, pending, arrived = meet(delay, setting, batch, draws, expected, noted, pending)
        return environment.update(population, policy, counts, draws), pending, Met(counts.binned, expected, arrived)

    return play


class ArrayPeople:
    """An environment in plain Python, which works on arrays of loops."""

    def __init__(self, stage: Stage, environment: Environment, rng: np.random.Generator) -> None:
        self.stage, self.environment, self.rng = stage, environment, rng
        self.state = environment.start(len(stage.loops))

    def meet(self, number: Array, policy: Policy, noted: Pure, pending: Pending | None) -> tuple[Met, Pending | None]:
        """Play a round; `noted` is the policy that is recorded with its pending labels."""
        stage, environment = self.stage, self.environment
        if stage.level == "bandit":
            expected = environment.cells(self.state, policy)[:, :, None]
        else:
            expected = environment.cells(self.state, policy, stage.setting.grid)
        shared = stage.setting, stage.delay, stage.key, number
        met, pending = stage.over(_batch(stage.batch), shared, (pending, expected, noted, stage.loops))
        counts = stage.counted(met.counts)
        self.state = environment.update(self.state, counts, environment.published(policy), self.rng)
        return met, pending


@functools.cache
def _batch(batch: int) -> Function:
    def draw(shared: Any, own: Any) -> Any:
        setting, delay, key, number = shared
        pending, expected, noted, loop = own
        draws = Draws(key, loop[None], number[None])
        counts, pending, arrived = meet(delay, setting, batch, draws, expected, noted, pending)
        return Met(counts.binned, expected, arrived), pending

    return draw


class PureLearner:
    """A pure learner, compiled for all loops."""

    def __init__(self, stage: Stage, learner: Any) -> None:
        self.stage, self.learner = stage, learner
        self.memory = piled([learner.init(stage.setting) for _ in stage.loops])

    def propose(self, number: Array) -> tuple[Policy, Pure, dict[str, Array]]:
        """Return the policies to play, the same in pure form to record with pending labels, and traces."""
        stage = self.stage
        shared = self.learner, stage.setting, stage.key, number
        policy, traces = stage.over(_propose, shared, (self.memory, stage.loops))
        return _from_pure(policy, stage.setting.groups), policy, traces

    def observe(self, number: Array, policy: Policy, noted: Pure, met: Met) -> None:
        """Update the learner after a round."""
        stage = self.stage
        shared = self.learner, stage.setting, stage.key, number
        own = self.memory, noted, met.counts, met.arrived, stage.loops
        self.memory = stage.over(_observe, shared, own)

    def recommend(self) -> Policy | None:
        """Return the policies that the learner recommends, if any."""
        if not hasattr(self.learner, "recommend"):
            return None
        found = self.stage.over(_recommend, (self.learner, self.stage.setting), (self.memory, self.stage.loops))
        return _from_pure(found, self.stage.setting.groups)


def _propose(shared: Any, own: Any) -> Any:
    learner, setting, key, number = shared
    memory, loop = own
    traces = learner.traces(memory) if hasattr(learner, "traces") else {}
    return learner.propose(setting, memory, Draws(key, loop[None], number[None])), traces


def _observe(shared: Any, own: Any) -> Any:
    learner, setting, key, number = shared
    memory, policy, drawn, arrived, loop = own
    counts = by_bin(drawn)
    feedback = reveal(setting.problem, counts, setting.problem.assess(counts), learner.level, arrived)
    return learner.observe(setting, memory, Draws(key, loop[None], number[None]), policy, feedback)


def _recommend(shared: Any, own: Any) -> Any:
    learner, setting = shared
    memory, _ = own
    return learner.recommend(setting, memory)


class ArrayLearner:
    """A learner in plain Python, which works on arrays of loops."""

    def __init__(self, stage: Stage, learner: learners.Learner[Any], setting: Told, rng: np.random.Generator) -> None:
        self.stage, self.learner, self.setting = stage, learner, setting
        self.state = learner.start(setting, len(stage.loops), rng)
        self.noted = Pure(np.zeros((len(stage.loops), 1, 1)), np.ones((len(stage.loops), 1)))
        self.past: dict[int, Policy] = {}
        self.open: dict[int, Array] = {}  # labels of past rounds that have not arrived yet
        self.counted: dict[int, tuple[Array, Array]] = {}

    def propose(self, number: Array) -> tuple[Policy, Pure, dict[str, Array]]:
        """Return the policies to play, a placeholder to record with pending labels, and traces."""
        stage, learner = self.stage, self.learner
        shape = len(stage.loops), stage.setting.groups
        edges = None if stage.level == "bandit" else stage.setting.grid
        policy = as_policy(learner.propose(self.state)).checked(learner, shape, edges)
        return policy, self.noted, {name: np.asarray(learner.trace(self.state, name)) for name in learner.traces}

    def observe(self, number: Array, policy: Policy, noted: Pure, met: Met) -> None:
        """Update the learner after a round."""
        counts, labels, arrivals = self.stage.counted(met.counts), None, None
        if met.arrived is not None:
            credited, binned = met.arrived
            arrivals = self._arrivals(int(number), policy, counts, np.asarray(credited.labels))
            labels = binned.sum(axis=2) if self.stage.level == "bandit" else binned
        feedback = self.setting.problem.reveal(counts, self.stage.level, arrivals, labels, int(number))
        self.learner.observe(self.state, policy, feedback)

    def _arrivals(self, number: int, policy: Policy, counts: Counts, labels: Array) -> Arrivals:
        """Return arrivals by batch, given labels (loops, horizon, groups, 2) by round modulo the horizon."""
        horizon = labels.shape[1]
        nobody = counts.accepted.sum(axis=1, keepdims=True) == 0  # these batches wait for no labels
        self.past[number], self.open[number] = policy.copy(), counts.accepted.copy()
        self.counted[number] = np.where(nobody, 0, counts.people), counts.accepted
        rounds = [each for each in sorted(self.past) if each == number or labels[:, each % horizon].any()]
        found = np.stack([labels[:, each % horizon] for each in rounds])
        last = []
        for each in rounds:
            self.open[each] = self.open[each] - labels[:, each % horizon].sum(axis=2)
            last.append(not self.open[each].any())
        people = np.stack([self.counted[each][0] for each in rounds[:-1]] + [counts.people])
        accepted = np.stack([self.counted[each][1] for each in rounds])
        played = [self.past[each] for each in rounds]
        for each in [each for each in self.past if each <= number + 1 - horizon or not self.open[each].any()]:
            del self.past[each], self.open[each], self.counted[each]
        return Arrivals(rounds, played, found, people, accepted, last)

    def recommend(self) -> Policy | None:
        """Return the policies that the learner recommends, if any."""
        return self.learner.recommend(self.state)


def pieces(
    people: PurePeople | ArrayPeople,
    learner: PureLearner | ArrayLearner,
    problem: Problem,
    lengths: Sequence[int],
    settings: dict[str, Any],
) -> Iterator[Run]:
    """Play the loops and yield the run in pieces; `lengths` gives the rounds of each piece."""
    stage, pending, number = people.stage, None, 0
    shape = len(stage.loops), stage.setting.groups
    for place, length in enumerate(lengths):
        for t in range(length):
            now = np.uint32(number)
            policy, noted, traces = learner.propose(now)
            if t == 0:
                kept = Kept(empty_run(length, shape, problem, list(traces), settings))
            if stage.delay is not None and pending is None:
                first = taken(noted, 0)
                one = nothing_pending(stage.delay, stage.setting, stage.level, first)
                pending = piled([one for _ in stage.loops])
            met, pending = people.meet(now, policy, noted, pending)
            kept.keep(t, policy, met.counts.sum(axis=2), met.expected.sum(axis=2), traces)
            learner.observe(now, policy, noted, met)
            number += 1
        yield kept.run(problem, learner.recommend() if place + 1 == len(lengths) else None)


def _to_pure(policy: Policy) -> Pure:
    """Move loops to the first axis, and pad lotteries to 1, 2, 4, 8 … thresholds, so that few shapes are compiled."""
    thresholds, weights = np.moveaxis(policy.thresholds, 1, 0), np.moveaxis(policy.weights, 1, 0)
    more = (1 << (weights.shape[1] - 1).bit_length()) - weights.shape[1]
    if more:
        thresholds = np.pad(thresholds, ((0, 0), (0, more), (0, 0)), constant_values=np.inf)
        weights = np.pad(weights, ((0, 0), (0, more)))
    return Pure(thresholds, weights)


def _from_pure(policy: Pure, groups: int) -> Policy:
    thresholds = np.broadcast_to(policy.thresholds, (*policy.thresholds.shape[:2], groups))
    return Policy(np.moveaxis(thresholds, 0, 1), np.moveaxis(policy.weights, 0, 1))
