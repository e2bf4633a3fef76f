"""Loop: how learners, and thresholds kept fixed, fare with these people in the closed loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.aims import Aims
from fairgate.people.applicants import Applicants
from fairgate.advice.choice import NONE, Choice
from fairgate.advice.steady import Steady, environment
from fairgate.learners import OFS, AnyLearner, Fixed, recommended
from fairgate.progress import Start
from fairgate.run import TAIL, Estimate
from fairgate.simulation import simulate
from fairgate.tasks import Task

ARMS = 41
"""Most thresholds a learner chooses from, as in the paper's tasks."""


class Entrant(NamedTuple):
    """One way of choosing thresholds in the loop: its name and what it sees."""

    key: str
    title: str
    learner: AnyLearner


class Outcome(NamedTuple):
    """What came of one way of choosing, over all loops.

    Attributes
    ----------
    cut
        Number of the median threshold played in the last rounds; None if most of them were drawn by lot.
    by_lot
        Share of the last rounds in which people were accepted by lot and no threshold was used.
    summary
        Mean ± sd of reward, gap, violation and more, as :meth:`fairgate.Run.summary` has them.
    """

    entrant: Entrant
    cut: int | None
    by_lot: float
    summary: Mapping[str, Estimate]


def grid(applicants: Applicants, *besides: int) -> NDArray[np.int64]:
    """Return the numbers of the thresholds a learner chooses from: evenly spread over the people, and these besides."""
    even = np.searchsorted(applicants.cuts, applicants.coarsened(ARMS).cuts)
    return np.union1d(even, np.array(besides, dtype=np.int64))


def entrants(task: Task, choice: Choice, today: int) -> list[Entrant]:
    """Return who takes part: one or two thresholds kept fixed, OFS, and the recommended learners."""
    seeing, unseeing = recommended(task, level="selective-labels"), recommended(task, level="bandit")
    learners = [
        Entrant("ofs", "OFS (the paper's)", OFS()),
        Entrant("level-a", f"{type(unseeing).__name__} (A)", unseeing),
        Entrant("level-c", f"{type(seeing).__name__} (C)", seeing),
    ]
    if choice.status == NONE:
        return [Entrant("kept-advised", "nearest, kept", Fixed(2.0 * choice.cut)), *learners]
    return [
        Entrant("kept-today", "best of today, kept", Fixed(2.0 * today)),
        Entrant("kept-advised", "recommended, kept", Fixed(2.0 * choice.cut)),
        *learners,
    ]


def steps(aims: Aims, choice: Choice) -> int:
    """Return the loop-rounds that :func:`run_loops` plays, for a progress bar."""
    return (4 if choice.status == NONE else 5) * aims.seeds * aims.rounds


def run_loops(
    applicants: Applicants,
    aims: Aims,
    steady: Steady,
    choice: Choice,
    today: int,
    begin: Start,
) -> list[Outcome]:
    """Let everybody choose thresholds for these people in the closed loop, under one strength of feedback.

    The learners choose among 41 thresholds at even shares of people, today's best, the recommended one, and the best
    under this feedback, so that a feasible one is among them if there is any.

    Parameters
    ----------
    choice, today
        What is recommended, and the number of today's best threshold.
    begin
        Called with the name of each part; returns what is called with the loop-rounds done.
    """
    arms = grid(applicants, today, choice.cut, steady.cut)
    task = Task(environment(applicants, steady.feedback), aims.problem, 2.0 * arms, "table")
    found = []
    for entrant in entrants(task, choice, today):
        tell = begin(f"feedback {steady.feedback.strength:g}: {entrant.title}")
        run = simulate(task, entrant.learner, aims.rounds, aims.seeds, seed=aims.seed, progress=tell)
        tail = min(TAIL, max(aims.rounds // 5, 1))
        played = run.thresholds[:, -tail:, 0]
        chosen = np.isfinite(played)  # else the learner drew lots
        cut = int(np.round(np.median(played[chosen]) / 2.0)) if chosen.mean() >= 0.5 else None
        found.append(Outcome(entrant, cut, float(1.0 - chosen.mean()), run.summary(tail)))
    return found


def describe(outcome: Outcome, applicants: Applicants) -> dict[str, Any]:
    """Return an outcome as plain data; a standard deviation that does not exist is None."""
    cut = outcome.cut
    return {
        "key": outcome.entrant.key,
        "title": outcome.entrant.title,
        "threshold": None if cut is None else float(applicants.shown(applicants.cuts[cut])),
        "written": settled(outcome, applicants),
        "by_lot": outcome.by_lot,
        **{
            name: {"mean": value.mean, "sd": None if np.isnan(value.sd) else value.sd}
            for name, value in outcome.summary.items()
        },
    }


def settled(outcome: Outcome, applicants: Applicants) -> str:
    """Write the threshold that was played in the end."""
    return "by lot" if outcome.cut is None else applicants.words(outcome.cut)
