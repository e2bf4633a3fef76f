"""Times: columns of dates as days, and the periods that days lie in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name
from fairgate.people.values import LISTED, word
from fairgate.settings import Array

PERIODS = ("day", "week", "month", "quarter", "year")

FORMATS = ("%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%Y-%m", "%d %b %Y", "%b %Y")
"""How dates may be written besides ISO 8601."""


def as_days(name: str, column: Any) -> tuple[Array, list[str]]:
    """Turn a column of Arrow into days since 1970, NaN where there is no date; also return some text that is none.

    >>> import pyarrow as pa
    >>> as_days("when", pa.array(["1970-01-02", "03.01.1970", "soon", None]))
    (array([ 1.,  2., nan, nan]), ['soon'])
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _days(column), []
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (text or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise InputError(f"the date column {name!r} must be dates such as 2024-03-31, but is of type {kind}")
    if text:
        try:
            return _days(column.cast(pa.timestamp("us"))), []  # many times as fast, if all are written as ISO 8601
        except pa.ArrowInvalid:
            pass
    coded = column.cast(pa.string()).dictionary_encode()
    found = [_read(each) for each in coded.dictionary.to_pylist()]
    lookup = np.array([*(np.nan if each is None else each for each in found), np.nan])
    strange = [
        each
        for each, day in zip(coded.dictionary.to_pylist(), found, strict=True)
        if day is None and word(each) is not None
    ]
    places = np.asarray(coded.indices.fill_null(len(found)).to_numpy(zero_copy_only=False), dtype=np.int64)
    return lookup[places], strange[:LISTED]


def _days(column: Any) -> Array:
    import pyarrow as pa

    stamps = column.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
    days = stamps.astype("datetime64[us]").astype(np.float64) / 86_400_000_000.0
    return np.where(np.isnat(stamps), np.nan, days)


def _read(text: str) -> float | None:
    """Read a date, or a date and time, as days since 1970."""
    text = text.strip()
    try:
        return _since(datetime.fromisoformat(text))
    except ValueError:
        pass
    for form in FORMATS:
        try:
            return _since(datetime.strptime(text, form))
        except ValueError:
            continue
    return None


def _since(moment: datetime) -> float:
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400.0


def period_of(days: Array, period: str) -> tuple[NDArray[np.int32], list[str]]:
    """Return the number of the period that each day lies in, and the names of all periods from first to last.

    >>> place, names = period_of(np.array([0.0, 40.5, 59.0]), "month")
    >>> place, names
    (array([0, 1, 2], dtype=int32), ['1970-01', '1970-02', '1970-03'])
    """
    if period not in PERIODS:
        raise unknown_name("period", period, PERIODS)
    first = math.floor(days.min())
    every = np.arange(first, math.floor(days.max()) + 1)  # each day once, and not each row
    if period == "week":
        numbers = (every + 3) // 7  # weeks begin on Monday, and 1970 on a Thursday
    else:
        unit = {"day": "D", "month": "M", "quarter": "M", "year": "Y"}[period]
        numbers = every.astype("datetime64[D]").astype(f"datetime64[{unit}]").astype(np.int64)
        numbers = numbers // 3 if period == "quarter" else numbers
    names = [_name(each, period) for each in range(int(numbers[0]), int(numbers[-1]) + 1)]
    return (numbers - numbers[0]).astype(np.int32)[np.floor(days - first).astype(np.int32)], names


def _name(number: int, period: str) -> str:
    if period == "week":
        return str(np.datetime64(7 * number - 3, "D"))
    if period == "quarter":
        return f"{1970 + number // 4}-Q{number % 4 + 1}"
    kind = {"day": "datetime64[D]", "month": "datetime64[M]", "year": "datetime64[Y]"}[period]
    return str(np.array(number).astype(kind))


def usual_period(days: Array) -> str:
    """Return the longest period of which these days span at least twelve, else a day.

    >>> usual_period(np.array([0.0, 400.0])), usual_period(np.array([0.0, 100.0]))
    ('month', 'week')
    """
    span = float(days.max() - days.min())
    lengths: Sequence[tuple[str, float]] = (("month", 30.4), ("week", 7.0))
    return next((name for name, length in lengths if span >= 12 * length), "day")
