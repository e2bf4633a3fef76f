"""The leaderboard: one table per feedback level, ranked by a stated rule, each learner compared with the paper's OFS.

The rule: the share of seeds that meet the level's target, averaged over tasks, highest first; equal shares are ranked
by the interquartile mean of the shortfall, lowest first. A learner without an outcome on some task comes after all that
have one on each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from fairgate.bench.matrix import Matrix, Outcome
from fairgate.estimates import Estimate
from fairgate.problem import LEVELS
from fairgate.statistics import (
    difference,
    holm,
    improvement,
    overall_iqm,
    paired_test,
    probability_of_improvement,
    stratified_bootstrap,
)

REFERENCE = "ofs"
"""The learner that all are compared with: the paper's OFS with the settings of each task."""

ALPHA = 0.05
"""Corrected p-values at most this large count as a difference."""


@dataclass(frozen=True)
class Row:
    """A learner's line: figures over all its tasks, whose number is `tasks`; means are over seeds and tasks.

    `p` is of the one-sided test that a seed has a smaller shortfall than OFS on more tasks than a larger one,
    Holm-corrected for all learners.
    """

    rank: int
    learner: str
    level: str
    tasks: int
    success: float  # share of seeds that meet the target of its level
    shortfall: Estimate  # interquartile mean over seeds and tasks, per round
    better: Estimate | None  # probability that a run of it has a smaller shortfall than one of OFS on the same task
    difference: Estimate | None  # its interquartile mean shortfall minus that of OFS
    p: float | None
    violation: float  # of the population, summed over a run
    feasible_tail: float | None  # of those tasks that have a feasible threshold, as the next
    time_to_feasible: float | None
    worst: float  # largest shortfall of any seed on any task

    def known(self) -> dict[str, Any]:
        """Return the line for JSON."""
        return {name: value.known() if isinstance(value, Estimate) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Leaderboard:
    """Rows of each level, best first, the best outcome of each level on each task, and who beats whom."""

    levels: Mapping[str, Sequence[Row]]
    best: Mapping[str, Mapping[str, Outcome]]  # by task and level
    against: Mapping[
        str, Mapping[str, str]
    ]  # by learner and task: "better" or "worse" than OFS if significant, else ""
    comparison: Mapping[str, Mapping[str, float]]  # how likely a run of the first learner has the smaller shortfall

    @property
    def order(self) -> list[str]:
        """All learners, level by level, best first."""
        return [row.learner for rows in self.levels.values() for row in rows]


def rank(matrix: Matrix, seed: int = 0) -> Leaderboard:
    """Rank the learners of a matrix; `seed` is the root of the bootstrap's random numbers."""
    rivals = [learner for learner in matrix.learners if learner != REFERENCE and matrix.shared(learner, REFERENCE)]
    p_values = _corrected(matrix, rivals)
    rows = [_row(matrix, learner, p_values.get(learner), seed) for learner in matrix.learners]
    ranked: dict[str, list[Row]] = {}
    for level in LEVELS:
        members = [row for row in rows if row.level == level]
        members.sort(key=lambda row: (-row.tasks, -round(row.success, 9), row.shortfall.value))
        if members:
            ranked[level] = [replace(row, rank=place) for place, row in enumerate(members, 1)]
    order = [row.learner for members in ranked.values() for row in members]
    return Leaderboard(ranked, _best(matrix, ranked), _against(matrix, rivals), _comparison(matrix, order))


def _row(matrix: Matrix, learner: str, p: float | None, seed: int) -> Row:
    outcomes = list(matrix.of(learner).values())
    feasible = [outcome for outcome in outcomes if outcome.truth["feasible"]]
    (short,) = matrix.shared(learner)
    better = gap = None
    if p is not None:
        ours, theirs = matrix.shared(learner, REFERENCE)
        better = probability_of_improvement(ours, theirs, rng=np.random.default_rng(seed))
        gap = difference(ours, theirs, rng=np.random.default_rng(seed))
    return Row(
        rank=0,
        learner=learner,
        level=outcomes[0].level,
        tasks=len(outcomes),
        success=float(np.mean([outcome.success for outcome in outcomes])),
        shortfall=stratified_bootstrap(overall_iqm, short, rng=np.random.default_rng(seed)),
        better=better,
        difference=gap,
        p=p,
        violation=_mean(outcomes, "violation"),
        feasible_tail=_mean(feasible, "feasible_tail") if feasible else None,
        time_to_feasible=_mean(feasible, "time_to_feasible") if feasible else None,
        worst=float(short.max()),
    )


def _mean(outcomes: Sequence[Outcome], measure: str) -> float:
    return float(np.mean([outcome.figures[measure].mean() for outcome in outcomes]))


def _corrected(matrix: Matrix, rivals: Sequence[str]) -> dict[str, float]:
    """P-value of each learner's being better than OFS over all tasks, corrected for all learners."""
    p_values = []
    for learner in rivals:
        ours, theirs = matrix.shared(learner, REFERENCE)
        lost = np.sign(ours - theirs).mean(axis=1, keepdims=True)  # tasks lost minus won, per seed
        p_values.append(float(paired_test(lost, np.zeros_like(lost))[0]))
    return dict(zip(rivals, holm(p_values).tolist(), strict=True))


def _against(matrix: Matrix, rivals: Sequence[str]) -> dict[str, dict[str, str]]:
    """Where each learner is better or worse than OFS, by tests on each task corrected for all of them, both ways."""
    places: list[tuple[str, str, str]] = []
    p_values: list[float] = []
    for learner in rivals:
        ours, theirs = matrix.shared(learner, REFERENCE)
        tasks = [task for task in matrix.of(learner) if task in matrix.of(REFERENCE)]
        for word, tested in (("better", paired_test(ours, theirs)), ("worse", paired_test(theirs, ours))):
            places += [(learner, task, word) for task in tasks]
            p_values += tested.tolist()
    found: dict[str, dict[str, str]] = {learner: dict.fromkeys(matrix.tasks, "") for learner in matrix.learners}
    for (learner, task, word), p in zip(places, holm(p_values), strict=True):
        if p <= ALPHA:
            found[learner][task] = word
    return found


def _best(matrix: Matrix, ranked: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, Outcome]]:
    """Outcome of the best learner of each level on each task, by the rule of the leaderboard."""
    found: dict[str, dict[str, Outcome]] = {task: {} for task in matrix.tasks}
    for level, rows in ranked.items():
        for task in matrix.tasks:
            there = [matrix.outcomes[row.learner, task] for row in rows if (row.learner, task) in matrix.outcomes]
            if there:
                found[task][level] = min(there, key=lambda each: (-each.success, each.shortfall))
    return found


def _comparison(matrix: Matrix, order: Sequence[str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {learner: {} for learner in order}
    for one, other in product(order, order):
        if one in found[other]:
            found[one][other] = 1.0 - found[other][one]
        elif one != other and (pair := matrix.shared(one, other)):
            found[one][other] = improvement(*pair)
    return found
