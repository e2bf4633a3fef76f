"""Backtest: what the advice would have given, period by period, had it been asked for at the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.aims import Aims
from fairgate.advice.choice import NOBODY, SURE, choose, nobody_is_better
from fairgate.advice.steady import Response
from fairgate.confidence import clopper_pearson
from fairgate.constraints.bounds import RateBounds, residual_bounds
from fairgate.counts import Counts
from fairgate.people.applicants import Applicants
from fairgate.people.period_counts import PeriodCounts
from fairgate.problem import ROUNDING

FIRST = 3
"""Fewest periods that advice is made from."""

CANDIDATES = 96
"""Most thresholds that are chosen from, at even shares of people: fewer than for the advice itself, which is faster."""

FEWEST = 100
"""Fewest people that advice is made from."""


CHANCE = 0.05
"""Probability with which a period that keeps everything is said to break something by more than chance."""


@dataclass(frozen=True)
class Decided:
    """What a rule did, or would have done, to the people of one period."""

    people: int
    accepted: int
    rates: dict[str, float | None]  # by group; None where nobody came
    gap: float | None  # largest minus smallest rate
    reward_low: float  # per person, if every missing label of the accepted is bad
    reward_high: float  # if every one is good
    unknown: int  # accepted people whose label is missing
    met: dict[str, bool | None]  # whether each residual holds; None if missing labels leave it open
    beyond_chance: bool = False  # whether one is broken by more than chance, at `CHANCE` for this period alone


@dataclass(frozen=True)
class BacktestPeriod:
    """One period: the advice made from all earlier ones, what it would have given, and what was done."""

    period: str
    threshold: float  # as it reads in the table
    written: str
    status: str
    advised: Decided
    done: Decided | None  # None without a decision column


def backtest(applicants: Applicants, history: PeriodCounts, aims: Aims, first: int = FIRST) -> list[BacktestPeriod]:
    """Advise on all earlier periods, apply that threshold to the next, and compare with what was done.

    Parameters
    ----------
    applicants
        The table, with the bins of the history: :meth:`~fairgate.people.Applicants.coarsened`.
    history
        Its people by period.
    aims
        What is wanted. Only today's choice is made, without feedback.
    first
        Periods before the first one that is looked at; more, if these have fewer than 100 people.
    """
    found = []
    starts = applicants.starts(CANDIDATES)
    applicants, counts = applicants.coarsened(CANDIDATES), np.add.reduceat(history.counts, starts, axis=2)
    before = counts.sum(axis=4).cumsum(axis=0)  # (T, G, K, 3)
    for period in range(max(first, 1), len(history.periods)):
        past, now = before[period - 1], counts[period]
        if past.sum() < FEWEST or not past[..., :2].any() or (past.sum(axis=(1, 2)) == 0).any() or not now.any():
            continue
        known = replace(applicants, counts=past, rows=int(past.sum()), fitted=None, decisions=None, history=None)
        choice = choose(known, aims.problem, Response(0.0, 0.0), aims.sure, aims.seed)
        nobody = nobody_is_better(known, aims.problem, choice)
        accepted = np.arange(len(applicants.cuts)) >= (len(applicants.cuts) if nobody else choice.cut)
        cut = known.with_nobody().cuts[-1] if nobody else applicants.cuts[choice.cut]
        people = now.sum(axis=3)
        advised = np.stack((np.where(accepted[:, None], 0, people), np.where(accepted[:, None], people, 0)), axis=-1)
        found.append(
            BacktestPeriod(
                period=history.periods[period],
                threshold=float(applicants.shown(cut)),
                written=NOBODY if nobody else applicants.words(choice.cut),
                status=SURE if nobody else choice.status,
                advised=judge(advised.sum(axis=1), applicants.groups, aims),
                done=judge(now.sum(axis=1), applicants.groups, aims) if history.decided else None,
            )
        )
    return found


def judge(decided: NDArray[np.int64], groups: tuple[str, ...], aims: Aims) -> Decided:
    """Return the figures of what was decided, people by group, label and decision, (G, 3, 2)."""
    sizes, accepted = decided.sum(axis=(1, 2)), decided[..., 1].sum(axis=1)
    people = int(sizes.sum())
    rates = {
        name: float(some / size) if size else None
        for name, size, some in zip(groups, sizes.tolist(), accepted.tolist(), strict=True)
    }
    there = [rate for rate in rates.values() if rate is not None]
    bad, good, unknown = decided[..., 1].sum(axis=0).tolist()
    low = (good - aims.unit_cost * (bad + unknown)) / people
    met = constraints_met(decided, aims)
    return Decided(
        people=people,
        accepted=int(accepted.sum()),
        rates=rates,
        gap=max(there) - min(there) if len(there) == len(rates) else None,
        reward_low=low,
        reward_high=low + (1.0 + aims.unit_cost) * unknown / people,
        unknown=int(unknown),
        met=met,
        beyond_chance=False in met.values() and broken_beyond_chance(decided, aims, met),
    )


def constraints_met(decided: NDArray[np.int64], aims: Aims) -> dict[str, bool | None]:
    """Say of each residual whether it holds; None if missing labels, or a group that did not come, leave it open."""
    counts = Counts(np.stack((decided[:, 0] + decided[:, 2], decided[:, 1]), axis=1).astype(np.float64)[None])
    missing = {"decisions": False, "accepted-labels": decided[:, 2, 1].any(), "all-labels": decided[:, 2].any()}
    found: dict[str, bool | None] = {}
    for constraint in aims.problem.constraints:
        for name, residual in zip(constraint.names, constraint.residuals(counts), strict=True):
            hidden = missing[constraint.needs] or not np.isfinite(residual[0])
            found[name] = None if hidden else bool(residual[0] <= ROUNDING)
    return found


def broken_beyond_chance(decided: NDArray[np.int64], aims: Aims, met: Mapping[str, bool | None]) -> bool:
    """Whether a residual that these people break is above 0 with all rates within exact intervals, together of 95%."""
    taken, came = (np.concatenate(([each.sum()], each.sum(axis=1), each[:, 0], each[:, 1])) for each in _both(decided))
    labels = any(each.needs != "decisions" for each in aims.problem.constraints)
    rates = len(came) if labels else 1 + len(decided)
    known = RateBounds(*clopper_pearson(taken, came, CHANCE / rates))
    for constraint in aims.problem.constraints:
        bounds = residual_bounds(constraint, known)
        lowest = [] if bounds is None else bounds[0].tolist()
        if any(low > ROUNDING and met[name] is False for name, low in zip(constraint.names, lowest, strict=False)):
            return True
    return False


def _both(decided: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the accepted and all people, by group and label."""
    return decided[..., 1], decided.sum(axis=2)
