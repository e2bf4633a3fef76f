"""Loop: how learners, and thresholds kept fixed, fare with these people in the closed loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fairgate.advice.aims import Aims
from fairgate.advice.choice import INFEASIBLE, Choice
from fairgate.advice.sensitivity import reward_bounds
from fairgate.advice.steady import Steady, environment
from fairgate.estimates import Estimate
from fairgate.learners import OFS, AnyLearner, Fixed, recommended
from fairgate.people.applicants import Applicants
from fairgate.progress import progress
from fairgate.simulation import simulate
from fairgate.tail import tail_of
from fairgate.tasks import Task

ARMS = 41
"""Most thresholds a learner chooses from, as in the paper's tasks."""


class Outcome(NamedTuple):
    """What came of one way of choosing thresholds, over all loops."""

    key: str
    title: str
    level: str  # what the learner sees; "" for a threshold that is kept
    threshold: float | None  # the median one played in the last rounds; None if most were lotteries
    written: str  # the same in words
    lottery: float  # share of the last rounds in which a lottery was played and no threshold was used
    summary: Mapping[str, Estimate]  # of reward, gap, violation and more, see :meth:`fairgate.Run.summary`
    bounds: tuple[float, float] | None = None  # the reward of that threshold in the long run, if all missing labels
    # were bad, or good; None where labels are known well enough, or lotteries were played


def run_loops(
    applicants: Applicants, aims: Aims, steady: list[Steady], choice: Choice, today: int, *, quiet: bool
) -> dict[float, list[Outcome]]:
    """Let learners, today's best threshold and the recommended one run in the loop, under every strength of feedback.

    The learners choose among 41 thresholds at even shares of people, today's best, the recommended one, and the best
    under this feedback, so that a feasible one is among them if there is any.
    """
    parts = []
    for each in steady:
        arms = np.union1d(applicants.starts(ARMS), [today, choice.cut, each.cut])
        task = Task(environment(applicants, each.response), aims.problem, 2.0 * arms, "table")
        parts += [(each.response.strength, task, *entrant) for entrant in entrants(task, choice, today)]
    guessed = bool(applicants.unknown[0] > 0.0)
    bounds = {
        each.response.strength: reward_bounds(applicants, aims.problem, each.response) for each in steady if guessed
    }
    tail = tail_of(aims.rounds)
    loops: dict[float, list[Outcome]] = {}
    with progress(len(parts) * aims.seeds * aims.rounds, quiet=quiet) as begin:
        for strength, task, key, title, level, learner in parts:
            tell = begin(f"feedback {strength:g}: {title}")
            run = simulate(task, learner, aims.rounds, aims.seeds, seed=aims.seed, progress=tell)
            played = run.thresholds[:, -tail:, 0]
            chosen = np.isfinite(played)  # else a lottery was played
            threshold, written, ends = None, "lottery", None
            if chosen.mean() >= 0.5:
                cut = int(np.round(np.median(played[chosen]) / 2.0))
                threshold, written = float(applicants.shown(applicants.cuts[cut])), applicants.words(cut)
                low, high = bounds.get(strength, (None, None))
                ends = None if low is None or high is None else (float(low[cut]), float(high[cut]))
            lottery = float(1.0 - chosen.mean())
            found = Outcome(key, title, level, threshold, written, lottery, run.summary(tail), ends)
            loops.setdefault(strength, []).append(found)
    return loops


def entrants(task: Task, choice: Choice, today: int) -> list[tuple[str, str, str, AnyLearner]]:
    """Return key, title, level and learner of who takes part: thresholds kept fixed, OFS, the recommended learners.

    Where no threshold is feasible, the recommended search of lotteries comes before that of thresholds. Where a
    constraint needs labels of the rejected, only learners that estimate them take part.
    """
    found: list[tuple[str, str, str, AnyLearner]] = []
    if choice.status != INFEASIBLE:
        found.append(("kept-today", "best of today, kept", "", Fixed(2.0 * today)))
    title = "nearest, kept" if choice.status == INFEASIBLE else "recommended, kept"
    found.append(("kept-advised", title, "", Fixed(2.0 * choice.cut)))
    if not any(each.needs == "all-labels" for each in task.problem.constraints):
        unseeing = recommended(task, level="bandit")
        found.append(("ofs", "OFS (the paper's)", "bandit", OFS()))
        found.append(("bandit", type(unseeing).__name__, "bandit", unseeing))
    seeing = recommended(task, level="selective-labels")
    name = type(seeing).__name__
    if choice.status == INFEASIBLE:
        found.append(("lottery", f"{name}, lotteries", "selective-labels", recommended(task, policies="lottery")))
    return [*found, ("selective-labels", name, "selective-labels", seeing)]
