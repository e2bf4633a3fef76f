"""Values: what the cells of a table mean, numbers for scores and words for labels and groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.settings import Array

LISTED = 8
"""Names or values listed in a message."""

MISSING = ("", "nan", "null", "none", "n/a", "#n/a", "<na>")
"""What is written where there is no value, in any case; NA may be the name of a group, but is no label."""


def listed(values: Sequence[object]) -> str:
    """List some values for a message."""
    more = f" … ({len(values)} in all)" if len(values) > LISTED else ""
    return ", ".join(repr(value)[:60] for value in values[:LISTED]) + more


def as_numbers(name: str, column: Any) -> tuple[Array, list[str]]:
    """Turn a column of Arrow into floats, NaN where there is no number; also return some text that is none."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        import pyarrow.compute as pc

        written = pc.utf8_trim_whitespace(column)
        absent = pc.is_in(pc.utf8_lower(written), value_set=pa.array((*MISSING, "na"), written.type))
        try:
            return _floats(pc.if_else(absent, pa.scalar(None, written.type), written).cast(pa.float64())), []
        except pa.ArrowInvalid:
            return _parse(column.to_pylist())
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not (numeric or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
        raise InputError(f"the score column {name!r} must be numbers, but is of type {kind}")
    return _floats(column.cast(pa.float64(), safe=False)), []


def _floats(column: Any) -> Array:
    return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)  # a null is NaN


def _parse(texts: Sequence[str | None]) -> tuple[Array, list[str]]:
    values = np.array([np.nan if text is None else _number(text) for text in texts])
    unread = [text for text, value in zip(texts, values, strict=True) if np.isnan(value) and word(text) is not None]
    return values, [text for text in dict.fromkeys(unread) if text is not None][:LISTED]


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
                raise InputError(
                    f"the {self.role} column {self.name!r} has more than {self.limit} different values, such as "
                    f"{listed(list(self.found)[:3])}: choose a column with few"
                )
            self.found[text] = len(self.found)
        return self.found[text]


def word(value: object) -> str | None:
    """Write a value of a table as a word, the same for every kind of file; None if it is missing.

    >>> [word(value) for value in (1, 1.0, "1.0", True, " f ", 0.5, float("nan"), "", None, "NULL", "NA")]
    ['1', '1', '1', 'true', 'f', '0.5', None, None, None, None, 'NA']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if value != value else str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    text = "" if value is None else str(value).strip()
    return None if text.lower() in MISSING else re.sub(r"^(-?\d+)\.0+$", r"\1", text)


def label_meanings(name: str, found: Iterable[str], positive: object = None) -> dict[str, int]:
    """Say for each label whether it counts as 0 or 1.

    >>> label_meanings("repaid", ["1", "0.0"])
    {'1': 1, '0.0': 0}
    >>> label_meanings("repaid", ["yes", "no", "late"], positive="yes")
    {'yes': 1, 'no': 0, 'late': 0}
    """
    values = list(found)
    if not values:
        raise InputError(f"the label column {name!r} is missing for every row: some people's label must be known")
    if positive is not None:
        wanted = word(positive)
        if wanted is None:
            raise InputError(f"positive must be a label of the column {name!r}, got {positive!r}")
        meanings = {value: int(_same(value, wanted)) for value in values}
        if not any(meanings.values()):
            raise InputError(
                f"positive {wanted!r} is no label of the column {name!r}, whose labels are {listed(sorted(values))}"
            )
        return meanings
    if any(_meaning(value) not in (0.0, 1.0) for value in values):
        raise InputError(
            f"the label column {name!r} must be 0 or 1, got {listed(sorted(values))}: "
            "say which of them counts as 1 (--positive on the command line)"
        )
    return {value: int(_meaning(value)) for value in values}


def _meaning(value: str) -> float:
    """Read a label as a number, or as true or false; NaN if it is neither."""
    return float(value.lower() == "true") if value.lower() in ("true", "false") else _number(value)


def _same(value: str, wanted: str) -> bool:
    """Whether two words mean the same label: as numbers, or as readers of files that take yes and no for truth do."""
    truth = {"yes": "true", "y": "true", "t": "true", "no": "false", "n": "false", "f": "false"}
    if value in ("true", "false") and wanted.lower() in truth:
        return value == truth[wanted.lower()]
    return value == wanted or _meaning(value) == _meaning(wanted)


def natural(name: str) -> tuple[int, float, str]:
    """Sort numbers by size and before words, and numbers within words by size.

    >>> sorted(["g10", "g2", "3", "20"], key=natural)
    ['3', '20', 'g2', 'g10']
    """
    number = _number(name)
    if number == number:
        return (0, number, name)
    return (1, 0.0, re.sub(r"\d+", lambda found: found[0].zfill(20), name))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
