"""Reading: a table of decisions in the order they were made, counted by look, segment, group, label and decision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name
from fairgate.people.chosen import JOINED, Chosen, Kind, cross, group_roles, read_chosen
from fairgate.people.dates import LENGTHS, Dates, periods
from fairgate.people.direction import ask_accepted, ask_positive, upside_down
from fairgate.people.numbers import Written
from fairgate.people.sources import Source
from fairgate.people.values import (
    Words,
    decision_meanings,
    group_in_words,
    in_words,
    label_meanings,
    listed,
    natural,
)
from fairgate.people.wanted import LOST
from fairgate.settings import Array

CHUNK = 1 << 20
"""Rows counted at a time."""

GROUPS = 50
"""Most groups; a column with more is rather a number or a name than a group."""

POLICIES = 1000
"""Most different policies that are told apart."""

VALUES = 1000
"""Most different decisions or labels."""

CROSSED = " × "
"""Between the names of several columns of groups."""

SEGMENTS = 50
"""Most runs of one policy that are segments each; with more, policies took turns, and each is one segment."""

LOOKS = 100
"""Looks at rows that are ordered by a number, each after as many rows."""

ONCE = "once"
"""What a single look at all rows follows."""


@dataclass(frozen=True)
class Segment:
    """A run of decisions under one policy."""

    name: str  # of the policy
    number: int  # from 1, by when it began
    first: int  # look in which it began
    last: int
    people: int


@dataclass(frozen=True, eq=False)
class Cases:
    """What the value of other thresholds is worked out from, row by row: (N,) each."""

    scores: Array  # higher is better
    groups: NDArray[np.int16]
    accepted: NDArray[np.bool_]
    labels: NDArray[np.int8]  # 0, 1, or 2 if missing
    propensities: Array


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions in the order they were made.

    Attributes
    ----------
    columns
        Names of the columns by role.
    groups
        Names of the groups.
    looks
        When the decisions so far were looked at: the names of periods, or numbers of rows.
    segments
        Runs of one policy; one if no policy is told.
    counts
        People by look, segment, group, label (0, 1, missing) and decision (rejected, accepted): (T, S, G, 3, 2).
    by
        What a look follows: "month", … , "rows", or "once" for a single look at all rows.
    turns
        Whether policies took turns, so that each is one segment.
    total, dropped
        Chosen of the table, and those left out by reason.
    good
        What a positive label is, such as "repaid = 1".
    notes
        How the table was read, where that is worth saying.
    cases
        Row by row, where scores, labels and propensities are known.
    """

    columns: dict[str, str]
    groups: tuple[str, ...]
    looks: tuple[str, ...]
    segments: tuple[Segment, ...]
    counts: NDArray[np.int64]
    by: str
    turns: bool
    total: int
    dropped: dict[str, int]
    good: str = ""
    notes: tuple[str, ...] = ()
    descending: bool = False
    cases: Cases | None = None

    def called(self, group: str) -> str:
        """Name a group in words, such as "sex = f"."""
        return group_in_words(self.columns["group"].split(CROSSED), group)

    @property
    def people(self) -> int:
        """Number of decisions, those left out not included."""
        return int(self.counts.sum())


def read_decisions(
    source: Source,
    columns: Mapping[str, str],
    group: str | Sequence[str],
    *,
    positive: object = None,
    accepted: object = None,
    descending: bool = False,
    period: str | None = None,
    once: bool = False,
    min_group: int = 1,
    max_lost: float = LOST,
) -> Decisions:
    """Read the columns, by role, and count the decisions; `accepted` is the decision that counts as acceptance.

    Groups may be the crossing of several columns. Rows with neither date nor order are one look, and all are if `once`.
    """
    if "date" in columns and "order" in columns:
        raise InputError("date and order both say in which order decisions were made: give one of them")
    if period is not None and period not in LENGTHS:
        raise unknown_name("period", period, LENGTHS)
    if period is not None and "date" not in columns:
        raise InputError(f"period={period!r} needs a column of dates (--date)")
    if once and period is not None:
        raise InputError(
            f"once looks once at all decisions, and period={period!r} after every {period}: give one of them"
        )
    roles = group_roles(group)
    words = {"decision": (VALUES, ("na",)), "label": (VALUES, ("na",)), "policy": (POLICIES, ())}
    kinds: dict[str, Kind] = {role: Written(role, columns.get(role, "")) for role in ("order", "score", "propensity")}
    kinds["date"] = Dates(columns.get("date", ""))
    kinds |= {role: Words(role, columns.get(role, ""), *limits) for role, limits in words.items()}
    kinds |= {role: Words("group", name, GROUPS) for role, name in roles.items()}
    rows = read_chosen(source, {**columns, **roles}, kinds, optional=("label",), max_lost=max_lost)
    rows, code, found = _large_groups(rows, *cross(rows, roles), min_group)
    took = decision_meanings(columns["decision"], rows.words["decision"], accepted)
    if accepted is None:
        ask_accepted(columns["decision"], took)
    chosen = np.array([took[value] for value in rows.words["decision"]], dtype=np.int8)[rows.columns["decision"]]
    label = np.full(len(rows), 2, dtype=np.int8)
    good = ""
    if "label" in columns:
        meanings = label_meanings(columns["label"], rows.words["label"], positive)
        if positive is None:
            ask_positive(columns.get("score", ""), columns["label"], meanings, descending=descending)
        meaning = np.array([*(meanings[value] for value in rows.words["label"]), 2], dtype=np.int8)
        label = meaning[rows.columns["label"]]
        good = in_words(columns["label"], meanings, 1)
    order = sorted(found, key=lambda name: [natural(part) for part in name.split(JOINED)])
    member = np.array([order.index(name) for name in found], dtype=np.int16)[code]
    look, looks, by, sequence = _looks(rows, kinds["date"], period, once)
    segment, segments, turns = _segments(rows, look, sequence)
    for role in ("date", "order", "policy", *roles):
        rows.columns.pop(role, None)  # memory, where there are many rows
    shape = (len(looks), len(segments), len(order), 3, 2)
    counts = np.zeros(shape, dtype=np.int64)
    for begin in range(0, len(member), CHUNK):
        some = slice(begin, begin + CHUNK)
        cell = np.ravel_multi_index((look[some], segment[some], member[some], label[some], chosen[some]), shape)
        counts += np.bincount(cell, minlength=counts.size).reshape(shape)
    by_label = counts.sum(axis=(0, 1, 2))  # by label and decision
    turned, cases = "", None
    if "label" in columns:
        taken = in_words(columns["decision"], took, 1)
        turned = upside_down(taken, by_label.sum(axis=0).tolist(), by_label[:2].sum(axis=0).tolist())
    if {"score", "label", "propensity"} <= set(columns):
        cases = _cases(rows, member, chosen, label, descending, columns["propensity"])
    return Decisions(
        columns={**columns, "group": CROSSED.join(roles.values())},
        groups=tuple(order),
        looks=tuple(looks),
        segments=segments,
        counts=counts,
        by=by,
        turns=turns,
        total=rows.total,
        dropped=rows.dropped,
        good=good,
        notes=(*rows.notes, turned) if turned else rows.notes,
        descending=descending,
        cases=cases,
    )


def _large_groups(
    rows: Chosen, code: NDArray[np.int16], names: list[str], least: int
) -> tuple[Chosen, NDArray[np.int16], list[str]]:
    """Leave out groups of fewer people than asked for, and refuse too many."""
    sizes = np.bincount(code, minlength=len(names))
    large = sizes >= least
    if not large.any():
        raise InputError(f"min_group={least} leaves out every group: the largest has {sizes.max()} people")
    if int(large.sum()) > GROUPS:
        raise InputError(
            f"there are {int(large.sum())} groups, such as {listed(names[:3])}, and at most {GROUPS} can be told"
        )
    if large.all():
        return rows, code, names
    kept = large[code]
    dropped = {**rows.dropped, f"group of fewer than {least}": int((~kept).sum())}
    rows = replace(rows, columns={role: values[kept] for role, values in rows.columns.items()}, dropped=dropped)
    renumbered = (np.cumsum(large) - 1).astype(np.int16)[code[kept]]
    return rows, renumbered, [name for name, enough in zip(names, large, strict=True) if enough]


def _looks(
    rows: Chosen, dates: Kind, period: str | None, once: bool
) -> tuple[NDArray[np.integer[Any]], list[str], str, NDArray[np.int64] | None]:
    """Return the look at which each row is first seen, the names of looks, what they follow, and the order of rows."""
    key = rows.columns.get("date", rows.columns.get("order"))
    if once or key is None:
        sequence = _sorted(key) if key is not None and "policy" in rows.columns else None
        return np.zeros(len(rows), dtype=np.int32), [str(len(rows))], ONCE, sequence
    if "date" in rows.columns and isinstance(dates, Dates):
        days = rows.columns["date"]
        ends = np.array([days.min(), days.max()], dtype=np.int32)
        by, names, begins = periods(dates.name, ends, period, dates.shortest)
        first, last = ends.tolist()
        place = np.searchsorted(begins, np.arange(first, last + 1), side="right").astype(np.int32) - np.int32(1)
        return place[days - first], list(names), by, _sorted(days) if "policy" in rows.columns else None
    sequence = _sorted(key)
    count = len(rows)
    looks = min(LOOKS, count)
    look: NDArray[np.integer[Any]] = np.arange(count, dtype=np.int64) * looks // count
    if sequence is not None:
        placed = np.empty_like(look)
        placed[sequence] = look
        look = placed
    return look, [str(math.ceil((k + 1) * count / looks)) for k in range(looks)], "rows", sequence


def _sorted(key: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return the order of the rows by a key, those of the same key as they come; None if they are in order."""
    return None if bool((key[1:] >= key[:-1]).all()) else np.argsort(key, kind="stable")


def _segments(
    rows: Chosen, look: NDArray[np.integer[Any]], sequence: NDArray[np.int64] | None
) -> tuple[NDArray[Any], tuple[Segment, ...], bool]:
    """Return the segment of each row, all segments, and whether policies took turns."""
    policy = rows.columns.get("policy")
    if policy is None:
        whole = Segment("all", 1, 0, int(look.max()), len(look))
        return np.zeros(len(look), dtype=np.int16), (whole,), False
    ordered = policy if sequence is None else policy[sequence]
    new = np.append(True, ordered[1:] != ordered[:-1])
    turns = int(new.sum()) > SEGMENTS
    if turns:
        used, first = np.unique(ordered, return_index=True)
        kept = used[np.argsort(first)]
        if len(kept) > SEGMENTS:
            raise InputError(
                f"the policy column has {len(kept)} different policies, and at most {SEGMENTS} can be told"
            )
        lookup = np.zeros(len(rows.words["policy"]), dtype=np.int16)
        lookup[kept] = np.arange(len(kept))
        segment = lookup[policy]
    else:
        kept = ordered[new]
        run = (np.cumsum(new) - 1).astype(np.int16)
        segment = run
        if sequence is not None:
            segment = np.empty_like(run)
            segment[sequence] = run
    segments = []
    for number, code in enumerate(kept):
        seen = look[segment == number]
        name = rows.words["policy"][int(code)]
        segments.append(Segment(name, number + 1, int(seen.min()), int(seen.max()), len(seen)))
    return segment, tuple(segments), turns


def _cases(
    rows: Chosen,
    group: NDArray[np.int16],
    chosen: NDArray[np.int8],
    label: NDArray[np.int8],
    descending: bool,
    name: str,
) -> Cases:
    """Check the propensities and put together what the value of other thresholds needs."""
    chance = rows.columns["propensity"]
    outside = (chance < 0.0) | (chance > 1.0)
    if outside.any():
        raise InputError(
            f"the propensity column {name!r} must be probabilities of acceptance from 0 to 1, got "
            f"{chance[outside][0]:g} in {int(outside.sum())} rows"
        )
    accepted = chosen == 1
    for impossible, said in (
        (accepted & (chance == 0.0), "accepted with propensity 0"),
        (~accepted & (chance == 1.0), "rejected with propensity 1"),
    ):
        if impossible.any():
            raise InputError(
                f"the propensity column {name!r} must be the probability of acceptance, but "
                f"{int(impossible.sum())} people were {said}"
            )
    scores = rows.columns["score"]
    return Cases(0.0 - scores if descending else scores, group, accepted, label, chance)
