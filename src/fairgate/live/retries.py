"""Retries: a request under a key has one reply, the first; the same request under that key gets it again.

The event that a request recorded has the key, and most replies follow from that event and from the rows of people.
Replies that do not (a status, a request that changed nothing, a new API key) are stored in the transaction of what they
report. A refusal that records nothing takes no key: the request may be sent again once it fits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError
from sqlalchemy import Connection, bindparam, delete, select

from fairgate.live.database import insert
from fairgate.live.events import Event
from fairgate.live.failures import ConflictError
from fairgate.live.replies import Closed, Decision, Recorded
from fairgate.live.requests import Close, Correct, Outcomes, Override, Report, Request
from fairgate.live.schema import events, replies
from fairgate.live.turn import Turn, check_text

KEPT = timedelta(days=30)
"""How long a reply is stored: far longer than clients send again. Its key stays used if it recorded an event."""

DONE, REFUSED = 200, 409
"""Statuses of stored replies."""


STORED = select(replies.c.seq, replies.c.status, replies.c.body, replies.c.request).where(
    replies.c.gate == bindparam("number"), replies.c.key == bindparam("stored")
)
"""The reply that is stored under a key. Statements are made once, because each request with a key needs them."""

RECORDED = select(*(events.c[name] for name in Event._fields)).where(
    events.c.gate == bindparam("number"), events.c.key.in_([bindparam("stored"), bindparam("plain")])
)
"""The event that was recorded under a key; older ones have the key itself, and may be of another caller."""


class First(NamedTuple):
    """The first reply to a request: the last event at that time, the event it recorded, and the reply if it is stored.

    A stored reply without a body is the decisions as they were at that time.
    """

    seq: int
    event: Event | None = None
    status: int = DONE
    body: str | None = None


def first_of(turn: Turn, request: Request) -> First | None:
    """Return the first reply under the key of a request, None if the key is new; another request is refused."""
    if request.key is None:
        return None
    check_text("key", request.key)
    turn.flush()
    keys = {"number": turn.number, "stored": request.stored_key, "plain": request.key}
    row = turn.connection.execute(STORED, keys).first()
    if row is not None:
        found, used = First(row.seq, None, row.status, row.body), row.request
    else:
        recorded = turn.connection.execute(RECORDED, keys)
        event = next((Event(*each) for each in recorded if each.actor == request.actor), None)
        if event is None:
            return None
        found, used = First(event.seq, event), event.request
    if used != _digest(request):
        raise ConflictError(f"key {request.key!r} was used before for another request: choose a new one")
    return found


def _digest(request: Request) -> str:
    try:
        return request.digest
    except (TypeError, ValueError):  # no request with such values was ever recorded
        return ""


def answer(turn: Turn, request: Request, handler: Callable[[Turn, Any], Any], kind: Any) -> Any:
    """Handle a request, or give the first reply again; `kind` is the type of replies."""
    first = first_of(turn, request)
    if first is not None:
        return _again(request, first, kind)
    turn.main = None
    reply = handler(turn, request)
    if request.key is not None and (turn.main is None or _reply_of(request, turn.main) != reply):
        keep(turn, request, reply)
    return reply


def keep(turn: Turn, request: Request, reply: Any) -> None:
    """Store a first reply, None for decisions as they are now; drop those that are older than they are kept."""
    text: str | None = None
    if isinstance(reply, BaseModel):
        text = reply.model_dump_json()
    elif reply is not None:
        text = json.dumps(str(reply) if isinstance(reply, ConflictError) else reply)
    row = {
        "gate": turn.number,
        "key": request.stored_key,
        "seq": turn.fold.seq,
        "request": request.digest,
        "status": REFUSED if isinstance(reply, ConflictError) else DONE,
        "body": text,
        "at": turn.at,
    }
    forget(turn.connection, turn.number, turn.at)
    insert(turn.connection, replies, {name: [value] for name, value in row.items()})


def forget(connection: Connection, number: int, now: str) -> None:
    """Drop the replies that have been kept long enough."""
    before = (datetime.fromisoformat(now) - KEPT).isoformat(timespec="microseconds")
    connection.execute(delete(replies).where(replies.c.gate == number, replies.c.at < before))


def _again(request: Request, first: First, kind: Any) -> Any:
    """Return the first reply."""
    found = None
    if first.event is not None:
        found = _reply_of(request, first.event)
    elif first.status == REFUSED:
        return ConflictError(json.loads(first.body or '""'))
    elif first.body is not None:
        try:
            return TypeAdapter(kind).validate_json(first.body)
        except ValidationError:  # another version of the library wrote it
            found = None
    if found is None:
        raise ConflictError(
            f"key {request.key!r} was used before for this request, whose reply is not kept any more: look up its "
            "effect, or choose a new key"
        )
    return found


def _reply_of(request: Request, event: Event) -> BaseModel | None:
    """Return the reply that follows from the event that a request recorded; None if none does."""
    data = event.data
    match request:
        case Report():
            return Recorded(seq=event.seq, new=data["people"], repeated=len(request.ids) - data["people"])
        case Outcomes() | Correct():
            new = sum(row[-1] for name in ("tally", "aside", "told") for row in data.get(name, ()))
            return Recorded(seq=event.seq, new=new, repeated=len(request.labels) - new)
        case Override():
            return Decision(id=request.id, accepted=bool(data["accepted"]), round=event.round)
        case Close():
            return Closed(round=event.round, seq=event.seq, people=data["people"])
    return None
