"""Labels: whether the stored labels are those that the events brought, each of an accepted application, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairgate.live.auditing.chunks import Parsed
from fairgate.live.auditing.log import LabelRows
from fairgate.live.auditing.rows import Faults, Say
from fairgate.live.labelling import label_digest, label_digests

TALLIES = ("tally", "aside", "told")
"""Of an event that brings labels: those the learner is told, those of overridden decisions, and corrections of labels
that it had been told already."""


def check_labels(say: Say, parsed: Sequence[Parsed], rows: LabelRows, closed: Mapping[int, int], pruned: int) -> None:
    """Check events that brought labels, in order; all of their rows, and no others, are given.

    Parameters
    ----------
    say
        Told the first fault of each event.
    parsed, rows
        The events, and their rows.
    closed
        By event, the last close before it: the learner had been told of applications whose first label came before.
    pruned
        The last round whose rows were removed; −1 if none were.
    """
    seqs = np.array([each.event.seq for each in parsed], dtype=np.int64)
    which = np.searchsorted(seqs, rows.seq)
    faults = Faults(which, rows.ids)
    corrects = np.array([each.event.kind == "corrected" for each in parsed], dtype=bool)[which]
    faults.note((rows.labels < 0) | (rows.labels > 1), "has the label {}", rows.labels)
    faults.note(rows.case < 0, "has a label, and is not stored")
    known = rows.case >= 0
    faults.note(known & (rows.case >= rows.seq), "has a label from before it was decided, at event {}", rows.case)
    faults.note(known & (rows.accepted != 1), "has a label, and was rejected")
    faults.note(~corrects & (rows.since >= 0), "has a label already, from event {}", rows.since)
    faults.note(corrects & (rows.since < 0), "has no label that could be corrected")
    faults.note(corrects & (rows.before == rows.labels), "is corrected to the label {} that it had", rows.labels)
    last = np.array([closed.get(int(seq), 0) for seq in seqs], dtype=np.int64)[which]
    kind = np.where(corrects & (rows.first <= last), 2, rows.aside)
    columns = [which, kind, rows.rounds, rows.groups, rows.bins, rows.labels]
    sound = np.stack([each >= 0 for each in columns]).all(axis=0)
    there = Counter(zip(*(each[sound].tolist() for each in columns), strict=True))
    told: dict[tuple[int, ...], int] = {}
    cut = set()  # events some of whose rows were removed
    for place, each in enumerate(parsed):
        for number, name in enumerate(TALLIES):
            for origin, *cell, people in each.tally(name, 5):
                if origin <= pruned:
                    cut.add(place)
                else:
                    key = (place, number, origin, *cell)
                    told[key] = told.get(key, 0) + people
    for key in sorted({key for key, _ in there.items() ^ told.items()}):
        place, _, origin, group, spot, label = key
        text = (
            f"it counts {told.get(key, 0)} labels {label} of group {group} in bin {spot} of round {origin}, and "
            f"{there.get(key, 0)} are stored"
        )
        faults.said.setdefault(place, text)
    ends = np.searchsorted(rows.seq, seqs, side="right").tolist()
    begins = np.searchsorted(rows.seq, seqs, side="left").tolist()
    numbers, labels = rows.rounds.tolist(), rows.labels.tolist()
    for place, each in enumerate(parsed):
        if place not in faults.said:
            part = slice(begins[place], ends[place])
            kept = list(zip(numbers[part], rows.ids[part], labels[part], strict=True))
            if not _digested(each.data, kept, pruned, place in cut):
                faults.said[place] = "the digest of its labels is not the one it holds: a row was changed"
    for place in sorted(faults.said):
        say(parsed[place].event, faults.said[place])


def _digested(data: dict[str, Any], kept: Sequence[tuple[int, str, int]], pruned: int, cut: bool) -> bool:
    """Whether the labels that are there have the digests that an event holds, those of rounds that were not pruned.

    The first release wrote one digest of all labels, which says nothing once rows of some are gone.
    """
    if "digests" not in data:
        return cut or label_digest([each[1:] for each in kept]) == data.get("digest")
    held = data["digests"]
    if not isinstance(held, dict) or not all(number.isdecimal() for number in held):
        return False
    return label_digests(kept) == {number: digest for number, digest in held.items() if int(number) > pruned}
