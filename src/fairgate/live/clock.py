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


@dataclass
class Clock:
    """Days that were seen to pass, as two waits count them: that for any label, and that for all labels of a round.

    Between two events at most half of such a wait passes, forwards or back. So a clock that jumps ahead ends no wait,
    and once it is put right, nothing has changed. A wait takes longer if events are rarer than half of it.

    >>> clock = Clock.begin("2026-01-01T00:00:00+00:00", quiet=7.0, due=30.0)
    >>> clock.open(0)
    >>> for at in ("2026-01-02T00:00:00+00:00", "2027-01-02T00:00:00+00:00", "2026-01-02T00:00:00+00:00"):
    ...     clock.step(at)
    ...     clock.quiet_days(0), clock.due_days(0)
    (1.0, 1.0)
    (4.5, 16.0)
    (1.0, 1.0)
    """

    at: str  # of the last event
    most: tuple[float, float]  # days that pass between two events, by wait
    now: tuple[float, float] = (0.0, 0.0)  # days since the clock began, by wait
    told: float = 0.0  # when the last label came or the mode was set, as the first wait counts
    rounds: dict[int, tuple[float, float]] = field(default_factory=dict)  # when rounds were opened

    @classmethod
    def begin(cls, at: str, *, quiet: float | None, due: float) -> Self:
        """Begin at a time, with the days that both waits take."""
        return cls(at, ((due if quiet is None else quiet) / 2, due / 2))

    def step(self, at: str) -> None:
        """Go on to the time of the next event."""
        try:
            days = days_between(self.at, at)
        except (TypeError, ValueError):
            raise InputError(f"its time must be a date and a time with their zone, got {at!r}") from None
        passed = [max(-most, min(days, most)) for most in self.most]
        self.now = self.now[0] + passed[0], self.now[1] + passed[1]
        self.at = at

    def tell(self) -> None:
        """Note that a label came, or that the mode was set."""
        self.told = self.now[0]

    def open(self, number: int) -> None:
        """Note that a round was opened."""
        self.rounds[number] = self.now

    def keep(self, numbers: Collection[int]) -> None:
        """Forget all rounds but these."""
        self.rounds = {number: at for number, at in self.rounds.items() if number in numbers}

    def quiet_days(self, number: int) -> float:
        """Return the days since a round was opened in which no label came and no mode was set."""
        return self.now[0] - max(self.told, self.rounds[number][0])

    def due_days(self, number: int) -> float:
        """Return the days since a round was opened."""
        return self.now[1] - self.rounds[number][1]

    def save(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = asdict(self)
        return {**plain, "rounds": [[number, *at] for number, at in self.rounds.items()]}

    @classmethod
    def load(cls, saved: dict[str, Any]) -> Self:
        """Return the clock that :meth:`save` gave."""
        rounds = {number: (quiet, due) for number, quiet, due in saved["rounds"]}
        return cls(saved["at"], tuple(saved["most"]), tuple(saved["now"]), saved["told"], rounds)
