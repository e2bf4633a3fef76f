"""Subjects: people behind applications, known within a period by a pseudonym that is never stored as it came.

Two keys make that possible. The key of pseudonyms, random and kept by the gate until its period is over, turns a
caller's pseudonym into the one that is stored; nothing reveals it. The key of draws, made of the gate's secret, turns
the stored pseudonym into the lottery number; it is committed to when it begins and revealed when it ends. A reader of
the log can then check the numbers, and cannot find the people.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from fairgate.live.clock import Clock, days_between, is_over

DAY = 86400.0
"""Seconds."""

LENGTH = 32
"""Characters of a stored pseudonym: 128 bits, so that two subjects of a gate never meet by chance."""


class Period(NamedTuple):
    """Rounds in which a subject is decided on once; each event that opens one has these fields."""

    since: int  # the first round that the key of draws is for
    began: str  # when; a new secret of the gate brings a new key of draws and not a new period
    commitment: str  # to the key of draws
    pseudonyms: str  # to the key of pseudonyms

    @classmethod
    def read(cls, plain: dict[str, Any]) -> Self:
        """Return the period that the body of an event has under `subjects`."""
        return cls(*(plain[name] for name in cls._fields))


def following(
    last: Period | None, rotated: bool, number: int, at: str, days: float, counted: float | None
) -> tuple[int, str]:
    """Return `since` and `began` of the period of a round that opens, from the period of the round before.

    A period is over once its time has passed by the log, or `counted` days, which go on if it began while the clock
    was ahead. A clock that goes back ends none. Without `counted`, as in logs of earlier rules, one did.
    """
    if last is None:
        return number, at
    if counted is None:
        over = is_over(last.began, at, days * DAY)
    else:
        over = days_between(last.began, at) >= days or counted >= days
    if over:
        return number, at
    return (number if rotated else last.since), last.began


def counted_days(clock: Clock | None, at: str) -> float | None:
    """Return the days of the period that will have been counted at a time; None in logs that do not count them."""
    return None if clock is None or clock.rule == 1 else clock.period_days(at)


def draw_key(secret: bytes, since: int) -> bytes:
    """Return the key of draws that a period begins with in a round, from the secret of the gate."""
    return hmac.digest(secret, f"subjects/{since}".encode(), "sha256")


def commitment(key: bytes) -> str:
    """Return what commits to a key."""
    return hashlib.sha256(key).hexdigest()


def hidden(key: bytes, subjects: Sequence[str | None]) -> list[str]:
    """Return pseudonyms as they are stored, "" for none.

    >>> hidden(b"key", ["p-1", None])
    ['27a97b25a780760fdb7d2c61b744f346', '']
    """
    return ["" if each is None else hmac.digest(key, each.encode(), "sha256").hex()[:LENGTH] for each in subjects]
