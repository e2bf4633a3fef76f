"""Clock: how much time has passed by the log, whose times come from a clock that may jump and be put right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from fairgate.errors import InputError


def days_between(since: str, until: str) -> float:
    """Return the days from one time to another."""
    return (datetime.fromisoformat(until) - datetime.fromisoformat(since)).total_seconds() / 86400.0


def is_over(since: str, until: str, seconds: float) -> bool:
    """Whether so many seconds have passed; also if a clock that was so far ahead has been put right."""
    return abs(days_between(since, until)) * 86400.0 >= seconds


RULE = 2
"""How time passes by logs that begin now; a log goes by an earlier rule until an event says this one."""

QUIET, DUE, PERIOD = range(3)
"""Waits: for any label, for all labels of a round, for the end of a period of subjects."""

Moment = tuple[tuple[float, int], ...]
"""By wait: days since the clock began, and how many leaps ahead there were, less those back."""


@dataclass
class Clock:
    """Days that were seen to pass, as each wait counts them.

    Between two events at most half of a wait passes, forwards or back. A longer time is a leap: a clock that
    jumped, or a time in which nothing happened. Which of them cannot be told, so one leap of a wait is left out, and a
    leap back takes one ahead away. So one jump ends no wait earlier than its time, and once it is put right, nothing
    has changed. A wait takes longer if events are rarer than half of it.

    Rule 1, of earlier logs, left no leap out.

    >>> clock = Clock.begin("2026-01-01T00:00:00+00:00", quiet=7.0, due=30.0)
    >>> clock.open(0)
    >>> for at in ("2026-01-02T00:00:00+00:00", "2027-01-02T00:00:00+00:00", "2026-01-03T00:00:00+00:00"):
    ...     clock.step(at)
    ...     clock.quiet_days(0), clock.due_days(0)
    (1.0, 1.0)
    (1.0, 1.0)
    (1.0, 1.0)
    """

    at: str  # of the last event
    most: tuple[float, ...]  # days that pass between two events, by wait
    rule: int
    now: Moment
    told: Moment  # when the last label came or the mode was set
    rounds: dict[int, Moment] = field(default_factory=dict)  # when rounds were opened
    began: str = ""  # the period of subjects, by the time at which it began
    period: Moment = ()  # the same, as its wait counts

    @classmethod
    def begin(cls, at: str, *, quiet: float | None, due: float, period: float | None = None, rule: int = RULE) -> Self:
        """Begin at a time, with the days that the waits take."""
        waits = (due if quiet is None else quiet, due, *([] if rule == 1 else [due if period is None else period]))
        start = ((0.0, 0),) * len(waits)
        return cls(at, tuple(each / 2 for each in waits), rule, start, start)

    def step(self, at: str) -> None:
        """Go on to the time of the next event."""
        self.now, self.at = self._stepped(at), at

    def _stepped(self, at: str) -> Moment:
        """Return what is counted when the next event comes at a time."""
        try:
            days = days_between(self.at, at)
        except (TypeError, ValueError):
            raise InputError(f"its time must be a date and a time with their zone, got {at!r}") from None
        return tuple(
            (before + max(-most, min(days, most)), leaps + (days > most) - (days < -most))
            for (before, leaps), most in zip(self.now, self.most, strict=True)
        )

    def _since(self, wait: int, then: Moment, now: Moment | None = None) -> float:
        """Return the days of a wait since a moment, without one leap."""
        (before, old), (days, leaps) = then[wait], (now or self.now)[wait]
        left_out = 0 if self.rule == 1 else max(-1, min(leaps - old, 1))
        return days - before - left_out * self.most[wait]

    def tell(self) -> None:
        """Note that a label came, or that the mode was set."""
        self.told = self.now

    def open(self, number: int) -> None:
        """Note that a round was opened."""
        self.rounds[number] = self.now

    def keep(self, numbers: Collection[int]) -> None:
        """Forget all rounds but these."""
        self.rounds = {number: at for number, at in self.rounds.items() if number in numbers}

    def quiet_days(self, number: int) -> float:
        """Return the days since a round was opened in which no label came and no mode was set."""
        return min(self._since(QUIET, then) for then in (self.told, self.rounds[number]))

    @property
    def told_days(self) -> float:
        """The days in which no label came and no mode was set."""
        return self._since(QUIET, self.told)

    def due_days(self, number: int) -> float:
        """Return the days since a round was opened."""
        return self._since(DUE, self.rounds[number])

    def begin_period(self, began: str) -> None:
        """Note which period of subjects a round is opened in."""
        if self.rule > 1 and began != self.began:
            self.began, self.period = began, self.now

    def period_days(self, at: str) -> float:
        """Return the days of the period of subjects that will have been counted at a time."""
        return self._since(PERIOD, self.period, self._stepped(at)) if self.period else 0.0

    def ago(self, quiet: float, due: float) -> Moment:
        """Return the moment so many days before now, by the two waits that may begin before the clock does."""
        back = (quiet, due, 0.0)
        return tuple((days - back[wait], leaps) for wait, (days, leaps) in enumerate(self.now))

    def opened_ago(self, number: int) -> tuple[float, float]:
        """Return the days since a round was opened, by the same two waits."""
        return self._since(QUIET, self.rounds[number]), self._since(DUE, self.rounds[number])

    def save(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        if self.rule == 1:
            now, *rounds = ([days for days, _ in each] for each in (self.now, *self.rounds.values()))
            opened = [[number, *days] for number, days in zip(self.rounds, rounds, strict=True)]
            return {"at": self.at, "most": self.most, "now": now, "told": self.told[QUIET][0], "rounds": opened}
        return {**asdict(self), "rounds": [[number, at] for number, at in self.rounds.items()]}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Self:
        """Return the clock that :meth:`save` gave."""
        at, most = saved["at"], tuple(saved["most"])
        if "rule" not in saved:
            rounds = {number: _without_leaps(days) for number, *days in saved["rounds"]}
            return cls(at, most, 1, _without_leaps(saved["now"]), ((saved["told"], 0),) * 2, rounds)
        now, told, period = (_moment(saved[name]) for name in ("now", "told", "period"))
        rounds = {number: _moment(each) for number, each in saved["rounds"]}
        return cls(at, most, saved["rule"], now, told, rounds, saved["began"], period)


def _without_leaps(days: list[float]) -> Moment:
    return tuple((each, 0) for each in days)


def _moment(plain: list[list[Any]]) -> Moment:
    return tuple((days, leaps) for days, leaps in plain)
