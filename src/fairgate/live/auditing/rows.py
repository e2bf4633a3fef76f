"""Rows: whether the stored applications are those that the events recorded, many events at a time.

Number and order, round, bin, draw, decision, tally and digest of every event are checked. None of it depends on the
version of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.live.auditing.log import CaseRows, Whole
from fairgate.live.events import Event, People, draws_of
from fairgate.policy import Policy
from fairgate.settings import Array


class Round(NamedTuple):
    """What decisions of a round are checked by."""

    policy: Policy | None  # None where the operator's own rule decided
    secret: bytes | None  # None if it is not known


class Parsed(NamedTuple):
    """An event with its body as plain data."""

    event: Event
    data: dict[str, Any]


Say = Callable[[Event, str], None]


class RowCheck:
    """Compares rows of `cases` with the events they hang on."""

    def __init__(self, say: Say, edges: Array, groups: int) -> None:
        self.say = say
        self.edges = edges
        self.groups = groups

    def check(self, parsed: Sequence[Parsed], rows: CaseRows, rounds: Mapping[int, Round]) -> None:
        """Check the events that recorded people, in order, against all of their rows."""
        seqs = np.array([each.event.seq for each in parsed], dtype=np.int64)
        begins, ends = (np.searchsorted(rows.seq, seqs, side=side) for side in ("left", "right"))  # type: ignore[call-overload]
        said: dict[int, str] = {}  # the first fault of each event
        people = np.array([_number(each.data, "people") for each in parsed], dtype=np.int64)
        for place in np.flatnonzero(ends - begins != people):
            said[place] = f"{ends[place] - begins[place]} applications are stored, and it recorded {people[place]}"
        which = np.repeat(np.arange(len(parsed)), ends - begins)
        inside = np.concatenate([np.arange(*ends_of) for ends_of in zip(begins, ends, strict=True)] or [[]]).astype(int)
        rows = _some(rows, inside)
        starts = np.concatenate(([0], np.cumsum(ends - begins)))[:-1]
        self._note(said, which, rows, rows.place != np.arange(len(which)) - starts[which], "is not in its place")
        own = np.array([each.event.round for each in parsed], dtype=np.int64)
        wrong = rows.rounds != own[which]
        self._note(said, which, rows, wrong, "has the round {}, and the event {}", rows.rounds, own[which])
        wrong = (rows.groups < 0) | (rows.groups >= self.groups) | ~np.isin(rows.accepted, (0, 1))
        self._note(said, which, rows, wrong, "has a group or a decision that there is not")
        bins = np.searchsorted(self.edges, rows.scores, side="right")
        self._note(said, which, rows, rows.bins != bins, "has the bin {}, and its score is in bin {}", rows.bins, bins)
        decidable = ~wrong
        for number in np.unique(rows.rounds):
            if int(number) in rounds:
                self._decisions(said, which, rows, (rows.rounds == number) & decidable, rounds[int(number)])
        self._tallies(said, which, rows, parsed)
        for place, each in enumerate(parsed):
            if place not in said and _people(rows, starts[place], starts[place] + people[place]).digest != each.data.get(
                "digest"
            ):
                said[place] = "the digest of its applications is not the one it holds: a row was changed"
        for place in sorted(said):
            self.say(parsed[place].event, said[place])

    def _decisions(
        self, said: dict[int, str], which: Whole, rows: CaseRows, chosen: NDArray[np.bool_], own: Round
    ) -> None:
        """Check draws and decisions of a round."""
        places = np.flatnonzero(chosen)
        some = _some(rows, places)
        if own.secret is not None:
            draws = draws_of(own.secret, some.ids)
            wrong = some.draws != draws
            self._note(said, which[places], some, wrong, "has the draw {}, and its id gives {}", some.draws, draws)
        if own.policy is not None:
            accepted = own.policy.decide(some.scores, some.groups, np.clip(some.draws, 0.0, 1.0 - 2.0**-53))
            words = np.array(["rejected", "accepted"])
            given, right = words[some.accepted], words[accepted.astype(int)]
            wrong = some.accepted != accepted
            self._note(said, which[places], some, wrong, "was {}, and the policy of its round says {}", given, right)

    def _tallies(self, said: dict[int, str], which: Whole, rows: CaseRows, parsed: Sequence[Parsed]) -> None:
        """Check how many people of each group, bin and decision there are."""
        kept, counted = np.unique(
            np.stack((which, rows.groups, rows.bins, rows.accepted), axis=1), axis=0, return_counts=True
        )
        there = {tuple(key): number for key, number in zip(kept.tolist(), counted.tolist(), strict=True)}
        told: dict[tuple[int, ...], int] = {}
        for place, each in enumerate(parsed):
            for row in _listed(each.data, "tally"):
                key = (place, *row[:-1])
                told[key] = told.get(key, 0) + row[-1]
        if there == told:
            return
        for key in sorted({key for key, _ in there.items() ^ told.items()}):
            text = (
                f"{told.get(key, 0)} people of group {key[1]} in bin {key[2]} are told as "
                f"{'accepted' if key[3] else 'rejected'}, and {there.get(key, 0)} are stored"
            )
            said.setdefault(key[0], text)

    @staticmethod
    def _note(
        said: dict[int, str], which: Whole, rows: CaseRows, wrong: NDArray[np.bool_], text: str, *values: NDArray[Any]
    ) -> None:
        """Note of each event the first row that is wrong."""
        if not wrong.any():
            return
        for place in np.flatnonzero(wrong)[::-1].tolist():
            filled = text.format(*(_plain(each[place]) for each in values))
            if int(which[place]) not in said or said[int(which[place])].startswith("the application"):
                said.setdefault(int(which[place]), f"the application {rows.ids[place]!r} {filled}")


def _some(rows: CaseRows, places: NDArray[Any]) -> CaseRows:
    if len(places) == len(rows.ids):
        return rows
    ids = [rows.ids[place] for place in places.tolist()]
    return CaseRows(*(ids if each is rows.ids else each[places] for each in rows))  # type: ignore[index]


def _people(rows: CaseRows, begin: int, end: int) -> People:
    part = slice(begin, end)
    return People(rows.ids[part], rows.groups[part], rows.scores[part], rows.bins[part], rows.draws[part], rows.accepted[part])


def _number(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _listed(data: Mapping[str, Any], name: str) -> list[list[int]]:
    """Return a tally if it is one: lists of whole numbers."""
    rows = data.get(name)
    good = isinstance(rows, list) and all(
        isinstance(row, list) and len(row) > 1 and all(type(each) is int for each in row) for row in rows
    )
    return rows if good and isinstance(rows, list) else []


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
