"""Counting: rows, each a few codes, become people by group, score bin, label and decision, and by period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.applicants import Weights
from fairgate.people.dates import periods
from fairgate.people.direction import ask_accepted
from fairgate.people.period_counts import PeriodCounts, period_shape
from fairgate.people.rows import Part, Rows, dated
from fairgate.people.values import decision_meanings, natural
from fairgate.people.wanted import Wanted
from fairgate.settings import Array


class Coder:
    """Turns the codes of rows into places of counts."""

    def __init__(
        self,
        names: tuple[str, ...],
        rank: NDArray[np.int64],
        meaning: NDArray[np.int64],
        decided: NDArray[np.int64],
        cuts: Array,
        decisions: dict[str, int],
    ) -> None:
        self.names, self.rank, self.meaning, self.decided, self.cuts = names, rank, meaning, decided, cuts
        self.decisions = decisions

    @classmethod
    def of(cls, rows: Rows, wanted: Wanted, meanings: dict[str, int], cuts: Array) -> Coder:
        """Put groups in order, and look up what labels and decisions mean."""
        found, sizes = rows.groups.names(), rows.sizes()
        present = sorted(np.flatnonzero(sizes).tolist(), key=lambda code: [*map(natural, found[code].split(" · "))])
        rank = np.full(len(found), -1)
        rank[present] = np.arange(len(present))
        meaning = np.array([*(meanings[value] for value in rows.labels.found), 2])  # the last is for -1, missing
        decisions: dict[str, int] = {}
        if wanted.decision is not None:
            decisions = decision_meanings(wanted.decision, rows.decisions.found, wanted.accepted)
            if wanted.accepted is None:
                ask_accepted(wanted.decision, decisions)
        decided = np.array([*(decisions[value] for value in rows.decisions.found), 2])
        return cls(tuple(found[code] for code in present), rank, meaning, decided, cuts, decisions)

    def places(self, part: Part) -> tuple[NDArray[Any], ...]:
        """Return each row's group, bin, label and decision; without a column of decisions that is 0."""
        decision = np.zeros(len(part.score), dtype=np.int64) if part.decision is None else self.decided[part.decision]
        bins = np.searchsorted(self.cuts, part.score, side="right") - 1
        return self.rank[part.group], bins, self.meaning[part.label], decision

    def count(self, rows: Rows, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the people, or the sum of their weights, by group, bin, label and decision; part by part."""
        counts: NDArray[Any] = np.zeros(shape, dtype=np.int64 if rows.parts[0].weight is None else np.float64)
        for part in rows.parts:
            counts += _bincount(self.places(part), part.weight, shape)
        return counts


def _bincount(places: Sequence[NDArray[Any]], weight: Array | None, shape: tuple[int, ...]) -> NDArray[Any]:
    cell = np.ravel_multi_index(tuple(places), shape)
    return np.bincount(cell, weights=weight, minlength=int(np.prod(shape))).reshape(shape)


def scaled(rows: Rows, wanted: Wanted) -> tuple[float, Weights | None]:
    """Return what sums of weights are multiplied by, so that no group counts for more than its effective number.

    That is Kish's, (Σw)² / Σw² of the group. One factor for all keeps the groups' shares; where weights differ between
    groups rather than within them, the errors of the others are larger than they need be.
    """
    if wanted.weight is None:
        return 1.0, None
    groups = len(rows.groups.names())
    sums, squares = np.zeros(groups), np.zeros(groups)
    for part in rows.parts:
        if part.weight is not None:
            sums += np.bincount(part.group, part.weight, groups)
            squares += np.bincount(part.group, part.weight**2, groups)
    shares, some = float(sums.sum()), squares > 0
    effective, total = shares * float((sums[some] / squares[some]).min()), shares * rows.heaviest
    if not np.isfinite(total):
        raise InputError(
            f"the weight column {wanted.weight!r} adds up to more than a number can hold: use another unit"
        )
    return max(round(effective), 1) / shares, Weights(wanted.weight, total, effective)


def count_periods(rows: Rows, wanted: Wanted, coder: Coder, starts: NDArray[np.int64], scale: float) -> PeriodCounts:
    """Return people by period, in bins that begin at `starts`; sums of weights are multiplied by `scale`."""
    known = [part.taken(dated(part)) for part in rows.parts]
    days = [part.day for part in known if part.day is not None and len(part.day)]
    ends = np.array([day for each in days for day in (each.min(), each.max())], dtype=np.int32)
    period, names, begins = periods(str(wanted.date), ends, wanted.period, rows.dates.shortest)
    shape = period_shape(len(names), len(coder.names), len(starts))
    counts: NDArray[Any] = np.zeros(shape, dtype=np.int64 if wanted.weight is None else np.float64)
    left_out = len(rows)
    for part in known:
        if part.day is None or not len(part.day):
            continue
        group, bins, label, decision = coder.places(part)
        time = np.searchsorted(begins, part.day, side="right") - 1
        joined = np.searchsorted(starts, bins, side="right") - 1
        told = decision < 2
        weight = None if part.weight is None else part.weight[told]
        counts += _bincount([each[told] for each in (time, group, joined, label, decision)], weight, shape)
        left_out -= int(told.sum())
    return PeriodCounts(names, counts * scale if wanted.weight else counts, period, left_out)
