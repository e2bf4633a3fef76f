"""Intake: read score, label and group of every person once, and reduce the table to counts.

A row is kept as 12 bytes until all have been read, so that ten million rows need some 120 MB and quantiles are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, nearest
from fairgate.people.applicants import Applicants, Columns
from fairgate.people.sources import Reader, Source, frame_source, open_source
from fairgate.people.values import LISTED, Words, as_numbers, label_meanings, listed, natural
from fairgate.settings import Array

BINS = 4096
"""Most score bins; with fewer distinct scores each is a bin of its own."""

GROUPS = 50
"""Most groups; a column with more is rather a number or a name than a group."""

LABELS = 1000
"""Most different labels that are told apart."""


def from_frame(
    frame: Any, *, score: str, label: str, group: str, positive: object = None, descending: bool = False
) -> Applicants:
    """Count the people of a data frame by group, score and label.

    Parameters
    ----------
    frame
        A table of pandas, polars, pyarrow, or anything else narwhals knows.
    score, label, group
        Names of its columns. Labels may be missing for some.
    positive
        Label that counts as 1, all others counting as 0; not needed if labels are 0 and 1, or true and false.
    descending
        Whether a higher score is worse.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"score": [0.2, 0.7, 0.4], "paid": ["no", "yes", None], "sex": ["f", "f", "m"]})
    >>> from_frame(table, score="score", label="paid", group="sex", positive="yes")
    Applicants(3 people, 2 groups, 3 thresholds, 1 labels missing)
    """
    return take_in(frame_source(frame), Columns(score, label, group), positive=positive, descending=descending)


def from_file(
    file: str | Path | None = None,
    *,
    score: str,
    label: str,
    group: str,
    query: str | None = None,
    positive: object = None,
    descending: bool = False,
    reader: Reader | None = None,
) -> Applicants:
    """Count the people of a CSV, Parquet, Arrow or Feather file, or of a query for DuckDB; see :func:`from_frame`.

    A file of another format is read by a `reader` that takes its path and returns a data frame; see also
    :func:`fairgate.people.register`.
    """
    source = open_source(None if file is None else Path(file), query, reader)
    return take_in(source, Columns(score, label, group), positive=positive, descending=descending)


def take_in(source: Source, columns: Columns, *, positive: object, descending: bool) -> Applicants:
    """Read a table and count its people by group, score bin and label.

    Rows without a usable score or group are left out and counted; what makes the whole table useless is refused.
    """
    if not isinstance(descending, bool):
        raise InputError(f"descending must be True or False, got {descending!r}")
    _check_columns(source, columns)
    scores: list[Array] = []
    codes: list[tuple[NDArray[np.int16], NDArray[np.int16]]] = []
    labels, groups = Words("label", columns.label, LABELS, ("na",)), Words("group", columns.group, GROUPS)
    dropped: Counter[str] = Counter()
    text: list[str] = []
    rows = 0
    for batch in source.read(list(columns)):
        rows += batch.num_rows
        score, unread = as_numbers(columns.score, batch.column(columns.score))
        text += unread[: LISTED - len(text)]
        label, group = (
            words.codes(batch.column(name)) for words, name in ((labels, columns.label), (groups, columns.group))
        )
        reasons = {
            "score not a number": np.isnan(score),
            "score infinite": np.isinf(score),
            "group missing": group < 0,
        }
        kept = np.ones(len(score), dtype=bool)
        for reason, hit in reasons.items():
            dropped[reason] += int((kept & hit).sum())
            kept &= ~hit
        scores.append(0.0 - score[kept] if descending else score[kept] + 0.0)  # no negative zero
        codes.append((label[kept], group[kept]))
    dropped["line malformed"] = source.malformed[0]
    rows += source.malformed[0]
    if not rows:
        raise InputError(f"{source.name} has no rows: it must have one row per person")
    if not any(map(len, scores)):
        _refuse_all(columns, dropped, rows, text)
    meanings = label_meanings(columns.label, labels.found, positive)
    cuts, tops, exact = cut_points(np.concatenate(scores))
    order = sorted(groups.found, key=natural)
    rank = np.array([order.index(name) for name in groups.found])
    meaning = np.array([*(meanings[value] for value in labels.found), 2])  # the last is for -1, a missing label
    shape = (len(order), len(cuts), 3)
    counts = np.zeros(shape, dtype=np.int64)
    for score, (label, group) in zip(scores, codes, strict=True):  # batch by batch, to keep rows small
        place = np.searchsorted(cuts, score, side="right") - 1
        cell = np.ravel_multi_index((rank[group], place, meaning[label]), shape)
        counts += np.bincount(cell, minlength=counts.size).reshape(shape)
    present = np.flatnonzero(counts.sum(axis=(1, 2)))
    return Applicants(
        groups=tuple(order[place] for place in present),
        cuts=cuts,
        tops=tops,
        counts=counts[present],
        columns=columns,
        rows=rows,
        dropped=dict(+dropped),
        meanings=meanings,
        descending=descending,
        exact=exact,
        lines=source.lines(),
    )


def _check_columns(source: Source, columns: Columns) -> None:
    """Refuse columns that are not there, there twice, or asked for twice."""
    for role, name in columns._asdict().items():
        if not isinstance(name, str) or not name:
            raise InputError(f"{role} must be the name of a column, got {name!r}")
        if name not in source.columns:
            known = f"{nearest(name, source.columns)}Its columns: {listed(source.columns) or '(none)'}"
            raise InputError(f"the {role} column {name!r} is not in the table: {known}")
        if list(source.columns).count(name) > 1:
            raise InputError(f"the {role} column {name!r} is in the table more than once: rename all but one")
    for (role, name), (other, second) in combinations(columns._asdict().items(), 2):
        if name == second:
            raise InputError(f"{role} and {other} are both the column {name!r}: choose two different columns")


def _refuse_all(columns: Columns, dropped: Counter[str], rows: int, text: Sequence[str]) -> None:
    reason, _ = dropped.most_common(1)[0]
    if reason == "line malformed":
        raise InputError(
            f"none of the {rows} lines has as many fields as there are column names, such as {columns.score!r}"
        )
    if reason == "group missing":
        raise InputError(f"the group column {columns.group!r} is missing for all {rows} rows: every row needs a group")
    seen = f", got {listed(text)}" if text else ", all are missing, NaN or infinite"
    raise InputError(
        f"the score column {columns.score!r} has no number in any of {rows} rows{seen}: it must be numbers"
    )


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
