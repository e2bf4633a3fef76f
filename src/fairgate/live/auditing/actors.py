"""Actors: whether each event by a key had a key that was good at that time and for that kind, and how the clock ran.

Other actors, such as python, service, command line, clock and library, have no key: what they say of themselves is all
there is.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from fairgate.live.auditing.chunks import Parsed

PREFIX = "key:"
"""What an actor that came with a key begins with; the name of the key follows."""

GRACE = timedelta(minutes=1)
"""How long after its end an event by a key may come: a request that was let in is written a moment later."""

BACK = timedelta(hours=1)
"""By how much times may go back unsaid: clocks of computers that share a database differ a little."""

MOST = 5
"""Most jumps of the clock that are told one by one."""

SCOPES: dict[str, tuple[str, ...]] = {
    "opened": ("decide", "rounds", "admin"),
    "decided": ("decide",),
    "reported": ("decide",),
    "closed": ("decide", "rounds", "admin"),
    "paused": ("decide", "rounds", "admin"),
    "failed": ("decide", "rounds", "admin"),
    "outcomes": ("outcomes",),
    "corrected": ("outcomes",),
    "overridden": ("admin",),
    "mode": ("admin",),
    "approved": ("admin",),
    "rotated": ("admin",),
    "key-added": ("admin",),
    "key-revoked": ("admin",),
    "pruned": ("admin",),
}
"""Scopes of which a key must have one to bring about an event; no key makes a gate or a version."""

WHY = {"call": ("rounds",), "mode": ("admin",), "secret": ("admin",)}
"""The same of events that close a round, by why they do."""


def granted(added: dict[str, Any]) -> list[str]:
    """Return the scopes of a key by the event that added it: before `rounds` was a scope, `decide` closed rounds.

    >>> granted({"scopes": ["decide", "read"]}), granted({"scopes": ["decide"], "closes": False})
    (['decide', 'rounds', 'read'], ['decide'])
    """
    scopes: list[str] = list(added["scopes"])
    if "closes" in added or "decide" not in scopes or "rounds" in scopes:
        return scopes
    return ["decide", "rounds", *(each for each in scopes if each != "decide")]


class Key(NamedTuple):
    """A key, as the log knows it."""

    scopes: Collection[str]
    expires: datetime | None
    revoked: datetime | None

    def good(self, at: datetime) -> bool:
        """Whether a request with it may be in an event of that time, which comes later in the log."""
        if self.expires is not None and at - self.expires > GRACE:
            return False
        return self.revoked is None or abs(at - self.revoked) <= GRACE


class Actors:
    """The keys so far, by name; it is told every event, in order."""

    def __init__(self) -> None:
        self.latest: datetime | None = None
        self._keys: dict[str, dict[str, Key]] = {}  # by name, then by id
        self._names: dict[str, str] = {}  # by id
        self._back: list[str] = []
        self._jumps = 0

    def follow(self, parsed: Parsed) -> str:
        """Take in an event; say what is wrong with its actor or its time."""
        event = parsed.event
        try:
            at = datetime.fromisoformat(event.at)
            if at.tzinfo is None:
                raise ValueError("no time zone")
        except ValueError:
            return f"its time must be a date and a time with their zone, found {event.at!r}"
        self._clock(parsed, at)
        wrong = self._actor(parsed, at) if event.actor.startswith(PREFIX) else ""
        self._key(parsed, at)
        return wrong

    @property
    def remarks(self) -> list[str]:
        """What is worth to know of the clock."""
        more = self._jumps - len(self._back)
        return [*self._back, *([f"The clock went back {more} more times."] if more else [])]

    def _clock(self, parsed: Parsed, at: datetime) -> None:
        if self.latest is not None and self.latest - at > BACK:
            self._jumps += 1
            if len(self._back) < MOST:
                self._back.append(
                    f"The clock went back by {self.latest - at} before event {parsed.event.seq}, from "
                    f"{self.latest.isoformat()} to {parsed.event.at}: rounds that close by time, dues of labels and "
                    "ends of keys depend on it."
                )
            self.latest = at
        self.latest = at if self.latest is None else max(self.latest, at)

    def _actor(self, parsed: Parsed, at: datetime) -> str:
        event, data = parsed
        name = event.actor.removeprefix(PREFIX)
        known = self._keys.get(name, {}).values()
        if not known:
            return f"its actor is the key {name!r}, and no event before it added a key of that name"
        good = [each for each in known if each.good(at)]
        if not good:
            return f"its actor is the key {name!r}, which was revoked or had expired"
        needed = SCOPES.get(event.kind, ())
        if event.kind == "closed":
            needed = WHY.get(str(data.get("why")), needed)
        if not any(scope in each.scopes for each in good for scope in needed):
            had = ", ".join(sorted({scope for each in good for scope in each.scopes}))
            return f"its actor is the key {name!r}, which is for {had}, and this needs {' or '.join(needed) or 'none'}"
        return ""

    def _key(self, parsed: Parsed, at: datetime) -> None:
        event, data = parsed
        if event.kind == "key-added":
            name, expires = data["name"], data["expires"]
            ends = None if expires is None else datetime.fromisoformat(expires)
            self._names[data["id"]] = name
            self._keys.setdefault(name, {})[data["id"]] = Key(granted(data), ends, None)
        elif event.kind == "key-revoked" and data["id"] in self._names:
            mine = self._keys[self._names[data["id"]]]
            mine[data["id"]] = mine[data["id"]]._replace(revoked=at)
