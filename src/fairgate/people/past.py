"""Past: a table of past decisions, row by row in the order they were made, as a learner's history needs it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.chosen import Chosen, Kind, read_chosen
from fairgate.people.dates import Dates
from fairgate.people.direction import RISKY, sounds_bad, sounds_rejected
from fairgate.people.numbers import Written
from fairgate.people.sources import Source, frame_source, open_source
from fairgate.people.values import Words, decision_meanings, label_meanings, listed, natural
from fairgate.reading import told
from fairgate.settings import Array

GROUPS = 50
"""Most groups; a column with more is rather a number or a name than a group."""

VALUES = 1000
"""Most different decisions or outcomes, which are told if they are not two."""

UNKNOWN = 2
"""What stands for an outcome that is not known."""


@dataclass(frozen=True, eq=False, repr=False)
class Past:
    """Past decisions in the order they were made, (N,) each.

    Attributes
    ----------
    names
        Names of the groups, in order; some may have nobody.
    scores
        Higher is better.
    groups
        Places in `names`.
    accepted
        Whether each person was accepted.
    outcomes
        0, 1, or 2 where it is not known; of rejected people it is not told.
    """

    names: tuple[str, ...]
    scores: Array
    groups: NDArray[np.int16]
    accepted: NDArray[np.bool_]
    outcomes: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"Past({len(self)} decisions on {listed(self.names)}, {self.accepted.sum()} accepted)"

    @cached_property
    def sha256(self) -> str:
        """Digest of everything in it, the same for the same rows in the same order, whatever file they came from."""
        found = hashlib.sha256("\x1f".join(self.names).encode())
        for values, kind in ((self.scores, "<f8"), (self.groups, "<i2"), (self.accepted, "?"), (self.outcomes, "i1")):
            found.update(np.ascontiguousarray(values, dtype=kind).tobytes())
        return found.hexdigest()


def read_past(
    table: Any,
    *,
    score: str,
    group: str,
    accepted: str,
    outcome: str,
    time: str | None = None,
    groups: Sequence[str] | None = None,
    descending: bool = False,
    max_lost: float = 0.0,
) -> Past:
    """Read past decisions from a data frame, a mapping of columns or a file; see :meth:`fairgate.History.of`.

    >>> past = {"score": [0.2, 0.7, 0.9], "group": ["f", "m", "f"], "accepted": [0, 1, 1], "outcome": [None, 1, 0]}
    >>> read_past(past, score="score", group="group", accepted="accepted", outcome="outcome")
    Past(3 decisions on 'f', 'm', 2 accepted)
    """
    _check_direction(score, accepted, outcome, descending)
    columns = {"score": score, "group": group, "decision": accepted, "label": outcome}
    kinds: dict[str, Kind] = {
        "score": Written("score", score),
        "group": Words("group", group, GROUPS),
        "decision": Words("decision", accepted, VALUES, ("na",)),
        "label": Words("label", outcome, VALUES, ("na",)),
    }
    if time is not None:
        columns["time"], kinds["time"] = time, _time_kind(table, time)
    rows = read_chosen(_source(table), columns, kinds, optional=("label",), max_lost=max_lost)
    chosen = _meant(rows, "decision", accepted) == 1
    if not chosen.any():
        raise InputError(
            f"the decision column {accepted!r} has nobody who was accepted, so there is nothing to learn outcomes from"
        )
    known = _meant(rows, "label", outcome)
    if not (known[chosen] < UNKNOWN).any():
        raise InputError(
            f"the outcome column {outcome!r} is empty for everybody who was accepted: some outcomes must be known"
        )
    names, member = _members(rows, group, groups)
    scores = 0.0 - rows.columns["score"] if descending else rows.columns["score"]
    told_of = np.where(chosen, known, UNKNOWN).astype(np.int8)
    if time is None:
        return Past(names, scores, member, chosen, told_of)
    order = np.argsort(rows.columns["time"], kind="stable")
    return Past(names, scores[order], member[order], chosen[order], told_of[order])


def _source(table: Any) -> Source:
    if isinstance(table, str | Path):
        return open_source(table)
    if isinstance(table, Mapping):
        import pyarrow as pa

        with told("the columns of the history must be equally long, each of numbers or of text"):
            return frame_source(pa.table(dict(table)))
    return frame_source(table)


def _check_direction(score: str, accepted: str, outcome: str, descending: bool) -> None:
    """Refuse columns that sound as if 1, or a high score, were bad."""
    if not isinstance(descending, bool):
        raise InputError(f"descending must be True or False, got {descending!r}")
    if isinstance(outcome, str) and sounds_bad(outcome):
        raise InputError(
            f"the outcome column {outcome!r} sounds like a bad outcome, but 1 must be good in a history: give a column "
            "in which 1 is good, such as repaid"
        )
    if isinstance(accepted, str) and sounds_rejected(accepted):
        raise InputError(
            f"the decision column {accepted!r} sounds like a rejection, but 1 must mean accepted in a history: give a "
            "column in which 1 means accepted"
        )
    if isinstance(score, str) and not descending and sounds_bad(score, RISKY):
        raise InputError(
            f"the score column {score!r} sounds like the probability of a bad outcome, but a high score must be good: "
            "say descending=True if a high score is bad, and use a grid of negated scores"
        )


def _time_kind(table: Any, name: str) -> Kind:
    """Return what a column of times is read as: numbers if all of it are, else days."""
    try:
        found = read_chosen(_source(table), {"time": name}, {"time": Written("time", name)}, optional=("time",))
    except InputError:  # dates, or no such column, which the reading of all columns says
        return Dates(name)
    return Written("time", name) if np.isfinite(found.columns["time"]).all() else Dates(name)


def _meant(rows: Chosen, role: str, name: str) -> NDArray[np.int8]:
    """Return 0 or 1 for each row, or that it is unknown."""
    words = rows.words[role]
    meanings: dict[str, int] = {}
    try:
        if words:
            meanings = (decision_meanings if role == "decision" else label_meanings)(name, words)
    except InputError:
        what = "decision" if role == "decision" else "outcome"
        empty = "" if role == "decision" else ", and empty where it is not known"
        raise InputError(
            f"the {what} column {name!r} must be 0 or 1{empty}, got {listed(sorted(words, key=natural)[:6])}"
        ) from None
    lookup = np.array([*(meanings[word] for word in words), UNKNOWN], dtype=np.int8)  # the last is for -1, missing
    return np.asarray(lookup[rows.columns[role]])


def _members(rows: Chosen, column: str, groups: Sequence[str] | None) -> tuple[tuple[str, ...], NDArray[np.int16]]:
    """Return the names of the groups, those given or those found in natural order, and each row's place in them."""
    found = rows.words["group"]
    names = tuple(sorted(found, key=natural)) if groups is None else tuple(map(str, groups))
    strange = [name for name in found if name not in names]
    if strange:
        raise InputError(
            f"the group column {column!r} has the unknown group {strange[0]!r}: it must be {listed(names)}"
        )
    if len(found) == 1 and len(names) > 1:
        raise InputError(
            f"the group column {column!r} has only the group {found[0]!r}: there must be people of {listed(names)}"
        )
    place = np.array([names.index(name) for name in found], dtype=np.int16)
    return names, np.asarray(place[rows.columns["group"]])
