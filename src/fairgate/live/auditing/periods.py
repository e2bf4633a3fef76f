"""Periods: whether the keys that draws of subjects are made of began, ended and were revealed as they had to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairgate.live.auditing.chunks import Parsed
from fairgate.live.auditing.log import Log
from fairgate.live.spec import Spec
from fairgate.live.subjects import Period, commitment, draw_key, following


class Periods:
    """The period of each round; it takes in the events that open rounds and change secrets, in order."""

    def __init__(self, log: Log) -> None:
        self.now: Period | None = None
        self.key: bytes | None = None  # of draws in the round that was opened last, if it is known
        self.waiting: int | None = None  # the round from which on keys of draws are not known
        self._rotated = False
        self._revealed = {commitment(key): key for key in _revealed(log)}

    def open(self, parsed: Parsed, spec: Spec, secret: bytes | None, counted: float | None) -> str:
        """Take in a round that opens, and return its fault.

        `secret` is the gate's at that time, if it is known; `counted` are the days of the period, if they are counted.
        """
        event, data = parsed
        if spec.subjects is None:
            return "it has a period of subjects, and the gate does not remember subjects" if "subjects" in data else ""
        last, now = self.now, Period.read(data["subjects"])
        right = following(last, self._rotated, event.round, event.at, spec.subjects.days, counted)
        key = None if secret is None else draw_key(secret, now.since)
        self.key = self._revealed.get(now.commitment, key)
        self.waiting = None if self.key is not None else self.waiting if last == now else event.round
        due = last is not None and last.since != now.since and not self._rotated
        wrong = self._reveals(data["subjects"]["revealed"], due)
        self.now, self._rotated = now, False
        if (now.since, now.began) != right:
            return f"its period of subjects is {list(now[:2])}, and by the days of the gate it is {list(right)}"
        if last is not None and now.began == last.began and now.pseudonyms != last.pseudonyms:
            return "it commits to another key of pseudonyms within a period"
        if last is not None and now.since == last.since and now.commitment != last.commitment:
            return "it commits to another key of subjects' draws within a period"
        if key is not None and commitment(key) != now.commitment:
            self.key = None
            return "its commitment is not that of the key of subjects' draws which the gate's secret gives"
        return wrong

    def rotate(self, parsed: Parsed) -> str:
        """Take in a new secret of the gate, and return its fault."""
        wrong = self._reveals(parsed.data["revealed"], self.now is not None and not self._rotated)
        self._rotated = True
        return wrong

    def pseudonyms(self, key: bytes | None) -> str:
        """Return the fault of the stored key of pseudonyms."""
        if (None if key is None else commitment(key)) != (None if self.now is None else self.now.pseudonyms):
            return "the key of pseudonyms that is stored is not the one that its period is committed to"
        return ""

    def _reveals(self, given: Any, due: bool) -> str:
        """Return the fault of the key that an event reveals: that of the period that ends, if one does."""
        if not due or self.now is None:
            return "" if given is None else "it reveals a key of subjects' draws that had not ended"
        if given is None or commitment(bytes.fromhex(given)) != self.now.commitment:
            return "it does not reveal the key of subjects' draws that was committed to when the period began"
        return ""


def _revealed(log: Log) -> Iterator[bytes]:
    """Yield the keys of draws that a log reveals."""
    for kind in ("opened", "rotated"):
        for event in log.events(kind):
            try:
                data = event.data["subjects"] if kind == "opened" else event.data
                yield bytes.fromhex(data["revealed"])
            except (KeyError, TypeError, ValueError):
                continue  # the event itself is checked later
