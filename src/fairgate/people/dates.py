"""Dates: the day of each row, and the periods of a history.

Days are read from dates and timestamps, from text that begins as ISO 8601 does (2024-01-31, also with a time of day,
with slashes, or of a month only: 2024-01), and from whole numbers such as 20240131. Text with the year at its end
(31.01.2024, 01/31/2024) is read if the whole column is written so and leaves no doubt: some number above 12 shows which
of the first two is the day, and none is above 12 in the other place. Else (03/04/2024 and the like alone) it is not.
A year alone (2019) is read if the whole column is years. No usual period is shorter than what is written: a month of a
column of months, a year of one of years.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.people.numbers import EXAMPLES, MISSING

Days = NDArray[np.int32]

NEVER = np.iinfo(np.int32).min
"""Day of a row that has none."""

PERIODS = 400
"""Most periods of a history: a year of days, and some."""

USUAL = (6, 60)
"""Fewest and most periods of a history if nobody says how long they are."""

ISO = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?:[T ].*)?$")
COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\.0+)?$")
YEAR = re.compile(r"((?:1[5-9]|20|21)\d\d)(?:\.0+)?$")
LOCAL = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[T ].*)?$")

PENDING = NEVER + 1
"""Dates that the whole column must be seen for are numbered from here, long before any day there is."""

FIRST_DAY = datetime.date(1, 1, 1).toordinal() - datetime.date(1970, 1, 1).toordinal()


class Dates:
    """A column of days, read part by part."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.unread: list[str] = []  # some values that are no date
        self.note = ""  # how dates were read, if the year is at their end
        self.year_first = False  # whether some are written with the year first
        self.with_day = False  # whether some are written with their day
        self.local: dict[tuple[int, int, int], int] = {}  # dates with the year at their end, by their number
        self.examples: list[str] = []
        self.years: list[str] = []  # some that are a year alone

    @property
    def shortest(self) -> str:
        """Shortest period that dates written like these can be told apart by: "day", "month" or "year"."""
        return "day" if self.with_day else "month" if self.year_first else "year" if self.local else "day"

    def days(self, column: Any) -> Days:
        """Return the days since 1970 of a whole column of Arrow; `NEVER` where there is none."""
        return self.settle([self.add(column)])[0]

    def settle(self, parts: Sequence[Days]) -> list[Days]:
        """Put days in place of the numbers of :meth:`add`, when all parts of the column have been seen."""
        if not self.local:
            return list(parts)
        lookup, settled = self._looked_up(), [part.copy() for part in parts]
        for part in settled:
            numbered = part < FIRST_DAY
            part[numbered] = lookup[part[numbered].astype(np.int64) - NEVER]
        return settled

    def _looked_up(self) -> Days:
        """Return the day of every number from `NEVER` on; none is known if the column leaves a doubt."""
        if not self.year_first and not any(first for first, _, _ in self.local):
            return np.array([NEVER, *(_number(year, 1, 1) for _, _, year in self.local)], dtype=np.int32)
        late = [any(date[place] > 12 for date in self.local) for place in (0, 1)]
        if self.year_first or late[0] == late[1]:
            self.unread = (self.examples + self.unread + self.years)[:EXAMPLES]
            return np.full(1 + len(self.local), NEVER, dtype=np.int32)
        self.unread = (self.unread + self.years)[:EXAMPLES]
        found = [
            _number(year, *((second, first) if late[0] else (first, second))) for first, second, year in self.local
        ]
        if NEVER not in found:
            order = "the day" if late[0] else "the month"
            read = datetime.date(1970, 1, 1) + datetime.timedelta(days=found[0])
            self.note = f"The date column {self.name!r} has {order} first: {self.examples[0]!r} was read as {read}."
        return np.array([NEVER, *found], dtype=np.int32)

    def add(self, column: Any) -> Days:
        """Return the days of a part of the column, or numbers for :meth:`settle`."""
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        kind = column.type
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            self.with_day = True
            return np.asarray(column.cast(pa.date32(), safe=False).cast(pa.int32()).fill_null(NEVER))
        if (
            pa.types.is_time(kind)
            or pa.types.is_duration(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_nested(kind)
        ):
            raise InputError(f"the date column {self.name!r} must be dates, but is of type {kind}")
        coded = column.dictionary_encode()
        values = coded.dictionary.to_pylist()
        lookup = np.array([self._day(value) for value in values] + [NEVER], dtype=np.int32)
        return lookup[np.asarray(coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False), dtype=np.int64)]

    def _day(self, value: object) -> int:
        text = str(value).strip()
        if text.lower() in (*MISSING, "na"):
            return NEVER
        if year := YEAR.match(text):
            return self._wait((0, 0, int(year[1])), text, self.years)
        if local := LOCAL.match(text):
            self.with_day = True
            return self._wait((int(local[1]), int(local[3]), int(local[4])), text, self.examples)
        found = ISO.match(text) or COMPACT.match(text)
        self.year_first |= found is not None
        self.with_day |= found is not None and found[3] is not None
        day = _number(*(int(part or 1) for part in found.groups())) if found else NEVER
        if day == NEVER and len(self.unread) < EXAMPLES:
            self.unread.append(text)
        return day

    def _wait(self, date: tuple[int, int, int], text: str, examples: list[str]) -> int:
        """Number a date that the whole column must be seen for; a year alone is day 0 of month 0."""
        if date not in self.local and len(examples) < EXAMPLES:
            examples.append(text)
        return PENDING + self.local.setdefault(date, len(self.local))


def _number(year: int, month: int, day: int) -> int:
    """Return the days since 1970; `NEVER` if there is no such day."""
    try:
        return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days
    except ValueError:
        return NEVER


def period_starts(days: Days, period: str) -> Days:
    """Return the first day of the period each day lies in; weeks begin on Monday.

    >>> period_starts(np.array([0, 4, 5, 40], dtype=np.int32), "week").tolist()
    [-3, 4, 4, 39]
    """
    if period == "day":
        return days
    if period == "week":
        return np.asarray((days + 3) // 7 * 7 - 3, dtype=np.int32)
    step = {"month": 1, "quarter": 3, "year": 12}[period]
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)  # since January 1970
    return np.asarray((months // step * step).astype("datetime64[M]").astype("datetime64[D]"), dtype=np.int32)


def period_name(day: int, period: str) -> str:
    """Name the period that begins on a day.

    >>> [period_name(19723, period) for period in LENGTHS]
    ['2024-01-01', '2024-W01', '2024-01', '2024-Q1', '2024']
    """
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
    if period == "week":
        year, week, _ = date.isocalendar()
        return f"{year}-W{week:02d}"
    names = {"day": f"{date}", "month": f"{date:%Y-%m}", "quarter": f"{date:%Y}-Q{(date.month + 2) // 3}"}
    return names.get(period, f"{date.year}")


LENGTHS = ("day", "week", "month", "quarter", "year")
"""Lengths a period may have."""


def count_periods(days: Days, period: str) -> int:
    """Return how many periods there are from the first day to the last."""
    first, last = (int(period_starts(np.array([day], dtype=np.int32), period)[0]) for day in (days.min(), days.max()))
    if period in ("day", "week"):
        return (last - first) // (1 if period == "day" else 7) + 1
    months = [np.datetime64(day, "D").astype("datetime64[M]").astype(np.int64) for day in (first, last)]
    return int(months[1] - months[0]) // {"month": 1, "quarter": 3, "year": 12}[period] + 1


def usual_period(days: Days, shortest: str = "day") -> str:
    """Choose how long a period is: a month; a quarter or a year if that makes too many, a week or a day if too few.

    >>> [usual_period(np.array([0, days], dtype=np.int32)) for days in (10, 100, 1000, 4000, 40000)]
    ['day', 'week', 'month', 'quarter', 'year']
    >>> [usual_period(np.array([0, 100], dtype=np.int32), shortest) for shortest in ("month", "year")]
    ['month', 'year']
    """
    return max(_by_number(days), shortest, key=LENGTHS.index)


def _by_number(days: Days) -> str:
    fewest, most = USUAL
    if count_periods(days, "month") > most:
        return "quarter" if count_periods(days, "quarter") <= most else "year"
    return next((each for each in ("month", "week") if count_periods(days, each) >= fewest), "day")


def periods(
    name: str, days: Days, period: str | None, shortest: str = "day"
) -> tuple[str, tuple[str, ...], NDArray[np.int64]]:
    """Return the length and names of the periods, without gaps, and the day each begins; `days` are those known."""
    chosen = usual_period(days, shortest) if period is None else period
    if LENGTHS.index(chosen) < LENGTHS.index(shortest):
        raise InputError(
            f"the date column {name!r} has no more than the {shortest}: a period cannot be a {chosen}, choose "
            f"{' or '.join(LENGTHS[LENGTHS.index(shortest) :])} (--period)"
        )
    total = count_periods(days, chosen)
    if total > PERIODS:
        first, last = (period_name(int(day), "day") for day in (days.min(), days.max()))
        longer = LENGTHS[LENGTHS.index(chosen) + 1 :]
        remedy = f"choose a longer period, such as {longer[0]}" if longer else "look for a wrong year in it"
        raise InputError(
            f"the date column {name!r} goes from {first} to {last}, which is {total} periods of a {chosen}, and at "
            f"most {PERIODS} are counted: {remedy} (--period)"
        )
    begins = [int(period_starts(np.array([days.min()], dtype=np.int32), chosen)[0])]
    while len(begins) < total:
        within = np.array([begins[-1] + {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[chosen]])
        begins.append(int(period_starts(within.astype(np.int32), chosen)[0]))
    return chosen, tuple(period_name(day, chosen) for day in begins), np.array(begins)
