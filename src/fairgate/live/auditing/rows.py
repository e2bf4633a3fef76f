"""Rows: whether the stored applications are those that the events recorded, many events at a time.

Number and order, round, bin, draw, decision, tally and digest of every event are checked. None of it depends on the
version of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.live.auditing.chunks import Parsed
from fairgate.live.auditing.log import CaseRows, Whole
from fairgate.live.events import Event, People, draws_of, people_digest
from fairgate.live.spec import Spec
from fairgate.policy import Policy
from fairgate.settings import Array

BELOW_ONE = 1.0 - 2.0**-53


class Round(NamedTuple):
    """What decisions of a round are checked by."""

    policy: Policy | None  # None where the operator's own rule decided
    secret: bytes | None  # None if it is not known
    subjects: bytes | None = None  # the key of draws of subjects, None if it is not known


Say = Callable[[Event, str], None]


class RowCheck:
    """Compares rows of `cases` with the events that recorded them; of each event the first fault is said."""

    def __init__(self, say: Say, spec: Spec) -> None:
        self.say = say
        self.spec = spec

    def check(self, parsed: Sequence[Parsed], rows: CaseRows, rounds: Mapping[int, Round]) -> None:
        """Check events that recorded people, in order; all of their rows, and no others, are given."""
        seqs = np.array([each.event.seq for each in parsed], dtype=np.int64)
        which = np.searchsorted(seqs, rows.seq)  # the event of each row
        sizes = np.bincount(which, minlength=len(parsed))
        begins = np.cumsum(sizes) - sizes
        named = np.array([bool(each) for each in rows.subjects], dtype=bool)
        faults = Faults(which, rows.ids)
        people = [each.number("people") for each in parsed]
        for place in np.flatnonzero(sizes != people).tolist():
            faults.said[place] = f"{sizes[place]} applications are stored, and it recorded {people[place]}"
        faults.note(rows.place != np.arange(len(which)) - begins[which], "is not in its place")
        own = np.array([each.event.round for each in parsed], dtype=np.int64)[which]
        faults.note(rows.rounds != own, "has the round {}, and the event {}", rows.rounds, own)
        strange = (rows.groups < 0) | (rows.groups >= len(self.spec.groups)) | (rows.accepted < 0) | (rows.accepted > 1)
        strange |= ~np.isfinite(rows.scores)
        faults.note(strange, "has a group, a score or a decision that there cannot be")
        counted = self.spec.counted(rows.scores)
        bins = np.searchsorted(self.spec.setting.thresholds, counted, side="right")
        faults.note(rows.bins != bins, "has the bin {}, and its score is in bin {}", rows.bins, bins)
        for number in np.unique(own).tolist():
            if number in rounds:
                places = np.flatnonzero((own == number) & ~strange)
                _decisions(faults, rows, counted, named[places], places, rounds[number])
        _tallies(faults, rows, parsed)
        bits = _people(rows, slice(0, None)).bits
        for place, (begin, size) in enumerate(zip(begins.tolist(), sizes.tolist(), strict=True)):
            if place not in faults.said:
                part = [each[8 * begin : 8 * (begin + size)] for each in bits]
                mine = slice(begin, begin + size)
                if people_digest(rows.ids[mine], part, rows.subjects[mine]) != parsed[place].data.get("digest"):
                    faults.said[place] = "the digest of its applications is not the one it holds: a row was changed"
        for place in sorted(faults.said):
            self.say(parsed[place].event, faults.said[place])


class Faults:
    """The first fault of each event, by its place among the events that are checked."""

    def __init__(self, which: Whole, ids: Sequence[str]) -> None:
        self.said: dict[int, str] = {}
        self.which = which
        self.ids = ids

    def note(
        self, wrong: NDArray[np.bool_], text: str, *values: NDArray[Any], places: NDArray[np.int64] | None = None
    ) -> None:
        """Note of each event the first row that is wrong; `values` fill the text, `places` are those of the rows."""
        bad = np.flatnonzero(wrong)
        if not bad.size:
            return
        rows = bad if places is None else places[bad]
        events, first = np.unique(self.which[rows], return_index=True)
        for event, at in zip(events.tolist(), first.tolist(), strict=True):
            filled = text.format(*(_written(each[bad[at]]) for each in values))
            self.said.setdefault(event, f"the application {self.ids[rows[at]]!r} {filled}")


def _decisions(
    faults: Faults,
    rows: CaseRows,
    counted: Array,
    named: NDArray[np.bool_],
    places: NDArray[np.int64],
    own: Round,
) -> None:
    """Check draws and decisions of a round; `counted` are scores as decisions count them, `named` who has a subject."""
    draws = rows.draws[places]
    for secret, whose, names, mine in (
        (own.secret, "id", rows.ids, ~named),
        (own.subjects, "subject", rows.subjects, named),
    ):
        if secret is not None and mine.any():
            right = draws_of(secret, [names[place] for place in places[mine].tolist()])
            text = f"has the draw {{}}, and its {whose} gives {{}}"
            faults.note(draws[mine] != right, text, draws[mine], right, places=places[mine])
    if own.policy is not None:
        accepted = own.policy.decide(counted[places], rows.groups[places], np.clip(draws, 0.0, BELOW_ONE))
        words, given = np.array(["rejected", "accepted"]), rows.accepted[places]
        text = "was {}, and by the policy of its round it is {}"
        faults.note(given != accepted, text, words[given], words[accepted.astype(int)], places=places)


def _tallies(faults: Faults, rows: CaseRows, parsed: Sequence[Parsed]) -> None:
    """Check how many people of each group, bin and decision there are."""
    columns = (faults.which, rows.groups, rows.bins, rows.accepted)
    widths = [int(each.max(initial=0)) + 1 for each in columns]
    sound = np.stack([each >= 0 for each in columns]).all(axis=0)
    keys = np.ravel_multi_index([each[sound] for each in columns], widths)
    kept, counted = np.unique(keys, return_counts=True)
    found = zip(*(each.tolist() for each in np.unravel_index(kept, widths)), strict=True)
    there = dict(zip(found, counted.tolist(), strict=True))
    told: dict[tuple[int, ...], int] = {}
    for place, each in enumerate(parsed):
        for row in each.tally("tally", 4):
            key = (place, *row[:-1])
            told[key] = told.get(key, 0) + row[-1]
    for key in sorted({key for key, _ in there.items() ^ told.items()}):
        place, group, bin_number, accepted = key
        text = (
            f"it counts {told.get(key, 0)} people of group {group} in bin {bin_number} as "
            f"{'accepted' if accepted else 'rejected'}, and {there.get(key, 0)} are stored"
        )
        faults.said.setdefault(place, text)


def _people(rows: CaseRows, part: slice) -> People:
    numbers = (rows.groups[part], rows.scores[part], rows.bins[part], rows.draws[part], rows.accepted[part])
    return People(rows.ids[part], *numbers, rows.subjects[part])


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
