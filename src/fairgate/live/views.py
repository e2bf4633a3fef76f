"""Views: the status of a gate and its log, as they can be looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, select

from fairgate import __version__
from fairgate.live.events import Event
from fairgate.live.fold import Fold
from fairgate.live.played import same
from fairgate.live.replies import LogEvent, ModeNow, Status
from fairgate.live.schema import events
from fairgate.live.words import policy_now
from fairgate.reading import parse_json, told

BLOCK = 2000
"""Events that are read at a time."""


def created_hash(connection: Connection, gate: int) -> str:
    """Return the hash of a gate's first event, by which its log is told from any other; its commitment is random."""
    return str(connection.execute(select(events.c.hash).where(events.c.gate == gate, events.c.seq == 1)).scalar())


def stored_spec(connection: Connection, gate: int) -> dict[str, Any]:
    """Return the spec that a gate was made with, as its first event has it."""
    return spec_in(connection.execute(select(events.c.body).where(events.c.gate == gate, events.c.seq == 1)).scalar())


def spec_in(body: str | None) -> dict[str, Any]:
    """Return the spec that the body of a first event has, whatever that is."""
    with told("the first event of the log cannot be read"):
        spec = parse_json(body or "")["spec"]
        if not isinstance(spec, dict):
            raise ValueError("it has no spec of a gate")
        return spec


def events_after(connection: Connection, gate: int, seq: int) -> Iterator[Event]:
    """Yield the events after one, in order."""
    while True:
        rows = connection.execute(
            select(*(events.c[name] for name in Event._fields))
            .where(events.c.gate == gate, events.c.seq > seq)
            .order_by(events.c.seq)
            .limit(BLOCK)
        ).all()
        for row in rows:
            yield Event(*row)
        if len(rows) < BLOCK:
            return
        seq = rows[-1].seq


def status(fold: Fold) -> Status:
    """Return what is in force now, and what the next applicant gets."""
    now, mode, policy, allowed = fold.open, fold.mode, fold.force, fold.allowed
    since, asked = (fold.force_round, fold.force_at), fold.closed_at or mode.since
    if now is None:
        opening = fold.preview()
        policy, allowed = opening.policy, opening.allowed or allowed
        since = since if same(policy, fold.force) else (fold.round, asked)
    shown = None if policy is None or mode.mode == "shadow" else policy_now(fold.spec, policy, *since)
    return Status(
        gate=fold.spec.name,
        library=__version__,
        seq=fold.seq,
        head=fold.head,
        round=fold.round,
        open=now is not None,
        people=0 if now is None else int(now.counts.sum()),
        mode=ModeNow(mode=mode.mode, reason=mode.reason, actor=mode.actor, since=mode.since),
        policy=shown,
        proposal=None if allowed is None else policy_now(fold.spec, allowed, fold.round, now.at if now else asked),
        waiting=fold.waiting,
        watches=[] if fold.detectors is None else fold.detectors.now(),
    )


def log(
    connection: Connection, gate: int, after: int, limit: int, newest: bool = False, kind: str | None = None
) -> list[LogEvent]:
    """Return events after one, or the newest before it."""
    asked = select(events).where(events.c.gate == gate)
    place = [events.c.seq]
    if kind is not None:
        asked = asked.where(events.c.kind == kind)
        place = [events.c.round, events.c.seq]  # the same order, which the index of kinds has
    if newest:
        asked = (asked.where(events.c.seq < after) if after else asked).order_by(*(each.desc() for each in place))
    else:
        asked = asked.where(events.c.seq > after).order_by(*place)
    rows = connection.execute(asked.limit(limit)).all()
    names = [name for name in LogEvent.model_fields if name != "body"]
    return [LogEvent(**{name: getattr(row, name) for name in names}, body=json.loads(row.body)) for row in rows]
