"""Events: what the log is made of. Each event holds the hash of the one before, so none can be changed unseen."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.reading import parse_json
from fairgate.settings import Array

START = "0" * 64
"""What the first event holds in place of a hash before it."""

BLOCK = 64
"""Bytes of a block of SHA-256, which no secret is longer than."""

KINDS = (
    "created",  # the spec
    "opened",  # a round, with its policy
    "decided",  # people, by the gate
    "reported",  # people, by the operator's own rule
    "overridden",  # a decision, by a person
    "outcomes",  # labels that arrived
    "corrected",  # labels that were wrong
    "closed",  # a round, with what the learner was told
    "mode",  # who decides from now on
    "approved",  # a proposal, by a person
    "paused",  # learning, by a guard
    "failed",  # the learner, which is then not asked any more
    "rotated",  # the gate's secret
    "version",  # another version of the library goes on
    "key-added",
    "key-revoked",
    "pruned",  # rows of closed rounds
)


class Event(NamedTuple):
    """One event of a gate's log. `body` is JSON, the text that was hashed; `key` and `request` tell a retry."""

    seq: int  # from 1
    kind: str
    round: int  # the round it belongs to, from 0
    body: str
    at: str  # ISO 8601, UTC
    actor: str
    key: str | None
    request: str | None  # hash of the request
    hash: str

    @property
    def data(self) -> dict[str, Any]:
        """The body as plain data."""
        found: dict[str, Any] = parse_json(self.body)
        return found

    def fits(self, before: str) -> bool:
        """Whether the hash is that of this event after the event of hash `before`."""
        return hmac.compare_digest(self.hash, chained(before, self[:-1]))


def make_event(
    before: str,
    seq: int,
    kind: str,
    round_number: int,
    data: dict[str, Any],
    at: str,
    actor: str,
    key: str | None = None,
    request: str | None = None,
) -> Event:
    """Return the event that follows the one of hash `before`."""
    fields = (seq, kind, round_number, canonical(data), at, actor, key, request)
    return Event(*fields, hash=chained(before, fields))


def chained(before: str, fields: Sequence[Any]) -> str:
    """Return the hash of an event's fields after the hash of the event before."""
    return hashlib.sha256(f"{before}\n{canonical(list(fields))}".encode()).hexdigest()


ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
"""Made once: `json.dumps` would make one for each event."""


def canonical(data: Any) -> str:
    """Write plain data as JSON in the one way that is hashed; floats read back exactly.

    >>> canonical({"b": 0.1, "a": [1, None]})
    '{"a":[1,null],"b":0.1}'
    """
    return ENCODER.encode(data)


class People(NamedTuple):
    """People of one request, in its order: columns of the table `cases`."""

    ids: list[str]
    groups: NDArray[np.int64]
    scores: Array
    bins: NDArray[np.int64]
    draws: Array
    accepted: NDArray[np.int64]
    subjects: Sequence[str] = ()  # as they are stored, "" for none

    @property
    def digest(self) -> str:
        """Hash of all columns; scores and draws by their bits."""
        return people_digest(self.ids, self.bits, self.subjects)

    @property
    def bits(self) -> list[bytes]:
        """The numbers of all columns but the ids, eight bytes each, in the order in which they are hashed."""
        columns = (self.groups, self.bins, self.scores, self.draws, self.accepted)
        return [each.astype("<i8" if each.dtype.kind == "i" else "<f8").tobytes() for each in columns]


def people_digest(ids: list[str], bits: Sequence[bytes], subjects: Sequence[str] = ()) -> str:
    """Return the hash of people, of their ids and the bits of their other columns, and of subjects if any has one."""
    named = [canonical(list(subjects)).encode()] if any(subjects) else []
    return hashlib.sha256(b"\n".join([canonical(ids).encode(), *bits, *named])).hexdigest()


def round_secret(secret: bytes, number: int) -> bytes:
    """Return the secret of a round, which its draws are made of, from that of the gate."""
    return hmac.digest(secret, f"round/{number}".encode(), "sha256")


def draws_of(secret: bytes, ids: Sequence[str]) -> Array:
    """Return the lottery number in [0, 1) of each application: the first 53 bits of HMAC-SHA256(secret, id).

    A retry cannot roll again, and whoever has the round's secret can check. The secret is named in the event that
    closes the round; its hash is in the event that opens it.

    >>> draws_of(b"secret", ["a-1", "a-2"]).round(3)
    array([0.873, 0.991])
    """
    sha256, padded = hashlib.sha256, secret.ljust(BLOCK, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in padded) for pad in (0x36, 0x5C))  # HMAC's own, made once for all ids
    heads = b"".join([sha256(outer + sha256(inner + each.encode()).digest()).digest()[:8] for each in ids])
    return np.asarray((np.frombuffer(heads, dtype=">u8") >> 11) * 2.0**-53, dtype=np.float64)
