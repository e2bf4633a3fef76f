"""Rows: every person of a table as a few small numbers, kept until all have been read.

That is 12 bytes per row, and up to 13 more for weight, day and decision: ten million rows need some 120 to 250 MB, and
quantiles are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.dates import NEVER, Dates, Days
from fairgate.people.numbers import Written
from fairgate.people.sources import Source
from fairgate.people.values import Crossing, Words
from fairgate.people.wanted import Wanted
from fairgate.settings import Array

VALUES = 1000
"""Most different values of a label or a group that are told apart while reading."""

NOBODY = 1e-9
"""Share of the largest weight below which a row stands for nobody."""

Codes = NDArray[np.int16]


@dataclass
class Part:
    """Rows read together; what no column was named for is None."""

    label: Codes
    group: Codes
    decision: Codes | None = None
    day: Days | None = None
    score: Array = field(default_factory=lambda: np.zeros(0))
    weight: Array | None = None

    def taken(self, kept: NDArray[np.bool_]) -> Part:
        """Return some of the rows."""
        arrays = {name: values[kept] for name, values in vars(self).items() if values is not None}
        return self if kept.all() else replace(self, **arrays)


@dataclass
class Rows:
    """All rows that can be used, and what became of the others."""

    parts: list[Part]
    labels: Words
    groups: Crossing
    decisions: Words
    dates: Dates
    score: Written
    weight: Written
    total: int = 0
    least: int = 1  # rows of the smallest group that is kept
    heaviest: float = 1.0  # weights are kept as shares of the largest
    dropped: Counter[str] = field(default_factory=Counter)

    def keep(self, chosen: Callable[[Part], dict[str, NDArray[np.bool_]]]) -> None:
        """Leave out rows for which a reason is true; the first reason counts."""
        for place, part in enumerate(self.parts):
            kept = np.ones(len(part.score), dtype=bool)
            for reason, hit in chosen(part).items():
                self.dropped[reason] += int((kept & hit).sum())
                kept &= ~hit
            self.parts[place] = part.taken(kept)

    def sizes(self) -> NDArray[np.int64]:
        """Return the rows of each group, in the order they were met."""
        count = len(self.groups.found)
        each = [np.bincount(part.group, minlength=count) for part in self.parts]
        return np.asarray(np.sum(each, axis=0, dtype=np.int64))

    def __len__(self) -> int:
        return sum(len(part.score) for part in self.parts)


def read_rows(source: Source, wanted: Wanted) -> Rows:
    """Read a table; rows without a usable score, group or weight are left out and counted."""
    names = wanted.check(source.columns)
    rows = Rows(
        [],
        Words("label", wanted.label, VALUES, ("na",)),
        Crossing(wanted.groups, VALUES),
        Words("decision", wanted.decision or "", VALUES, ("na",)),
        Dates(wanted.date or ""),
        Written("score", wanted.score),
        Written("weight", wanted.weight or ""),
    )
    for batch in source.read(names):
        rows.total += batch.num_rows
        rows.parts.append(_part(batch, rows, wanted))
    if wanted.date is not None:
        settled = rows.dates.settle([part.day for part in rows.parts if part.day is not None])
        rows.parts = [replace(part, day=day) for part, day in zip(rows.parts, settled, strict=True)]
    scores = rows.score.read()
    weights = rows.weight.read() if wanted.weight is not None else [None] * len(scores)
    for place, (score, weight) in enumerate(zip(scores, weights, strict=True)):
        np.add(-score if wanted.descending else score, 0.0, out=score)  # no negative zero
        rows.parts[place] = replace(rows.parts[place], score=score, weight=weight)
    if any((part.weight < 0).any() for part in rows.parts if part.weight is not None):
        least = min(
            float(np.nanmin(part.weight)) for part in rows.parts if part.weight is not None and len(part.weight)
        )
        raise InputError(f"the weight column {wanted.weight!r} must be at least 0 everywhere, got {least:g}")
    rows.keep(_unusable)
    if wanted.weight is not None and len(rows):
        _weigh(rows)
    malformed = source.malformed[0]
    rows.dropped["line malformed"] += malformed
    rows.total += malformed
    return rows


def _part(batch: Any, rows: Rows, wanted: Wanted) -> Part:
    def column(name: str) -> Any:
        return batch.column(name)

    rows.score.add(column(wanted.score))
    if wanted.weight is not None:
        rows.weight.add(column(wanted.weight))
    return Part(
        label=rows.labels.codes(column(wanted.label)),
        group=rows.groups.codes([column(name) for name in wanted.groups]),
        decision=None if wanted.decision is None else rows.decisions.codes(column(wanted.decision)),
        day=None if wanted.date is None else rows.dates.add(column(wanted.date)),
    )


def _unusable(part: Part) -> dict[str, NDArray[np.bool_]]:
    reasons = {
        "score not a number": np.isnan(part.score),
        "score infinite": np.isinf(part.score),
        "group missing": part.group < 0,
    }
    if part.weight is not None:
        reasons["weight not a number"] = ~np.isfinite(part.weight)
    return reasons


def _weigh(rows: Rows) -> None:
    """Make weights shares of the largest, whose squares are numbers whatever their unit, and leave out those of 0."""
    rows.heaviest = max(float(part.weight.max(initial=0.0)) for part in rows.parts if part.weight is not None)
    for part in rows.parts:
        if part.weight is not None and rows.heaviest > 0.0:
            part.weight /= rows.heaviest
    rows.keep(lambda part: {} if part.weight is None else {"weight zero": part.weight < NOBODY})


def dated(part: Part) -> NDArray[np.bool_]:
    """Whether the date of each row is known."""
    return np.zeros(len(part.score), dtype=bool) if part.day is None else part.day != NEVER
