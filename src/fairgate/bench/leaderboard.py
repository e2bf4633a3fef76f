"""The leaderboard: one table per feedback level, ranked by a stated rule, each learner compared with the best baseline.

The rule: the share of seeds that meet the level's target, averaged over tasks, highest first; equal shares are ranked
by the interquartile mean of the shortfall, lowest first. A learner without an outcome on some task comes after all that
have one on each.

The reference of a level is the baseline, a built-in learner that was not made here, that ranks first among those with
an outcome on every task. It is chosen on the runs it is then compared on, which favours it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from fairgate.bench.matrix import Matrix, Outcome
from fairgate.estimates import Estimate
from fairgate.learners.registry import is_baseline
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

ALPHA = 0.05
"""Corrected p-values at most this large count as a difference."""


@dataclass(frozen=True)
class Row:
    """A learner's line: figures over all its tasks, whose number is `tasks`; means are over seeds and tasks.

    `better`, `difference` and `p` compare it with the reference of its level, and are None for that one and where there
    is none. `p` is of the one-sided test that a seed has a smaller shortfall than the reference on more tasks than a
    larger one, Holm-corrected for all learners of all levels.
    """

    rank: int
    learner: str
    level: str
    tasks: int
    success: float  # share of seeds that meet the target of its level
    shortfall: Estimate  # interquartile mean over seeds and tasks, per round
    share: Estimate | None  # of what can be earned, cut to [−1, 1]; None if nothing can be on any task
    better: Estimate | None  # probability that a run of it has a smaller shortfall than one of the reference, per task
    difference: Estimate | None  # its interquartile mean shortfall minus that of the reference
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
    """Rows of each level, best first, the best outcome of each level on each task, and who beats whom.

    Attributes
    ----------
    levels
        Rows by feedback level.
    references
        The best baseline of each level, that its learners are compared with; None if no baseline has an outcome on
        every task.
    best
        The best outcome by task and level.
    against
        By learner and task: "better" or "worse" than the reference of its level if significant, else "".
    comparison
        How likely a run of the first learner has a smaller shortfall than one of the second.
    """

    levels: Mapping[str, Sequence[Row]]
    references: Mapping[str, str | None]
    best: Mapping[str, Mapping[str, Outcome]]
    against: Mapping[str, Mapping[str, str]]
    comparison: Mapping[str, Mapping[str, float]]

    @property
    def order(self) -> list[str]:
        """All learners, level by level, best first."""
        return [row.learner for rows in self.levels.values() for row in rows]


def rank(matrix: Matrix, seed: int = 0) -> Leaderboard:
    """Rank the learners of a matrix; `seed` is the root of the bootstrap's random numbers."""
    rows = [_row(matrix, learner, seed) for learner in matrix.learners]
    ranked: dict[str, list[Row]] = {}
    references: dict[str, str | None] = {}
    for level in LEVELS:
        members = [row for row in rows if row.level == level]
        members.sort(key=lambda row: (-row.tasks, -round(row.success, 9), row.shortfall.value))
        if members:
            ranked[level] = [replace(row, rank=place) for place, row in enumerate(members, 1)]
            whole = (row.learner for row in members if row.tasks == len(matrix.tasks))
            references[level] = next(filter(is_baseline, whole), None)
    rivals = {
        row.learner: reference
        for level, members in ranked.items()
        if (reference := references[level]) is not None
        for row in members
        if row.learner != reference
    }
    p_values = _corrected(matrix, rivals)
    compared = {
        level: [
            _compared(matrix, row, rivals[row.learner], p_values[row.learner], seed) if row.learner in rivals else row
            for row in members
        ]
        for level, members in ranked.items()
    }
    order = [row.learner for members in compared.values() for row in members]
    best = _best(matrix, compared)
    return Leaderboard(compared, references, best, _against(matrix, rivals), _comparison(matrix, order))


def _row(matrix: Matrix, learner: str, seed: int) -> Row:
    outcomes = list(matrix.of(learner).values())
    feasible = [outcome for outcome in outcomes if outcome.truth["feasible"]]
    (short,) = matrix.shared(learner)
    return Row(
        rank=0,
        learner=learner,
        level=outcomes[0].level,
        tasks=len(outcomes),
        success=float(np.mean([outcome.success for outcome in outcomes])),
        shortfall=stratified_bootstrap(overall_iqm, short, rng=np.random.default_rng(seed)),
        share=_share(outcomes, seed),
        better=None,
        difference=None,
        p=None,
        violation=_mean(outcomes, "violation"),
        feasible_tail=_mean(feasible, "feasible_tail") if feasible else None,
        time_to_feasible=_mean(feasible, "time_to_feasible") if feasible else None,
        worst=float(short.max()),
    )


def _compared(matrix: Matrix, row: Row, reference: str, p: float, seed: int) -> Row:
    """Add to a row how its learner compares with the reference of its level, on the tasks it has."""
    pair = matrix.shared(row.learner, reference)
    return replace(
        row,
        better=probability_of_improvement(*pair, rng=np.random.default_rng(seed)),
        difference=difference(*pair, rng=np.random.default_rng(seed)),
        p=p,
    )


def _share(outcomes: Sequence[Outcome], seed: int) -> Estimate | None:
    """Mean share over seeds and the tasks on which something can be earned, each cut so that none decides alone."""
    known = [share for outcome in outcomes if not np.isnan(share := outcome.figures["share"]).any()]
    if not known:
        return None
    shares = np.clip(np.stack(known, axis=1), -1.0, 1.0)
    return stratified_bootstrap(lambda each: each.mean(axis=(-2, -1)), shares, rng=np.random.default_rng(seed))


def _mean(outcomes: Sequence[Outcome], measure: str) -> float:
    return float(np.mean([outcome.figures[measure].mean() for outcome in outcomes]))


def _corrected(matrix: Matrix, rivals: Mapping[str, str]) -> dict[str, float]:
    """P-value of each learner's being better than its reference over all tasks, corrected for all learners."""
    p_values = []
    for learner, reference in rivals.items():
        ours, theirs = matrix.shared(learner, reference)
        lost = np.sign(ours - theirs).mean(axis=1, keepdims=True)  # tasks lost minus won, per seed
        p_values.append(float(paired_test(lost, np.zeros_like(lost))[0]))
    return dict(zip(rivals, holm(p_values).tolist(), strict=True))


def _against(matrix: Matrix, rivals: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Where each learner is better or worse than its reference, by tests on each task corrected for all, both ways."""
    places: list[tuple[str, str, str]] = []
    p_values: list[float] = []
    for learner, reference in rivals.items():
        ours, theirs = matrix.shared(learner, reference)
        tasks = list(matrix.of(learner))  # the reference has them all
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
