"""Loop: one round of the closed loop, propose → draw → reveal → observe → respond. Written here and nowhere else."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairgate.arrays import Array, namespace
from fairgate.core.feedback import reveal
from fairgate.core.people import draw_binned, draw_cells
from fairgate.core.policy import Policy
from fairgate.core.setting import Task
from fairgate.counts import Counts
from fairgate.problem import Feedback
from fairgate.random import Draws, Purpose


class State(NamedTuple):
    """Where a loop stands: the state of its environment, and the memory of its learner."""

    population: Any
    memory: Any


class Round(NamedTuple):
    """What happened in a round: the policy, counts and exact probabilities (groups, 2, 2), and the feedback."""

    played: Policy
    counts: Array
    probabilities: Array
    feedback: Feedback


def begin(task: Task, learner: Any) -> State:
    """Return the state before the first round."""
    return State(task.environment.start(), learner.init(task.setting))


def play(task: Task, learner: Any, batch: int, draws: Draws, state: State) -> tuple[State, Round]:
    """Play one round with `batch` applicants."""
    environment, setting = task.environment, task.setting
    policy = learner.propose(setting, state.memory, draws)
    words = draws.words(Purpose.PEOPLE, batch)
    if learner.level == "bandit":
        probabilities = environment.cells(state.population, policy)
        counts = Counts(draw_cells(probabilities, words))
    else:
        binned = decided(environment.histogram(state.population, setting.grid), policy.accepts(setting.grid))
        probabilities = binned.sum(axis=1)
        drawn = draw_binned(binned, words)
        counts = Counts(drawn.sum(axis=1))
        counts.binned = drawn
    feedback = reveal(setting.problem, counts, learner.level)
    memory = learner.observe(setting, state.memory, draws, policy, feedback)
    population = environment.update(state.population, policy, counts, draws)
    return State(population, memory), Round(policy, counts.cells, probabilities, feedback)


def decided(histogram: Array, accepts: Array) -> Array:
    """Split P(group, bin, label) by decision, (groups, bins, labels, 2): `accepts` is (groups or 1, bins)."""
    share = accepts[:, :, None]
    return namespace(histogram).stack((histogram * (1.0 - share), histogram * share), axis=-1)
