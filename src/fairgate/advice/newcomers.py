"""Newcomers: later people, counted by the same groups, score bins and labels as those an advice was made for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.advice.reference import CROSSED, Reference
from fairgate.errors import InputError
from fairgate.people.chosen import Kind, cross, group_roles, read_chosen
from fairgate.people.numbers import Written
from fairgate.people.sources import Source
from fairgate.people.values import LISTED, Words, listed
from fairgate.people.wanted import LOST
from fairgate.settings import Array

VALUES = 1000
"""Most different groups or labels that are told apart."""


@dataclass(frozen=True, eq=False)
class Newcomers:
    """Later people.

    Attributes
    ----------
    counts
        People by score bin and label (0, 1, missing), (bins, 3), of each group.
    accepted
        People whom the advised threshold accepts, by group and label, (G, 3).
    strangers
        People of groups that the advice does not know, by name.
    unread
        People whose label the advice does not know, by label.
    labelled
        Whether there is a column of labels.
    dropped
        Rows left out, by reason.
    """

    counts: list[NDArray[np.float64]]
    accepted: NDArray[np.float64]
    strangers: dict[str, int]
    unread: dict[str, int]
    labelled: bool
    dropped: dict[str, int]

    @property
    def totals(self) -> NDArray[np.float64]:
        """People by group and label, (G, 3)."""
        return np.array([each.sum(axis=0) for each in self.counts])

    @property
    def digest(self) -> str:
        """A text that is the same for the same people, by group and score, whatever is known of their labels."""
        people = [each.sum(axis=1) for each in self.counts]
        return hashlib.sha256(b"".join(each.astype("<f8").tobytes() for each in people)).hexdigest()[:16]

    @property
    def cells(self) -> tuple[Array, Array]:
        """Accepted and all people, (1 + 3 G): everybody, each group, its people of label 0, and of label 1."""
        return _cells(self.accepted), _cells(self.totals)


def _cells(people: NDArray[np.float64]) -> Array:
    return np.concatenate(([people.sum()], people.sum(axis=1), people[:, 0], people[:, 1]))


def read_newcomers(source: Source, reference: Reference, max_lost: float = LOST) -> Newcomers:
    """Read a table with the columns and meanings of the advice; its column of labels may be lacking."""
    labelled = reference.label in source.columns
    names = {"score": reference.score}
    roles = group_roles(reference.group)
    names |= roles
    kinds: dict[str, Kind] = {"score": Written("score", reference.score)}
    kinds |= {role: Words("group", name, VALUES) for role, name in roles.items()}
    if labelled:
        names["label"], kinds["label"] = reference.label, Words("label", reference.label, VALUES, ("na",))
    rows = read_chosen(source, names, kinds, optional=("label",), max_lost=max_lost)
    scores = rows.columns["score"]
    scores = 0.0 - scores if reference.descending else scores
    code, found = cross(rows, roles)
    group = np.array([reference.groups.index(name) if name in reference.groups else -1 for name in found])[code]
    sizes = dict(zip(found, np.bincount(code, minlength=len(found)).tolist(), strict=True))
    strangers = {name: size for name, size in sizes.items() if name not in reference.groups}
    meaning = np.full(len(scores), 2, dtype=np.int64)
    unread: dict[str, int] = {}
    if labelled:
        labels = rows.words["label"]
        meaning = np.array([*(reference.meanings.get(each, 2) for each in labels), 2])[rows.columns["label"]]
        times = np.bincount(rows.columns["label"] + 1, minlength=len(labels) + 1)[1:].tolist()
        unread = {each: count for each, count in zip(labels, times, strict=True) if each not in reference.meanings}
    counts, accepted = [], []
    for place, cuts in enumerate(reference.cuts):
        own = group == place
        bins = np.maximum(np.searchsorted(cuts, scores[own], side="right") - 1, 0)
        cells = np.bincount(bins * 3 + meaning[own], minlength=3 * len(cuts)).reshape(-1, 3)
        counts.append(cells.astype(np.float64))
        accepted.append(np.bincount(meaning[own & (scores >= reference.at)], minlength=3))
    if not sum(each.sum() for each in counts):
        raise InputError(f"{source.name} has nobody of the groups of the advice: {', '.join(reference.groups)}")
    refuse_strangers(reference, strangers, rows.dropped, rows.total, max_lost)
    return Newcomers(counts, np.array(accepted, dtype=np.float64), strangers, unread, labelled, rows.dropped)


def refuse_strangers(
    reference: Reference, strangers: dict[str, int], dropped: dict[str, int], total: int, max_lost: float
) -> None:
    """Refuse a table of which too much is left out, people of groups that the advice does not know among it."""
    unknown = sum(strangers.values())
    lost = unknown + sum(dropped.values())
    if not unknown or lost <= max_lost * total:
        return
    named = sorted(strangers.items(), key=lambda each: (-each[1], each[0]))
    whom = ", ".join(f"{name!r} ({count})" for name, count in named[:LISTED]) + (" …" if len(named) > LISTED else "")
    others = "".join(f"; {count} {reason}" for reason, count in dropped.items())
    share = np.ceil(1000.0 * lost / total) / 1000.0
    raise InputError(
        f"{lost} of {total} rows would be left out, more than a share of {max_lost:g}: {unknown} belong to groups "
        f"({CROSSED.join(reference.group)!r}) that the advice does not know, {whom}, while it knows "
        f"{listed(reference.groups)}{others}; repair them, make a new advice, or say --max-lost {share:g} if those who "
        "are left are like the others"
    )
