"""Loop: how learners, and thresholds kept fixed, fare with these people in the closed loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.advice.applicants import Applicants
from fairgate.advice.steady import Feedback, environment
from fairgate.learners import OFS, AnyLearner, Fixed, recommended
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
    threshold
        Median of the thresholds that loops settled on, as it reads in the table.
    summary
        Mean ± sd of reward, gap, violation and more, as :meth:`fairgate.Run.summary` has them.
    """

    entrant: Entrant
    threshold: float
    summary: Mapping[str, Estimate]


def grid(applicants: Applicants) -> list[int]:
    """Return the numbers of the thresholds a learner chooses from, evenly spread over the people."""
    coarse = applicants.coarsened(ARMS)
    return [int(place) for place in np.searchsorted(applicants.cuts, coarse.cuts)]


def entrants(task: Task, today: int, advised: int) -> list[Entrant]:
    """Return who takes part: the recommended learners, OFS, and two thresholds kept fixed."""
    seeing, unseeing = recommended(task, tier="C"), recommended(task, tier="A")
    return [
        Entrant("kept-today", "best of today, kept", Fixed(2.0 * today)),
        Entrant("kept-advised", "recommended, kept", Fixed(2.0 * advised)),
        Entrant("ofs", "OFS (the paper's)", OFS()),
        Entrant("tier-a", f"{type(unseeing).__name__} (tier A)", unseeing),
        Entrant("tier-c", f"{type(seeing).__name__} (tier C)", seeing),
    ]


def steps(aims: Aims) -> int:
    """Return the loop-rounds that :func:`run_loops` plays, for a progress bar."""
    return 5 * aims.seeds * aims.rounds


def run_loops(
    applicants: Applicants,
    aims: Aims,
    feedback: Feedback,
    today: int,
    advised: int,
    begin: Callable[[str], Callable[[int], None]],
) -> list[Outcome]:
    """Let everybody choose thresholds for these people in the closed loop, under one strength of feedback.

    Parameters
    ----------
    today, advised
        Numbers of the thresholds that are kept fixed.
    begin
        Called with the name of each part; returns what is called with the loop-rounds done.
    """
    task = Task(environment(applicants, feedback), aims.problem, 2.0 * np.array(grid(applicants)), "table")
    found = []
    for entrant in entrants(task, today, advised):
        tell = begin(f"feedback {feedback.strength:g}: {entrant.title}")
        run = simulate(task, entrant.learner, aims.rounds, aims.seeds, seed=aims.seed, progress=tell)
        tail = min(TAIL, max(aims.rounds // 5, 1))
        middle = np.median(run.settled(tail)[:, 0])
        place = int(np.clip(np.round(middle / 2.0), 0, len(applicants.cuts) - 1))
        found.append(Outcome(entrant, float(applicants.shown(applicants.cuts[place])), run.summary(tail)))
    return found


def describe(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain data; a standard deviation that does not exist is None."""
    return {
        "key": outcome.entrant.key,
        "title": outcome.entrant.title,
        "threshold": outcome.threshold,
        **{
            name: {"mean": value.mean, "sd": None if np.isnan(value.sd) else value.sd}
            for name, value in outcome.summary.items()
        },
    }
