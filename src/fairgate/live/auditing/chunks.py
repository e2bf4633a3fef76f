"""Chunks: events with their bodies, so many at a time that their rows fit into little memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from fairgate.live.auditing.log import Log
from fairgate.live.events import Event
from fairgate.reading import parse_json

EVENTS = 2000
PEOPLE = 20_000
"""Most events and people of a chunk, but that it has at least one event."""


class Parsed(NamedTuple):
    """An event with its body as plain data; empty if it is none."""

    event: Event
    data: dict[str, Any]

    @property
    def sound(self) -> bool:
        """Whether the columns of the event hold what they must; SQLite keeps anything."""
        texts = (self.event.kind, self.event.body, self.event.at, self.event.actor, self.event.hash)
        return type(self.event.seq) is type(self.event.round) is int and all(type(each) is str for each in texts)

    def number(self, name: str) -> int:
        """Return a whole number of the body; −1 if it has none."""
        value = self.data.get(name)
        return value if type(value) is int else -1

    def tally(self, name: str, width: int) -> list[list[int]]:
        """Return a tally of the body, lists of `width` whole numbers; empty if it is no such thing."""
        rows = self.data.get(name)
        if not isinstance(rows, list):
            return []
        for row in rows:
            if not isinstance(row, list) or len(row) != width or any(type(each) is not int for each in row):
                return []
        return rows


class Chunk(NamedTuple):
    """Events in order, and the range whose rows belong to them: no number is between two ranges."""

    first: int
    last: int
    events: list[Parsed]


def chunks(log: Log) -> Iterator[Chunk]:
    """Yield all events of a log."""
    first, held, people = 1, list[Parsed](), 0
    for event in log.events():
        parsed = parse(event)
        more = max(parsed.number("people"), 0) if event.kind in ("decided", "reported") else 0
        if held and (len(held) >= EVENTS or people + more > PEOPLE):
            last = max(_seq(held[-1].event, first), first)
            yield Chunk(first, last, held)
            first, held, people = last + 1, [], 0
        held.append(parsed)
        people += more
    yield Chunk(first, max(log.facts.last, first, *(_seq(each.event, 0) for each in held)), held)


def parse(event: Event) -> Parsed:
    """Return an event with its body."""
    try:
        data = parse_json(event.body)
    except (TypeError, ValueError):
        data = None
    return Parsed(event, data if isinstance(data, dict) else {})


def _seq(event: Event, otherwise: int) -> int:
    return event.seq if isinstance(event.seq, int) else otherwise
