"""Numbers: scores and weights as people write them, with decimal commas, thousands separators or percent signs.

Text is read as plain numbers (0.73, 1e-3) if it can be. Where it cannot, the whole column is looked at:

- percent signs: read if every value that is a number has one; ``73%`` is 0.73;
- commas: a decimal comma (``0,73``, ``1.234,5``, ``1 234,5``) or a thousands separator (``1,234.5``, ``1 234.5``),
  whichever all numbers of the column can be and some must be.

What could be either (``1,234`` and nothing but such), or is mixed, is not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairgate.errors import InputError
from fairgate.settings import Array

EXAMPLES = 8
"""Texts that are no number kept for a message."""

BLANK = "[ \u00a0\u2009\u202f'’]"
"""Between thousands, besides a point or a comma: blanks of any width, and apostrophes."""

MISSING = ("", "nan", "nat", "null", "none", "n/a", "#n/a", "<na>")
"""What is written where there is no value, in any case; NA may be the name of a group, but is no number or label."""

WHOLE = rf"([0-9]+|[1-9][0-9]{{0,2}}(({BLANK}[0-9]{{3}})+|(%s[0-9]{{3}})+))"
SHAPE = r"^[+-]?(%s(%s[0-9]*)?|%s[0-9]+)([eE][+-]?[0-9]+)?$"
SHAPES = {
    "plain": SHAPE % ("[0-9]+", r"\.", r"\."),
    "point": SHAPE % (WHOLE % ",", r"\.", r"\."),
    "comma": SHAPE % (WHOLE % r"\.", ",", ","),
}
"""What a number may look like: plain; with thousands separators; with a comma before the decimals."""


def number(text: str) -> float:
    """Read text as a plain number; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


@dataclass
class Written:
    """A column of numbers, read when all of it has been seen."""

    role: str  # score or weight
    name: str
    parts: list[Any] = field(default_factory=list)  # floats, or text of Arrow
    unread: list[str] = field(default_factory=list)  # some text that is no number
    note: str = ""  # how text was read, if not plainly
    hint: str = ""  # why it was not

    def add(self, column: Any) -> None:
        """Take in a column of Arrow, part of the whole."""
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            self.parts.append(column)
            return
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not (numeric or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise InputError(f"the {self.role} column {self.name!r} must be numbers, but is of type {kind}")
        self.parts.append(_floats(column.cast(pa.float64(), safe=False)))

    def read(self) -> list[Array]:
        """Return every part as floats, NaN where there is no number."""
        texts = [_trimmed(part) for part in self.parts if not isinstance(part, np.ndarray)]
        plain = [_plain(text) for text in texts]
        if all(found is not None for found in plain):
            return self._put_together([found for found in plain if found is not None])
        how = self._choose(texts)
        return self._put_together([self._convert(text, how) for text in texts])

    def _put_together(self, texts: Sequence[Array]) -> list[Array]:
        left = iter(texts)
        parts = [part if isinstance(part, np.ndarray) else next(left) for part in self.parts]
        self.parts = []
        return parts

    def _choose(self, texts: Sequence[Any]) -> str:
        """Say how to read text that is not all plain numbers: "plain", "comma" or "point", with "%" if in percent."""
        import pyarrow.compute as pc

        bare = [_bare(text) for text in texts]
        signs = ("comma", "point")
        fits = {sign: [pc.match_substring_regex(text, SHAPES[sign]) for text in bare] for sign in signs}
        either = [pc.or_(*pair) for pair in zip(*fits.values(), strict=True)]
        percent = [pc.ends_with(text, "%") for text in texts]
        signed = sum(_count(pc.and_(*pair)) for pair in zip(either, percent, strict=True))
        if 0 < signed < sum(map(_count, either)):
            self.hint = "some numbers have a percent sign and others have none: write all of them alike"
            return "plain"
        ending = "%" if signed else ""
        only = {
            sign: [pc.and_not(*pair) for pair in zip(fits[sign], fits[other], strict=True)]
            for sign, other in (("comma", "point"), ("point", "comma"))
        }
        sure = {sign: sum(map(_count, found)) for sign, found in only.items()}
        if sure["comma"] and sure["point"]:
            shown = " and ".join(repr(_first(texts, only[sign])) for sign in signs)
            self.hint = f"{shown} put comma and point to different uses: write all numbers alike, as in 1234.5"
            return "plain"
        unclear = [pc.and_(found, pc.match_substring(text, ",")) for found, text in zip(either, bare, strict=True)]
        if not any(sure.values()) and any(map(_count, unclear)):
            shown = _first(bare, unclear)
            self.hint = (
                f"{shown!r} could be {shown.replace(',', '')} or {shown.replace(',', '.')}: "
                "write numbers without thousands separators and with a decimal point"
            )
            return "plain"
        sign = "comma" if sure["comma"] else "point"
        self.note = self._told(texts, bare, fits[sign], sign, ending)
        return sign + ending

    def _told(self, texts: Sequence[Any], bare: Sequence[Any], fits: Sequence[Any], sign: str, ending: str) -> str:
        """Say how numbers that are not plain were read, by an example; nothing if all are."""
        import pyarrow.compute as pc

        strange = rf"^[^eE]*({BLANK}|,|%)" if sign == "point" else rf"^[^eE]*({BLANK}|[.,%])"
        where = [
            pc.and_(found, pc.match_substring_regex(text, strange)) for found, text in zip(fits, texts, strict=True)
        ]
        if not any(map(_count, where)):
            return ""
        shown = _first(texts, where)
        value = number(_first([_decimal(text, sign + ending) for text in bare], where))
        used = {
            "percent signs": "%" in shown,
            "a decimal comma": sign == "comma" and "," in shown,
            "thousands separators": any(
                each in shown for each in " \u00a0\u2009\u202f'’" + (".", ",")[sign == "point"]
            ),
        }
        names = " and ".join(name for name, there in used.items() if there)
        return f"The {self.role} column {self.name!r} is written with {names}: {shown!r} was read as {value:g}."

    def _convert(self, text: Any, how: str) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        bare = _bare(text) if how.endswith("%") else text
        fits = pc.match_substring_regex(bare, SHAPES[how.removesuffix("%")])
        if how.endswith("%"):
            fits = pc.and_not(fits, pc.match_substring_regex(bare, "[eE]"))
        values = _floats(pc.if_else(fits, _decimal(bare, how), pa.scalar(None, text.type)).cast(pa.float64()))
        strange = np.flatnonzero(np.asarray(pc.invert(fits).fill_null(False)))
        for place, written in zip(strange, text.take(pa.array(strange)).to_pylist(), strict=True):
            values[place] = np.nan if how.startswith("comma") else number(written)  # such as inf
            if np.isnan(values[place]) and len(self.unread) < EXAMPLES and written not in self.unread:
                self.unread.append(written)
        return values


def _trimmed(column: Any) -> Any:
    """Return text without blanks around it, null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    text = pc.utf8_trim_whitespace(column)
    absent = pc.is_in(pc.utf8_lower(text), value_set=pa.array((*MISSING, "na"), text.type))
    return pc.if_else(absent, pa.scalar(None, text.type), text)


def _plain(text: Any) -> Array | None:
    """Read text as plain numbers; None if some is not."""
    import pyarrow as pa

    try:
        return _floats(text.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None


def _bare(text: Any) -> Any:
    """Return text without a percent sign at its end."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(text, rf"({BLANK})?%$", "")


def _decimal(text: Any, how: str) -> Any:
    """Write numbers plainly that have decimal commas or thousands separators; those in percent as e-2."""
    import pyarrow.compute as pc

    if how == "plain":
        return pc.utf8_ltrim(text, "+")
    comma = how.startswith("comma")
    joined = pc.replace_substring_regex(text, rf"{BLANK}|\." if comma else rf"{BLANK}|,", "")
    joined = pc.utf8_ltrim(pc.replace_substring(joined, ",", ".") if comma else joined, "+")
    return pc.replace_substring_regex(joined, "^([^eE]+)$", r"\1e-2") if how.endswith("%") else joined


def _count(found: Any) -> int:
    import pyarrow.compute as pc

    return int(pc.sum(found).as_py() or 0)


def _first(texts: Sequence[Any], where: Sequence[Any]) -> str:
    """Return the first text of those marked."""
    return next(str(text.filter(found)[0].as_py()) for text, found in zip(texts, where, strict=True) if _count(found))


def _floats(column: Any) -> Array:
    return np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64)  # a null is NaN
