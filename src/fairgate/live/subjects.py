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

from fairgate.live.clock import is_over

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


def following(last: Period | None, rotated: bool, number: int, at: str, days: float) -> tuple[int, str]:
    """Return `since` and `began` of the period of a round that opens, from the period of the round before."""
    if last is None or is_over(last.began, at, days * DAY):
        return number, at
    return (number if rotated else last.since), last.began


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
