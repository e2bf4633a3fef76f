"""Requests: what can be asked of a gate. Each has the digest by which a retry under the same key is known."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import Connection

from fairgate.live.events import canonical
from fairgate.live.spec import Mode

LONGEST_ID = 200
"""Most characters of an id or a key."""

LATER = ("successor",)
"""Fields that requests did not have at first: without a value they are not hashed, so that older retries are known."""


CALLER = ("key", "actor", "reads")
"""Fields of a request that tell who asks."""

UNHASHED = (*CALLER, "subjects")
"""Fields that the hash of a request leaves out: it is in the log, and subjects could be guessed from it."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request; `key` makes a retry harmless, `actor` is who asks, `reads` whether they may learn what is stored."""

    key: str | None = None
    actor: str = "python"
    reads: bool = True

    @property
    def stored_key(self) -> str | None:
        """The key as it is stored: a hash of it and of the caller, as each caller has keys of their own."""
        return None if self.key is None else hashlib.sha256(canonical([self.actor, self.key]).encode()).hexdigest()

    @property
    def digest(self) -> str:
        """Hash of everything that was asked, but not of the key, of who asked, or of subjects."""
        asked = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in UNHASHED}
        asked = {name: value for name, value in asked.items() if value or name not in LATER}
        return hashlib.sha256(f"{type(self).__name__}\n{canonical(asked)}".encode()).hexdigest()


@dataclass(frozen=True)
class Decide(Request):
    """Decide on applications."""

    ids: Sequence[str]
    groups: Sequence[str]
    scores: Sequence[float]
    single: bool = False
    subjects: Sequence[str | None] = field(default=(), repr=False)


@dataclass(frozen=True)
class Report(Request):
    """Record what the operator's own rule decided."""

    ids: Sequence[str]
    groups: Sequence[str]
    scores: Sequence[float]
    accepted: Sequence[bool]
    subjects: Sequence[str | None] = field(default=(), repr=False)


@dataclass(frozen=True)
class Outcomes(Request):
    """Record labels, by application; in a gate that keeps counts only, by round, group and score."""

    ids: Sequence[str]
    labels: Sequence[int]
    round: int | None = None
    groups: Sequence[str] = ()
    scores: Sequence[float] = ()


@dataclass(frozen=True)
class Correct(Request):
    """Correct labels that were wrong."""

    ids: Sequence[str]
    labels: Sequence[int]
    reason: str


@dataclass(frozen=True)
class Override(Request):
    """Decide otherwise on an application of the open round."""

    id: str
    accepted: bool
    reason: str


@dataclass(frozen=True)
class Close(Request):
    """Close a round; the one that is open if no number is given."""

    round: int | None = None


@dataclass(frozen=True)
class Tick(Request):
    """Close the round if its time is over."""


@dataclass(frozen=True)
class SetMode(Request):
    """Change who decides."""

    mode: Mode
    reason: str
    threshold: float | list[float] | None = None
    successor: str = ""  # the gate that decides from now on


@dataclass(frozen=True)
class Rotate(Request):
    """Give the gate a new secret."""

    reason: str


@dataclass(frozen=True)
class Approve(Request):
    """Let the proposal that waits take effect."""

    waiting: str
    reason: str


@dataclass(frozen=True)
class Note(Request):
    """Record an event that changes no policy, and change other rows with it in the same transaction.

    Data may differ when the same is asked again; then `asked` has what does not, and `reply` what the first is told.
    """

    kind: str
    data: dict[str, Any]
    also: Callable[[Connection, int], None] | None = None
    asked: Any = None
    reply: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Hash of what was asked."""
        return hashlib.sha256(f"{self.kind}\n{canonical(self.asked)}".encode()).hexdigest()
