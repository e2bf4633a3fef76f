"""Intake: read every person of a table once, and reduce the table to counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.people.applicants import CANDIDATES, Applicants, Columns, Decided
from fairgate.people.counting import Coder, count_periods, scaled
from fairgate.people.direction import ask_positive
from fairgate.people.losses import leave_out_strays, refuse_losses
from fairgate.people.rows import read_rows
from fairgate.people.sources import Reader, Source, frame_source, open_source
from fairgate.people.values import in_words, label_meanings, named
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
    accepted: object = None,
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
        Label, or list of labels, that count as good, 1, all others counting as bad, 0; not needed if labels are 0 and
        1, true and false, or yes and no, unless the name of the column sounds like a bad outcome (default, fraud).
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
    accepted
        Decision, or list of decisions, that mean accepted, all others meaning rejected; not needed for the words above,
        unless the name of the column sounds like a rejection (denied, declined).

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"score": [0.2, 0.7, 0.4], "paid": ["no", "yes", None], "sex": ["f", "f", "m"]})
    >>> from_frame(table, score="score", label="paid", group="sex")
    Applicants(3 people, 2 groups, 3 thresholds, 1 labels missing)
    """
    columns = (score, label, group, positive, descending, decision, date, period, weight)
    wanted = Wanted(*columns, min_group, max_lost, accepted)
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
    accepted: object = None,
) -> Applicants:
    """Count the people of a file, or of a query for DuckDB; see :func:`from_frame`.

    Files may be CSV, JSON lines, Parquet, Arrow, Feather, Excel or a zip of one of them; ``"-"`` is standard input. A
    file of another format is read by a `reader` that takes its path and returns a data frame; see also
    :func:`fairgate.people.register`.
    """
    columns = (score, label, group, positive, descending, decision, date, period, weight)
    wanted = Wanted(*columns, min_group, max_lost, accepted)
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
    coder = Coder.of(rows, wanted, meanings, cuts)
    everybody = coder.count(rows, (len(coder.names), len(cuts), 3, 1 if wanted.decision is None else 3))
    scale, weights = scaled(rows, wanted)
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
        positive=() if wanted.positive is None else named("positive", "label", wanted.label, wanted.positive),
        decided=None if wanted.decision is None else _decided(wanted.decision, coder, counted),
        strays=strays,
        notes=tuple(note for note in (*source.notes, rows.score.note, rows.weight.note, rows.dates.note) if note),
    )
    if wanted.date is None:
        return applicants
    return applicants.with_history(count_periods(rows, wanted, coder, applicants.starts(CANDIDATES), scale))


def _decided(name: str, coder: Coder, counted: NDArray[Any]) -> Decided:
    by_label = counted.sum(axis=(0, 1))  # by label and decision, (3, 3)
    rejected, accepted = by_label.sum(axis=0)[:2].tolist()
    labelled = by_label[:2].sum(axis=0)[:2].tolist()
    return Decided(in_words(name, coder.decisions, 1), (rejected, accepted), (labelled[0], labelled[1]))


def cut_points(scores: Array) -> tuple[Array, Array, bool]:
    """Sort scores; return the lowest and the highest of each bin, and whether every distinct score is a bin.

    Many distinct scores are cut at quantiles, so that bins hold about as many people each.
    """
    ordered = scores
    ordered.sort()  # in place: a second copy of ten million scores is 80 MB
    first = np.append(True, ordered[1:] > ordered[:-1])
    if first.sum() <= BINS:
        return ordered[first], ordered[first], True
    cuts = np.unique(ordered[np.arange(BINS) * len(ordered) // BINS])
    ends = np.append(np.searchsorted(ordered, cuts[1:]), len(ordered))
    return cuts, ordered[ends - 1], False
