"""Intake: read every person of a table once, and reduce the table to counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.applicants import CANDIDATES, Applicants, Columns, Weights
from fairgate.people.dates import periods
from fairgate.people.direction import ask_positive
from fairgate.people.history import History, history_shape
from fairgate.people.losses import leave_out_strays, refuse_losses
from fairgate.people.rows import Part, Rows, dated, read_rows
from fairgate.people.sources import Reader, Source, frame_source, open_source
from fairgate.people.values import decision_meanings, label_meanings, natural, word
from fairgate.people.wanted import LOST, Wanted
from fairgate.settings import Array

BINS = 4096
"""Most score bins; with fewer distinct scores each is a bin of its own."""


def from_frame(
    frame: Any,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    positive: object = None,
    descending: bool = False,
    decision: str | None = None,
    date: str | None = None,
    period: str | None = None,
    weight: str | None = None,
    min_group: int | None = None,
    max_lost: float = LOST,
) -> Applicants:
    """Count the people of a data frame by group, score and label.

    Parameters
    ----------
    frame
        A table of pandas, polars, pyarrow, or anything else narwhals knows.
    score, label, group
        Names of its columns. Labels may be missing for some. Several columns of groups are crossed: each combination
        of their values that occurs is a group.
    positive
        Label that counts as good, 1, all others counting as bad, 0; not needed if labels are 0 and 1, true and false,
        or yes and no, unless the name of the column sounds like a bad outcome (default, fraud).
    descending
        Whether a higher score is worse.
    decision
        Column with the decision that was made: 0 or 1, true or false, yes or no, accepted or rejected. People whose
        decision is missing count as people, but not among those accepted or rejected.
    date
        Column with the day of the decision, for the history.
    period
        How long a period of the history is, "day", "week", "month", "quarter" or "year"; by default a month, or what
        gives 6 to 60 periods.
    weight
        Column with how many people a row stands for.
    min_group
        Fewest rows of a group; smaller groups are left out, and named. By default 10, or a hundredth of the rows if
        that is less.
    max_lost
        Largest share of rows that may be left out.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"score": [0.2, 0.7, 0.4], "paid": ["no", "yes", None], "sex": ["f", "f", "m"]})
    >>> from_frame(table, score="score", label="paid", group="sex")
    Applicants(3 people, 2 groups, 3 thresholds, 1 labels missing)
    """
    wanted = Wanted(score, label, group, positive, descending, decision, date, period, weight, min_group, max_lost)
    return take_in(frame_source(frame), wanted)


def from_file(
    file: str | Path | None = None,
    *,
    score: str,
    label: str,
    group: str | Sequence[str],
    query: str | None = None,
    positive: object = None,
    descending: bool = False,
    reader: Reader | None = None,
    decision: str | None = None,
    date: str | None = None,
    period: str | None = None,
    weight: str | None = None,
    min_group: int | None = None,
    max_lost: float = LOST,
) -> Applicants:
    """Count the people of a file, or of a query for DuckDB; see :func:`from_frame`.

    Files may be CSV, JSON lines, Parquet, Arrow, Feather, Excel or a zip of one of them; ``"-"`` is standard input. A
    file of another format is read by a `reader` that takes its path and returns a data frame; see also
    :func:`fairgate.people.register`.
    """
    wanted = Wanted(score, label, group, positive, descending, decision, date, period, weight, min_group, max_lost)
    source = open_source(file, query, reader)
    try:
        return take_in(source, wanted)
    finally:
        source.close()


def take_in(source: Source, wanted: Wanted) -> Applicants:
    """Read a table and count its people by group, score bin and label.

    Rows without a usable score or group are left out and counted; what makes the whole table useless is refused.
    """
    rows = read_rows(source, wanted)
    strays = leave_out_strays(rows, wanted)
    refuse_losses(source.name, rows, wanted)
    meanings = label_meanings(wanted.label, rows.labels.found, wanted.positive)
    if wanted.positive is None:
        ask_positive(wanted.score, wanted.label, meanings, descending=wanted.descending)
    cuts, tops, exact = cut_points(np.concatenate([part.score for part in rows.parts]))
    coder = _Coder.of(rows, wanted, meanings, cuts)
    everybody = coder.count(rows, (len(coder.names), len(cuts), 3, 1 if wanted.decision is None else 3))
    scale, weights = _scaled(rows, wanted)
    counted = everybody if weights is None else everybody * scale
    applicants = Applicants(
        groups=coder.names,
        cuts=cuts,
        tops=tops,
        counts=counted.sum(axis=3),
        columns=Columns(wanted.score, wanted.label, wanted.grouping),
        rows=rows.total,
        dropped=dict(+rows.dropped),
        meanings=meanings,
        descending=wanted.descending,
        exact=exact,
        lines=source.lines(),
        decisions=None if wanted.decision is None else counted[..., :2].sum(axis=2),
        weights=weights,
        positive=None if wanted.positive is None else word(wanted.positive),
        strays=strays,
        notes=tuple(note for note in (*source.notes, rows.score.note, rows.weight.note) if note),
    )
    if wanted.date is None:
        return applicants
    return applicants.with_history(_history(rows, wanted, coder, applicants, scale))


class _Coder:
    """Turns the codes of rows into places of counts."""

    def __init__(
        self,
        names: tuple[str, ...],
        rank: NDArray[np.int64],
        meaning: NDArray[np.int64],
        decided: NDArray[np.int64],
        cuts: Array,
    ) -> None:
        self.names, self.rank, self.meaning, self.decided, self.cuts = names, rank, meaning, decided, cuts

    @classmethod
    def of(cls, rows: Rows, wanted: Wanted, meanings: dict[str, int], cuts: Array) -> _Coder:
        found, sizes = rows.groups.names(), rows.sizes()
        present = sorted(np.flatnonzero(sizes).tolist(), key=lambda code: [*map(natural, found[code].split(" · "))])
        rank = np.full(len(found), -1)
        rank[present] = np.arange(len(present))
        meaning = np.array([*(meanings[value] for value in rows.labels.found), 2])  # the last is for -1, missing
        decisions: dict[str, int] = {}
        if wanted.decision is not None:
            decisions = decision_meanings(wanted.decision, rows.decisions.found)
        decided = np.array([*(decisions[value] for value in rows.decisions.found), 2])
        return cls(tuple(found[code] for code in present), rank, meaning, decided, cuts)

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


def _scaled(rows: Rows, wanted: Wanted) -> tuple[float, Weights | None]:
    """Return what sums of weights are multiplied by, so that they add up to Kish's effective number of people."""
    if wanted.weight is None:
        return 1.0, None
    each = [part.weight for part in rows.parts if part.weight is not None]
    shares, squares = (sum(float((weight**power).sum()) for weight in each) for power in (1, 2))
    effective, total = shares**2 / squares, shares * rows.heaviest
    if not np.isfinite(total):
        raise InputError(
            f"the weight column {wanted.weight!r} adds up to more than a number can hold: use another unit"
        )
    return max(round(effective), 1) / shares, Weights(wanted.weight, total, effective)


def _history(rows: Rows, wanted: Wanted, coder: _Coder, applicants: Applicants, scale: float) -> History:
    known = [part.taken(dated(part)) for part in rows.parts]
    days = [part.day for part in known if part.day is not None and len(part.day)]
    ends = np.array([day for each in days for day in (each.min(), each.max())], dtype=np.int32)
    period, names, begins = periods(str(wanted.date), ends, wanted.period)
    starts = applicants.starts(CANDIDATES)
    shape = history_shape(len(names), len(coder.names), len(starts))
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
    return History(names, counts * scale if wanted.weight else counts, period, wanted.decision is not None, left_out)


def cut_points(scores: Array) -> tuple[Array, Array, bool]:
    """Return the lowest and the highest score of each bin, and whether every distinct score is a bin.

    Many distinct scores are cut at quantiles, so that bins hold about as many people each.
    """
    ordered = np.sort(scores)
    first = np.append(True, ordered[1:] > ordered[:-1])
    if first.sum() <= BINS:
        return ordered[first], ordered[first], True
    cuts = np.unique(ordered[np.arange(BINS) * len(ordered) // BINS])
    ends = np.append(np.searchsorted(ordered, cuts[1:]), len(ordered))
    return cuts, ordered[ends - 1], False
