"""Chosen: some columns of a table read row by row into small arrays, where counts by score are not enough.

A word takes two bytes, a number or a day eight, so that ten million rows fit into some 300 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.dates import NEVER, Dates
from fairgate.people.numbers import Written
from fairgate.people.sources import Source
from fairgate.people.values import Words, listed
from fairgate.people.wanted import LOST, check_columns

Kind = Words | Written | Dates
"""What a column is read as: words, numbers or days."""

MANY = 30_000
"""Most combinations of the values of several columns."""

JOINED = " · "
"""Between the values of several columns of groups."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rows that have everything they must have.

    Attributes
    ----------
    columns
        Their values by role: numbers (float64), days since 1970 (int32), or numbers of words (int16, −1 if missing).
    words
        The different words of a role, in the order of their numbers.
    total
        Rows of the table, those left out included.
    dropped
        Rows left out, by reason.
    notes
        How the table was read, where that is worth saying.
    """

    columns: dict[str, NDArray[Any]]
    words: dict[str, list[str]]
    total: int
    dropped: dict[str, int]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def read_chosen(
    source: Source,
    names: Mapping[str, str],
    kinds: Mapping[str, Kind],
    optional: Collection[str] = (),
    max_lost: float = LOST,
) -> Chosen:
    """Read the columns `names`, by role, as `kinds` says; rows that lack what is not `optional` are left out.

    >>> import pyarrow as pa
    >>> from fairgate.people.sources import frame_source
    >>> table = pa.table({"s": ["0.5", "?", "0.7", "0.9"], "sex": ["f", "m", "m", "f"]})
    >>> rows = read_chosen(frame_source(table), {"score": "s", "group": "sex"},
    ...                    {"score": Written("score", "s"), "group": Words("group", "sex", 50)}, max_lost=0.5)
    >>> rows.columns["score"], rows.columns["group"], rows.words["group"], rows.dropped
    (array([0.5, 0.7, 0.9]), array([0, 1, 0], dtype=int16), ['f', 'm'], {'score not a number': 1})
    """
    check_columns(source.columns, list(names.items()))
    used = {role: kinds[role] for role in names}
    parts: dict[str, list[NDArray[Any]]] = {role: [] for role in names}
    total = 0
    try:
        for batch in source.read(list(names.values())):
            total += batch.num_rows
            for role, name in names.items():
                kind, column = used[role], batch.column(name)
                if isinstance(kind, Written):
                    kind.add(column)
                else:
                    parts[role].append(kind.codes(column) if isinstance(kind, Words) else kind.add(column))
    finally:
        source.close()
    parts |= {role: list(kind.read()) for role, kind in used.items() if isinstance(kind, Written)}
    parts |= {role: list(kind.settle(parts[role])) for role, kind in used.items() if isinstance(kind, Dates)}
    dropped: Counter[str] = Counter()
    for place in range(len(next(iter(parts.values())))):
        kept = np.ones(len(parts[next(iter(names))][place]), dtype=bool)
        for role, kind in used.items():
            lacking, reason = _lacking(role, kind, parts[role][place])
            if role not in optional:
                dropped[reason] += int((kept & lacking).sum())
                kept &= ~lacking
        if not kept.all():
            for values in parts.values():
                values[place] = values[place][kept]
    dropped["line malformed"] = source.malformed[0]
    total += source.malformed[0]
    if not total:
        raise InputError(f"{source.name} has no rows: it must have one row per person")
    lost = sum(dropped.values())
    if lost > max_lost * total or lost == total:
        raise InputError(_too_many(names, dropped, used, total, max_lost))
    columns: dict[str, NDArray[Any]] = {}
    for role in names:
        columns[role] = np.concatenate(parts.pop(role))  # one by one, so that no column is held twice for long
    notes = (*source.notes, *(kind.note for kind in used.values() if not isinstance(kind, Words) and kind.note))
    words = {role: list(kind.found) for role, kind in used.items() if isinstance(kind, Words)}
    return Chosen(columns, words, total, dict(+dropped), notes)


def _lacking(role: str, kind: Kind, values: NDArray[Any]) -> tuple[NDArray[np.bool_], str]:
    """Say of which rows there is no value, and what to call that."""
    if isinstance(kind, Words):
        return values < 0, f"{role} missing"
    if isinstance(kind, Written):
        return ~np.isfinite(values), f"{role} not a number"
    return values == NEVER, f"{role} not a date"


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


def _too_many(
    names: Mapping[str, str], dropped: Counter[str], kinds: Mapping[str, Kind], total: int, most: float
) -> str:
    reason, count = dropped.most_common(1)[0]
    role = next((each for each in names if reason.startswith(f"{each} ")), "")
    kind = kinds.get(role)
    unread = [] if kind is None or isinstance(kind, Words) else kind.unread
    seen = f", such as {listed(unread[:3])}" if unread else ""
    hint = f" ({kind.hint})" if isinstance(kind, Written) and kind.hint else ""
    where = f" in the column {names[role]!r}" if role else ""
    return (
        f"{sum(dropped.values())} of {total} rows cannot be used, more than the share of {most:g} that may be left out "
        f"(max_lost); {count} have {reason}{where}{seen}{hint}"
    )
