"""Chosen: some columns of a table read row by row into small arrays, where counts by score are not enough.

A word takes two bytes, a number or a day eight, so that ten million rows fit into some 300 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, nearest
from fairgate.people.sources import Source
from fairgate.people.values import LISTED, Words, as_numbers, listed
from fairgate.settings import Array

Convert = Callable[[str, Any], tuple[Array, list[str]]]
"""Takes the name of a column and its values; returns numbers, NaN where there is none, and some text that is none."""

MANY = 30_000
"""Most combinations of the values of several columns."""

JOINED = " · "
"""Between the values of several columns of groups."""

MAX_LOST = 0.1
"""Largest share of rows that may be left out, unless another is asked for."""


@dataclass(frozen=True)
class Numbers:
    """A column that is read as numbers, and what one of them is called."""

    what: str = "a number"
    convert: Convert = as_numbers


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rows that have everything they must have.

    Attributes
    ----------
    columns
        Their values by role: numbers, days since 1970 (float64), or numbers of words (int16, −1 if missing).
    words
        The different words of a role, in the order of their numbers.
    total
        Rows of the table, those left out included.
    dropped
        Rows left out, by reason.
    """

    columns: dict[str, NDArray[Any]]
    words: dict[str, list[str]]
    total: int
    dropped: dict[str, int]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def read_chosen(
    source: Source,
    names: Mapping[str, str],
    kinds: Mapping[str, Words | Numbers],
    optional: Collection[str] = (),
    max_lost: float = MAX_LOST,
) -> Chosen:
    """Read the columns `names`, by role, as `kinds` says; rows that lack what is not `optional` are left out.

    >>> import pyarrow as pa
    >>> from fairgate.people.sources import frame_source
    >>> table = pa.table({"s": ["0.5", "?", "0.7", "0.9"], "sex": ["f", "m", "m", "f"]})
    >>> rows = read_chosen(frame_source(table), {"score": "s", "group": "sex"},
    ...                  {"score": Numbers(), "group": Words("group", "sex", 50)}, max_lost=0.5)
    >>> rows.columns["score"], rows.columns["group"], rows.words["group"], rows.dropped
    (array([0.5, 0.7, 0.9]), array([0, 1, 0], dtype=int16), ['f', 'm'], {'score not a number': 1})
    """
    check_roles(source, names)
    parts: dict[str, list[NDArray[Any]]] = {role: [] for role in names}
    dropped: Counter[str] = Counter()
    unread: dict[str, list[str]] = {role: [] for role in names}
    total = 0
    for batch in source.read(list(names.values())):
        total += batch.num_rows
        kept = np.ones(batch.num_rows, dtype=bool)
        values: dict[str, NDArray[Any]] = {}
        for role, name in names.items():
            kind, column = kinds[role], batch.column(name)
            if isinstance(kind, Words):
                values[role] = kind.codes(column)
                lacking, reason = values[role] < 0, f"{role} missing"
            else:
                values[role], text = kind.convert(name, column)
                unread[role] += text[: LISTED - len(unread[role])]
                lacking, reason = ~np.isfinite(values[role]), f"{role} not {kind.what}"
            if role not in optional:
                dropped[reason] += int((kept & lacking).sum())
                kept &= ~lacking
        for role, found in values.items():
            parts[role].append(found if kept.all() else found[kept])
    dropped["line malformed"] = source.malformed[0]
    total += source.malformed[0]
    if not total:
        raise InputError(f"{source.name} has no rows: it must have one row per person")
    lost = sum(dropped.values())
    if lost > max_lost * total or lost == total:
        raise InputError(_too_many(names, dropped, unread, total, max_lost))
    words = {role: list(kind.found) for role, kind in kinds.items() if isinstance(kind, Words) and role in names}
    columns: dict[str, NDArray[Any]] = {}
    for role in names:
        columns[role] = np.concatenate(parts.pop(role))  # one by one, so that no column is held twice for long
    return Chosen(columns, words, total, dict(+dropped))


def group_roles(group: str | Sequence[str]) -> dict[str, str]:
    """Return a role for each column of groups.

    >>> group_roles("sex"), group_roles(["sex", "race"])
    ({'group': 'sex'}, {'group': 'sex', 'group 2': 'race'})
    """
    names = [group] if isinstance(group, str) else list(group)
    if not names:
        raise InputError(f"group must be the name of a column, or a list of them, got {group!r}")
    return {f"group {place + 1}" if place else "group": name for place, name in enumerate(names)}


def cross(rows: Chosen, roles: Collection[str]) -> tuple[NDArray[np.int16], list[str]]:
    """Return the number of each row's group, and the names of those that occur: the values of all columns, joined.

    >>> codes = {"group": np.array([0, 1, 0], dtype=np.int16), "group 2": np.array([1, 0, 1], dtype=np.int16)}
    >>> cross(Chosen(codes, {"group": ["f", "m"], "group 2": ["a", "b"]}, 3, {}), list(codes))
    (array([0, 1, 0], dtype=int16), ['f · b', 'm · a'])
    """
    names, code = [""], np.zeros(len(rows), dtype=np.int16)
    for role in roles:
        words = rows.words[role]
        if len(names) * len(words) > MANY:
            raise InputError(
                f"the columns of groups have more than {MANY} combinations: choose columns with few values"
            )
        pairs = code.astype(np.int32) * len(words) + rows.columns[role]
        found = np.flatnonzero(np.bincount(pairs, minlength=len(names) * len(words)))
        lookup = np.zeros(len(names) * len(words), dtype=np.int16)
        lookup[found] = np.arange(len(found))
        names = [JOINED.join(filter(None, (names[each // len(words)], words[each % len(words)]))) for each in found]
        code = lookup[pairs]
    return code, names


def check_roles(source: Source, names: Mapping[str, str]) -> None:
    """Refuse columns that are not there, there twice, or asked for twice."""
    for role, name in names.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"{role} must be the name of a column, got {name!r}")
        if name not in source.columns:
            known = f"{nearest(name, source.columns)}Its columns: {listed(source.columns) or '(none)'}"
            raise InputError(f"the {role} column {name!r} is not in the table: {known}")
        if list(source.columns).count(name) > 1:
            raise InputError(f"the {role} column {name!r} is in the table more than once: rename all but one")
    for (role, name), (other, second) in combinations(names.items(), 2):
        if name == second:
            raise InputError(f"{role} and {other} are both the column {name!r}: choose two different columns")


def _too_many(
    names: Mapping[str, str], dropped: Counter[str], unread: Mapping[str, list[str]], total: int, most: float
) -> str:
    reason, count = dropped.most_common(1)[0]
    role = reason.split(" ", 1)[0]
    seen = f", such as {listed(unread[role][:3])}" if unread.get(role) else ""
    where = f" in the column {names[role]!r}" if role in names else ""
    lost = sum(dropped.values())
    return (
        f"{lost} of {total} rows cannot be used, more than the share of {most:g} that may be left out (max_lost); "
        f"{count} have {reason}{where}{seen}"
    )
