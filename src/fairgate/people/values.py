"""Values: what the cells of a table mean as words: labels, decisions and groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.numbers import MISSING, number

LISTED = 8
"""Names or values listed in a message."""

TRUTH = {"true": 1, "yes": 1, "y": 1, "t": 1, "false": 0, "no": 0, "n": 0, "f": 0}
"""Words for true and false, in any case, where a whole column of labels or decisions has no others."""

DECISIONS = dict.fromkeys(("accepted", "accept", "approved", "approve", "granted", "offered", "admitted"), 1)
DECISIONS |= dict.fromkeys(("rejected", "reject", "declined", "decline", "denied", "deny", "refused", "turned down"), 0)
"""Words for decisions that say themselves what they mean, in any case."""


def listed(values: Sequence[object]) -> str:
    """List some values for a message."""
    more = f" … ({len(values)} in all)" if len(values) > LISTED else ""
    return ", ".join(repr(value)[:60] for value in values[:LISTED]) + more


class Words:
    """The different values of a column as words, numbered in the order they are met."""

    def __init__(self, role: str, name: str, limit: int, missing: tuple[str, ...] = ()) -> None:
        self.role, self.name, self.limit, self.missing = role, name, limit, missing
        self.found: dict[str, int] = {}

    def codes(self, column: Any) -> NDArray[np.int16]:
        """Return the number of each row's word; −1 if it is missing."""
        import pyarrow as pa

        if not pa.types.is_dictionary(column.type):
            try:
                column = column.dictionary_encode()
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):  # lists, structs
                texts = [None if value is None else str(value) for value in column.to_pylist()]
                column = pa.array(texts, pa.string()).dictionary_encode()
        values = column.dictionary.to_pylist()
        lookup = np.array([self._code(word(value)) for value in values] + [-1], dtype=np.int16)
        return lookup[np.asarray(column.indices.fill_null(len(values)).to_numpy(zero_copy_only=False), dtype=np.int64)]

    def _code(self, text: str | None) -> int:
        if text is None or text.lower() in self.missing:
            return -1
        if text not in self.found:
            if len(self.found) == self.limit:
                raise too_many(self.role, self.name, self.limit, list(self.found))
            self.found[text] = len(self.found)
        return self.found[text]


class Crossing:
    """The groups of one or several columns: every combination of their values that occurs, in the order met."""

    def __init__(self, columns: Sequence[str], limit: int) -> None:
        self.words = [Words("group", name, limit) for name in columns]
        self.limit = limit
        self.found: dict[tuple[int, ...], int] = {}

    def codes(self, columns: Sequence[Any]) -> NDArray[np.int16]:
        """Return the number of each row's group; −1 if one of its values is missing."""
        each = [words.codes(column) for words, column in zip(self.words, columns, strict=True)]
        joined = np.zeros(len(each[0]), dtype=np.int64)
        for codes in each:
            joined = joined * (self.limit + 1) + codes + 1
        different, first, place = np.unique(joined, return_index=True, return_inverse=True)
        lookup = np.full(len(different), -1, dtype=np.int16)
        for at, row in enumerate(first):
            key = tuple(int(codes[row]) for codes in each)
            if min(key) >= 0:
                lookup[at] = self._code(key)
        return lookup[place]

    def _code(self, key: tuple[int, ...]) -> int:
        if key not in self.found and len(self.found) == self.limit:
            raise too_many("group", " × ".join(words.name for words in self.words), self.limit, self.names())
        return self.found.setdefault(key, len(self.found))

    def names(self) -> list[str]:
        """Return the names of the groups, such as "f · black"."""
        values = [list(words.found) for words in self.words]
        return [" · ".join(own[code] for own, code in zip(values, key, strict=True)) for key in self.found]


def too_many(role: str, name: str, limit: int, found: Sequence[str]) -> InputError:
    """Say that a column has too many different values."""
    return InputError(
        f"the {role} column {name!r} has more than {limit} different values, such as {listed(found[:3])}: "
        "choose a column with few"
    )


def word(value: object) -> str | None:
    """Write a value of a table as a word, the same for every kind of file; None if it is missing.

    >>> [word(value) for value in (1, 1.0, "1.0", True, "TRUE", " f ", 0.5, float("nan"), "", None, "NULL", "NA")]
    ['1', '1', '1', 'true', 'true', 'f', '0.5', None, None, None, None, 'NA']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if value != value else str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    text = "" if value is None else str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    return None if text.lower() in MISSING else re.sub(r"^(-?\d+)\.0+$", r"\1", text)


def label_meanings(name: str, found: Iterable[str], positive: object = None) -> dict[str, int]:
    """Say for each label whether it counts as 0 or 1.

    >>> label_meanings("repaid", ["1", "0.0"])
    {'1': 1, '0.0': 0}
    >>> label_meanings("repaid", ["Yes", "No"])
    {'Yes': 1, 'No': 0}
    >>> label_meanings("repaid", ["yes", "no", "late"], positive="yes")
    {'yes': 1, 'no': 0, 'late': 0}
    >>> label_meanings("status", ["ok", "promoted", "left"], positive=["ok", "promoted"])
    {'ok': 1, 'promoted': 1, 'left': 0}
    """
    values = list(found)
    if not values:
        raise InputError(f"the label column {name!r} is missing for every row: some people's label must be known")
    if positive is not None:
        return _said("positive", "label", name, values, positive)
    read = _readings(values, TRUTH)
    if any(each not in (0.0, 1.0) for each in read):
        raise InputError(
            f"the label column {name!r} must be 0 or 1, got {listed(sorted(values))}: "
            "say which of them counts as 1 (--positive on the command line)"
        )
    return {value: int(each) for value, each in zip(values, read, strict=True)}


def decision_meanings(name: str, found: Iterable[str], accepted: object = None) -> dict[str, int]:
    """Say for each decision whether it is a rejection, 0, or an acceptance, 1.

    >>> decision_meanings("outcome", ["Approved", "declined"])
    {'Approved': 1, 'declined': 0}
    >>> decision_meanings("denied", ["1", "0"], accepted=0)
    {'1': 0, '0': 1}
    """
    values = list(found)
    if not values:
        raise InputError(f"the decision column {name!r} is missing for every row: some decisions must be known")
    if accepted is not None:
        return _said("accepted", "decision", name, values, accepted)
    read = _readings(values, TRUTH | DECISIONS)
    if any(each not in (0.0, 1.0) for each in read):
        raise InputError(
            f"the decision column {name!r} must be 0 or 1, true or false, yes or no, accepted or rejected, "
            f"got {listed(sorted(values))}: say which of them means accepted (--accepted on the command line)"
        )
    return {value: int(each) for value, each in zip(values, read, strict=True)}


def named(option: str, role: str, name: str, said: object) -> tuple[str, ...]:
    """Return the one or several values of a column that were said to count as 1, as words.

    >>> named("positive", "label", "status", ["ok", 1.0]), named("positive", "label", "status", True)
    (('ok', '1'), ('true',))
    """
    each = list(said) if isinstance(said, list | tuple | set | frozenset) else [said]
    words = [found for value in each if (found := word(value)) is not None]
    if not words or len(words) < len(each):
        raise InputError(f"{option} must be a {role} of the column {name!r}, or a list of them, got {said!r}")
    return tuple(dict.fromkeys(words))


def _said(option: str, role: str, name: str, values: Sequence[str], said: object) -> dict[str, int]:
    """Count those values as 1 that were said to, and all others as 0."""
    read, meanings = _readings(values, TRUTH), dict.fromkeys(values, 0)
    for wanted in named(option, role, name, said):
        meant = _reading(wanted, TRUTH)
        plain = wanted in ("true", "false") or meant == number(wanted) or {"true", "false"} & set(values)
        same = [
            value for value, each in zip(values, read, strict=True) if value == wanted or bool(plain and each == meant)
        ]
        if not same:
            raise InputError(
                f"{option} {wanted!r} is no {role} of the column {name!r}, whose {role}s are {listed(sorted(values))}"
            )
        meanings |= dict.fromkeys(same, 1)
    return meanings


def _readings(values: Sequence[str], words: Mapping[str, int]) -> list[float]:
    """Read each word as a number or as true or false; T, F and the like only if there is nothing but such words."""
    read = [_reading(value, words) for value in values]
    if all(each in (0.0, 1.0) for each in read):
        return read
    return [_reading(value, {"true": 1, "false": 0}) for value in values]


def _reading(value: str, words: Mapping[str, int]) -> float:
    return float(words[value.lower()]) if value.lower() in words else number(value)


def is_true(value: str) -> bool:
    """Whether a word means true, yes or 1."""
    return _reading(value, TRUTH) == 1.0


def in_words(name: str, meanings: Mapping[str, int], wanted: int) -> str:
    """Say which labels of a column count as 0 or as 1.

    >>> in_words("default", {"0": 1, "1": 0}, 1)
    'default = 0'
    >>> in_words("status", {"paid": 1, "late": 0, "lost": 0}, 0)
    'status = late or lost'
    """
    values = sorted((value for value, meaning in meanings.items() if meaning == wanted), key=natural)
    others = sorted((value for value, meaning in meanings.items() if meaning != wanted), key=natural)
    if len(values) > 3 or (not values and others and others != [str(1 - wanted)]):
        return f"{name} ≠ {' or '.join(others[:3])}" + (" …" if len(others) > 3 else "")
    return f"{name} = {' or '.join(values) or wanted}"


def group_in_words(columns: Sequence[str], group: str) -> str:
    """Name a group by its columns.

    >>> group_in_words(["sex"], "f"), group_in_words(["sex", "race"], "f · black")
    ('sex = f', 'sex = f · race = black')
    """
    values = group.split(" · ")
    if len(columns) != len(values):
        columns, values = [" × ".join(columns)], [group]
    return " · ".join(f"{column} = {value}" for column, value in zip(columns, values, strict=True))


def natural(name: str) -> tuple[int, float, str]:
    """Sort numbers by size and before words, and numbers within words by size.

    >>> sorted(["g10", "g2", "3", "20"], key=natural)
    ['3', '20', 'g2', 'g10']
    """
    value = number(name)
    if value == value:
        return (0, value, name)
    return (1, 0.0, re.sub(r"\d+", lambda found: found[0].zfill(20), name))
