"""Loop: how learners, and thresholds kept fixed, fare with these people in the closed loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.aims import Aims
from fairgate.advice.choice import INFEASIBLE, Choice
from fairgate.advice.steady import Steady, environment
from fairgate.estimates import Estimate
from fairgate.learners import OFS, AnyLearner, Fixed, recommended
from fairgate.people.applicants import Applicants
from fairgate.progress import Start
from fairgate.run import TAIL
from fairgate.simulation import simulate
from fairgate.tasks import Task

ARMS = 41
"""Most thresholds a learner chooses from, as in the paper's tasks."""


class Entrant(NamedTuple):
    """One way of choosing thresholds in the loop: its name, the learner, and its level; a kept threshold has none."""

    key: str
    title: str
    learner: AnyLearner
    level: str = ""


class Outcome(NamedTuple):
    """What came of one way of choosing, over all loops.

    Attributes
    ----------
    cut
        Number of the median threshold played in the last rounds; None if a lottery was played in most of them.
    lottery
        Share of the last rounds in which a lottery was played and no threshold was used.
    summary
        Mean ± sd of reward, gap, violation and more, as :meth:`fairgate.Run.summary` has them.
    """

    entrant: Entrant
    cut: int | None
    lottery: float
    summary: Mapping[str, Estimate]


def grid(applicants: Applicants, *more: int) -> NDArray[np.int64]:
    """Return the numbers of the thresholds a learner chooses from: evenly spread over the people, and these."""
    return np.union1d(applicants.starts(ARMS), np.array(more, dtype=np.int64))


def entrants(task: Task, choice: Choice, today: int) -> list[Entrant]:
    """Return who takes part: one or two thresholds kept fixed, OFS, and the recommended learners.

    Where a constraint needs labels of the rejected, only the learner that estimates them does.
    """
    found = [Entrant("kept-advised", "recommended, kept", Fixed(2.0 * choice.cut))]
    if choice.status == INFEASIBLE:
        found = [found[0]._replace(title="nearest, kept")]
    else:
        found.insert(0, Entrant("kept-today", "best of today, kept", Fixed(2.0 * today)))
    if not any(each.needs == "all-labels" for each in task.problem.constraints):
        unseeing = recommended(task, level="bandit")
        found.append(Entrant("ofs", "OFS (the paper's)", OFS(), "bandit"))
        found.append(Entrant("bandit", type(unseeing).__name__, unseeing, "bandit"))
    seeing = recommended(task, level="selective-labels")
    return [*found, Entrant("selective-labels", type(seeing).__name__, seeing, "selective-labels")]


def make_task(applicants: Applicants, aims: Aims, steady: Steady, choice: Choice, today: int) -> Task:
    """Return the closed loop of these people under one strength of feedback.

    The learners choose among 41 thresholds at even shares of people, today's best, the recommended one, and the best
    under this feedback, so that a feasible one is among them if there is any.
    """
    arms = grid(applicants, today, choice.cut, steady.cut)
    return Task(environment(applicants, steady.response), aims.problem, 2.0 * arms, "table")


def run_loops(task: Task, entering: list[Entrant], aims: Aims, strength: float, begin: Start) -> list[Outcome]:
    """Let everybody choose thresholds in the loop; `begin` is called with the name of each part for its progress."""
    found = []
    for entrant in entering:
        tell = begin(f"feedback {strength:g}: {entrant.title}")
        run = simulate(task, entrant.learner, aims.rounds, aims.seeds, seed=aims.seed, progress=tell)
        tail = min(TAIL, max(aims.rounds // 5, 1))
        played = run.thresholds[:, -tail:, 0]
        chosen = np.isfinite(played)  # else a lottery was played
        cut = int(np.round(np.median(played[chosen]) / 2.0)) if chosen.mean() >= 0.5 else None
        found.append(Outcome(entrant, cut, float(1.0 - chosen.mean()), run.summary(tail)))
    return found


def describe(outcome: Outcome, applicants: Applicants) -> dict[str, Any]:
    """Return an outcome as plain data; a standard deviation that does not exist is None."""
    cut = outcome.cut
    return {
        "key": outcome.entrant.key,
        "title": outcome.entrant.title,
        "level": outcome.entrant.level,
        "threshold": None if cut is None else float(applicants.shown(applicants.cuts[cut])),
        "written": settled(outcome, applicants),
        "lottery": outcome.lottery,
        **{
            name: {"mean": value.mean, "sd": None if np.isnan(value.sd) else value.sd}
            for name, value in outcome.summary.items()
        },
    }


def settled(outcome: Outcome, applicants: Applicants) -> str:
    """Write the threshold that was played in the end."""
    return "lottery" if outcome.cut is None else applicants.words(outcome.cut)
