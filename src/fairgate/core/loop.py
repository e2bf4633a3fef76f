"""Loop: play one round of the closed loop: propose → draw → reveal → observe → respond."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairgate.arrays import Array, namespace
from fairgate.core.binomials import draw_many
from fairgate.core.feedback import reveal
from fairgate.core.labels import Credits, LabelDelay, Pending
from fairgate.core.people import draw_binned, people_of
from fairgate.core.policy import Policy
from fairgate.core.setting import Setting, Task
from fairgate.counts import Counts
from fairgate.problem import Assessment, Feedback
from fairgate.random import Draws, Purpose

ONE_BY_ONE = 1000
"""Batch size up to which each applicant is always drawn from one random word, which is the same for all policies."""

A_BINOMIAL = 25
"""Number of applicants drawn one by one in the time of one binomial draw, measured for 8 and 168 cells."""


class State(NamedTuple):
    """State of a loop: the state of its environment, the memory of its learner, and labels that have not arrived yet.

    `pending` is None if all labels are known at once.
    """

    population: Any
    memory: Any
    pending: Pending | None = None


class Round(NamedTuple):
    """Record of a round: the policy, counts and exact probabilities (groups, 2, 2), and the feedback.

    `assessed` is the assessment of the batch with all its labels, which the learner may receive later or never.
    """

    played: Policy
    counts: Array
    probabilities: Array
    assessed: Assessment
    feedback: Feedback


def begin(task: Task, learner: Any, draws: Draws) -> State:
    """Return the state before the first round; `draws` are the random numbers of that round."""
    memory, pending = learner.init(task.setting), None
    if task.delay is not None:
        first = learner.propose(task.setting, memory, draws)
        pending = nothing_pending(task.delay, task.setting, learner.level, first)
    return State(task.environment.start(), memory, pending)


def nothing_pending(delay: LabelDelay, setting: Setting, level: str, policy: Policy) -> Pending:
    """Return a record without pending labels, for policies of the same shape as `policy`."""
    bins = 1 if level == "bandit" else len(setting.grid) + 1
    return Pending.none(delay.horizon, setting.groups, bins, policy)


def play(task: Task, learner: Any, batch: int, draws: Draws, state: State) -> tuple[State, Round]:
    """Play one round with `batch` applicants."""
    environment, setting = task.environment, task.setting
    policy = learner.propose(setting, state.memory, draws)
    expected = chances(environment, setting, learner.level, state.population, policy)
    counts, pending, arrived = meet(task.delay, setting, batch, draws, expected, policy, state.pending)
    assessed = setting.problem.assess(counts)
    feedback = reveal(setting.problem, counts, assessed, learner.level, arrived)
    memory = learner.observe(setting, state.memory, draws, policy, feedback)
    population = environment.update(state.population, policy, counts, draws)
    return State(population, memory, pending), Round(policy, counts.cells, expected.sum(axis=1), assessed, feedback)


def chances(environment: Any, setting: Setting, level: str, population: Any, policy: Policy) -> Array:
    """Return P(group, bin, label, decision), with a single bin if the learner's level does not reveal scores."""
    if level == "bandit":
        return environment.cells(population, policy)[:, None]
    return decided(environment.histogram(population, setting.grid), policy.accepts(setting.grid))


def meet(
    delay: LabelDelay | None,
    setting: Setting,
    batch: int,
    draws: Draws,
    expected: Array,
    policy: Policy,
    pending: Pending | None,
) -> tuple[Counts, Pending | None, tuple[Credits, Array] | None]:
    """Draw a batch and queue its late labels.

    Return the counts (with those by score bin), the pending labels, and the labels that arrive, by policy and by score
    bin. Without a delay, the last two are None.
    """
    if delay is None or pending is None:
        if batch > max(ONE_BY_ONE, A_BINOMIAL * expected.size):
            drawn = draw_many(expected, batch, draws)
        else:
            drawn = draw_binned(expected, draws.words(Purpose.PEOPLE, batch))
        return by_bin(drawn), None, None
    words = draws.words(Purpose.PEOPLE, batch)
    counts = by_bin(draw_binned(expected, words))
    when, known = delay.rounds(draws.words(Purpose.LABELS, batch))
    *people, accepted = people_of(expected, words)
    pending = pending.send(draws.round[0], policy, counts, when, known & (accepted == 1), people)
    return counts, pending, pending.arriving(draws.round[0], setting.problem)


def by_bin(drawn: Array) -> Counts:
    """Return counts of people drawn by score bin, (groups, bins, 2, 2)."""
    counts = Counts(drawn.sum(axis=1))
    counts.binned = drawn
    return counts


def decided(histogram: Array, accepts: Array) -> Array:
    """Split P(group, bin, label) by decision, (groups, bins, labels, 2): `accepts` is (groups or 1, bins)."""
    share = accepts[:, :, None]
    return namespace(histogram).stack((histogram * (1.0 - share), histogram * share), axis=-1)
