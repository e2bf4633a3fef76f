"""Loop: one round of the closed loop, propose → draw → reveal → observe → respond. Written here and nowhere else."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairgate.arrays import Array, namespace
from fairgate.core.feedback import late, reveal
from fairgate.core.labels import Pending
from fairgate.core.people import draw_binned, draw_cells, people_of
from fairgate.core.policy import Policy
from fairgate.core.setting import Task
from fairgate.counts import Counts
from fairgate.problem import Assessment, Feedback
from fairgate.random import Draws, Purpose


class State(NamedTuple):
    """Where a loop stands: the state of its environment, the memory of its learner, and labels that are on their way.

    `pending` is None where all labels are known at once.
    """

    population: Any
    memory: Any
    pending: Pending | None = None


class Round(NamedTuple):
    """What happened in a round: the policy, counts and exact probabilities (groups, 2, 2), and the feedback.

    `assessed` is the batch with all its labels, which the learner may not know yet, or ever.
    """

    played: Policy
    counts: Array
    probabilities: Array
    assessed: Assessment
    feedback: Feedback


def begin(task: Task, learner: Any, draws: Draws) -> State:
    """Return the state before the first round, whose random numbers are `draws`."""
    memory, setting, delay = learner.init(task.setting), task.setting, task.delay
    pending = None
    if delay is not None:  # the first proposal has the shape of all
        bins = 1 if learner.level == "bandit" else len(setting.grid) + 1
        pending = Pending.none(delay.horizon, setting.groups, bins, learner.propose(setting, memory, draws))
    return State(task.environment.start(), memory, pending)


def play(task: Task, learner: Any, batch: int, draws: Draws, state: State) -> tuple[State, Round]:
    """Play one round with `batch` applicants."""
    environment, setting = task.environment, task.setting
    policy = learner.propose(setting, state.memory, draws)
    words = draws.words(Purpose.PEOPLE, batch)
    if learner.level == "bandit":
        probabilities = environment.cells(state.population, policy)
        binned = probabilities[:, None]  # all scores in one bin
        counts = Counts(draw_cells(probabilities, words))
    else:
        binned = decided(environment.histogram(state.population, setting.grid), policy.accepts(setting.grid))
        probabilities = binned.sum(axis=1)
        drawn = draw_binned(binned, words)
        counts = Counts(drawn.sum(axis=1))
        counts.binned = drawn
    assessed = setting.problem.assess(counts)
    feedback, pending = reveal(setting.problem, counts, assessed, learner.level), state.pending
    if pending is not None and task.delay is not None:
        when, known = task.delay.rounds(draws.words(Purpose.LABELS, batch))
        *people, accepted = people_of(binned, words)
        pending = pending.send(draws.round[0], policy, counts, when, known & (accepted == 1), people)
        feedback = late(feedback, learner.level, counts, *pending.arriving(draws.round[0], setting.problem))
    memory = learner.observe(setting, state.memory, draws, policy, feedback)
    population = environment.update(state.population, policy, counts, draws)
    return State(population, memory, pending), Round(policy, counts.cells, probabilities, assessed, feedback)


def decided(histogram: Array, accepts: Array) -> Array:
    """Split P(group, bin, label) by decision, (groups, bins, labels, 2): `accepts` is (groups or 1, bins)."""
    share = accepts[:, :, None]
    return namespace(histogram).stack((histogram * (1.0 - share), histogram * share), axis=-1)
