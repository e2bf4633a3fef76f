"""Log: what an audit reads, from a database or from an exported file: events in order, and rows of people by range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairgate.live.events import Event
from fairgate.settings import Array

Whole = NDArray[np.int64]


class Facts(NamedTuple):
    """The row of the gate: its name, its last event, that event's hash, and the secret if it is at hand."""

    gate: str
    last: int
    head: str
    secret: bytes | None
    subject_key: bytes | None  # of the pseudonyms of this period, if it is at hand and there is one


class Fault(NamedTuple):
    """A row that cannot be read: the event it hangs on, and why."""

    seq: int
    text: str


class CaseRows(NamedTuple):
    """Rows of `cases`, ordered by event and place."""

    seq: Whole
    place: Whole
    ids: list[str]
    rounds: Whole
    groups: Whole
    scores: Array
    bins: Whole
    draws: Array
    accepted: Whole
    subjects: list[str]  # as they are stored, "" for none


class LabelRows(NamedTuple):
    """Rows of `outcomes`, ordered by event and id, each with the case it belongs to; −1 where there is none."""

    seq: Whole
    ids: list[str]
    labels: Whole
    before: Whole  # the label that the case had
    since: Whole  # and the event that had brought it
    first: Whole  # the event that had brought its first label
    case: Whole  # the event of the case
    rounds: Whole
    groups: Whole
    bins: Whole
    accepted: Whole  # whether the case was accepted when the label came
    aside: Whole  # whether a person had overridden its decision, so that the learner is not told


class OverrideRow(NamedTuple):
    """A row of `overrides`, with the case it belongs to; −1 where there is none."""

    seq: int
    id: str
    accepted: int
    reason: str
    case: int
    round: int
    group: int
    bin: int
    decided: int  # what had been decided before


class KeyRow(NamedTuple):
    """A row of `api_keys`."""

    id: str
    name: str
    hash: str
    scopes: str
    created: str
    expires: str | None
    revoked: str | None


class Log(Protocol):
    """What an audit reads. Ranges of events are asked for in order, each row once."""

    name: str
    facts: Facts
    faults: list[Fault]

    def events(self, kind: str | None = None) -> Iterator[Event]:
        """Yield the events in order, or those of one kind."""

    def cases(self, first: int, last: int) -> CaseRows:
        """Return the applications of the events from `first` to `last`."""

    def labels(self, first: int, last: int) -> LabelRows:
        """Return the labels that these events brought."""

    def overrides(self, first: int, last: int) -> list[OverrideRow]:
        """Return the decisions that these events overrode."""

    def snapshots(self) -> list[int]:
        """Return the events after which a state was stored."""

    def snapshot(self, seq: int) -> tuple[str, str]:
        """Return the library that stored the state after an event, and the state."""

    def keys(self) -> list[KeyRow] | None:
        """Return the keys; None if they are not at hand."""

    def beyond(self) -> list[Fault]:
        """Return rows that belong to no event: those after the last one, and applications that are there twice."""


def earlier_labels(
    seqs: Whole, ids: Sequence[str], often: Mapping[str, Sequence[tuple[int, int]]]
) -> tuple[Whole, Whole, Whole]:
    """Return of each label the one before it, the event that brought that, and the event of the first; −1 for none.

    `often` has all labels, as event and label in order, of the applications that have more than one: they are few.

    >>> earlier_labels(np.array([4, 9]), ["a", "b"], {"b": [(5, 1), (7, 0), (9, 1)]})
    (array([-1,  0]), array([-1,  7]), array([-1,  5]))
    """
    before, since, first = (np.full(len(ids), -1, dtype=np.int64) for _ in range(3))
    if often:
        for place, (event, each) in enumerate(zip(seqs.tolist(), ids, strict=True)):
            past = [known for known in often.get(each, ()) if known[0] < event]
            if past:
                since[place], before[place] = past[-1]
                first[place] = past[0][0]
    return before, since, first


def columns(rows: Sequence[Sequence[Any]], names: Mapping[str, type], faults: list[Fault]) -> list[Any]:
    """Turn rows into columns: arrays of numbers, lists of texts. Rows of another type are left out, with a fault.

    The first column is the event. SQLite keeps what it is given in any column, so types are no matter of course.

    >>> faults = []
    >>> columns([(1, "a", 0.5), (2, "b", "high")], {"seq": int, "id": str, "score": float}, faults)
    [array([1]), ['a'], array([0.5])]
    >>> faults
    [Fault(seq=2, text="score must be a number, found 'high'")]
    """
    found = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    made = [_column(values, kind) for values, kind in zip(found, names.values(), strict=True)]
    if all(each is not None for each in made):
        return made
    good = []
    for row in rows:
        wrong = next(
            (item for item in zip(names.items(), row, strict=True) if _column((item[1],), item[0][1]) is None), None
        )
        if wrong is None:
            good.append(row)
        else:
            (name, kind), value = wrong
            what = {int: "a whole number", float: "a number", str: "a text"}[kind]
            faults.append(Fault(row[0] if isinstance(row[0], int) else 0, f"{name} must be {what}, found {value!r}"))
    return columns(good, names, faults)


def _column(values: Sequence[Any], kind: type) -> Any:
    """Return the values as a column; None if one of them is of another kind."""
    if kind is str:
        return list(values) if all(isinstance(each, str) for each in values) else None
    try:
        array = np.array(values if values else (), dtype=None if values else kind)
    except (ValueError, OverflowError):
        return None
    if array.dtype.kind not in ("i" if kind is int else "if"):
        return None
    return array.astype(np.int64 if kind is int else np.float64)
