"""Prune: remove the rows of old rounds, as retention rules ask, so that the audit stays possible.

Events stay: hashes, tallies, policies and what the learner was told can be recomputed for ever. What goes are the
applications themselves, with their labels and overrides, so their draws can no longer be checked. An event records what
went; rows that are missing without one are found by the audit. An id that was pruned is not known any more: if it comes
again, it is a new application.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, select

from fairgate.errors import InputError
from fairgate.live.database import reading
from fairgate.live.failures import ConflictError
from fairgate.live.gate import Gate
from fairgate.live.requests import Note
from fairgate.live.retries import forget
from fairgate.live.schema import cases, events, outcomes, overrides

RETENTION = timedelta(days=760)
"""25 months, which Regulation B asks creditors in the United States to keep records for."""

AT_ONCE = 100_000
"""Applications removed in one transaction, as the gate waits for it; one round may have more."""


class Pruned(NamedTuple):
    """What was removed: rounds up to `through`, and how many rows; `awaited` of them had no label."""

    through: int
    cases: int
    outcomes: int
    overrides: int
    awaited: int


class Step(NamedTuple):
    """Rounds whose rows go together, and the last event that they hang on."""

    first: int
    through: int
    last: int
    people: int
    digest: str


def prune(gate: Gate, older_than: timedelta = RETENTION, *, actor: str | None = None) -> Pruned | None:
    """Remove the rows of rounds that closed so long ago; None if there are none.

    Rounds of which labels are still due are kept, and all later ones with them.
    """
    if older_than < timedelta(days=gate.spec.label_due_days):
        raise InputError(
            f"older_than must be at least the {gate.spec.label_due_days:g} days in which labels are due, "
            f"got {older_than.total_seconds() / 86400:g} days"
        )
    if gate.spec.subjects is not None and older_than < timedelta(days=gate.spec.subjects.days):
        raise InputError(
            f"older_than must be at least the {gate.spec.subjects.days:g} days for which subjects are remembered, "
            f"got {older_than.total_seconds() / 86400:g} days"
        )
    if gate.spec.store == "counts":
        raise InputError(f"the gate {gate.name!r} keeps counts only: there are no rows to remove")
    before = (gate.clock() - older_than).isoformat(timespec="microseconds")
    with reading(gate.engine) as connection:
        steps = _steps(connection, gate.number, before)
    gone = [_remove(gate, step, before, actor) for step in steps]
    if not gone:
        return None
    people, labels, changed, awaited = (sum(each[place] for each in gone) for place in range(1, 5))
    return Pruned(gone[-1].through, people, labels, changed, awaited)


def _steps(connection: Connection, number: int, before: str) -> list[Step]:
    """Return the rounds that closed before a time and have rows, some at a time."""
    asked = select(events.c.body).where(events.c.gate == number, events.c.kind == "pruned").order_by(events.c.seq)
    done = [_data(body)["through"] for body in connection.execute(asked).scalars()]
    first = 1 + (done[-1] if done else -1)
    own = events.c
    closes = connection.execute(
        select(own.round, own.seq, own.at, own.body)
        .where(own.gate == number, own.kind == "closed", own.round >= first)
        .order_by(own.round)
    )
    steps: list[Step] = []
    people, begun, last = 0, first, None
    for row in closes:
        if datetime.fromisoformat(row.at) >= datetime.fromisoformat(before):
            break
        if people and people + _data(row.body)["people"] > AT_ONCE and last is not None:
            steps.append(_step(connection, number, begun, last, people))
            people, begun = 0, row.round
        people, last = people + _data(row.body)["people"], row
    if last is not None and begun <= last.round:
        steps.append(_step(connection, number, begun, last, people))
    return steps


def _step(connection: Connection, number: int, first: int, last: Any, people: int) -> Step:
    own = events.c
    asked = (
        select(own.body)
        .where(own.gate == number, own.kind.in_(("decided", "reported")), own.round.between(first, last.round))
        .order_by(own.seq)
    )
    digest = digest_of(_data(body)["digest"] for body in connection.execute(asked).scalars())
    return Step(first, last.round, last.seq, people, digest)


def digest_of(digests: Iterable[str]) -> str:
    """Return the hash of the digests, in order, of the events whose applications are removed."""
    found = hashlib.sha256()
    for each in digests:
        found.update(f"{each}\n".encode())
    return found.hexdigest()


def _remove(gate: Gate, step: Step, before: str, actor: str | None) -> Pruned:
    """Remove the rows of some rounds and record it, in one transaction."""
    own = cases.c

    def old(number: int) -> ColumnElement[bool]:
        return (own.gate == number) & (own.seq <= step.last)

    def count(connection: Connection, number: int) -> Pruned:
        ids = select(own.id).where(old(number)).scalar_subquery()
        found = [connection.execute(select(func.count()).select_from(cases).where(old(number))).scalar_one()]
        for table in (outcomes, overrides):
            mine = (table.c.gate == number) & table.c.id.in_(ids)
            found.append(connection.execute(select(func.count()).select_from(table).where(mine)).scalar_one())
        person = overrides.c
        changed = (person.gate == own.gate) & (person.id == own.id)
        labelled = select(outcomes.c.id).where(outcomes.c.gate == own.gate, outcomes.c.id == own.id).exists()
        accepted = func.coalesce(person.accepted, own.accepted)
        asked = select(func.count()).select_from(cases.outerjoin(overrides, changed))
        awaited = connection.execute(asked.where(old(number), accepted == 1, ~labelled)).scalar_one()
        return Pruned(step.through, found[0], found[1], found[2], awaited)

    with reading(gate.engine) as connection:
        gone = count(connection, gate.number)

    def remove(connection: Connection, number: int) -> None:
        if count(connection, number) != gone:
            raise ConflictError("labels arrived while rows were to be removed: prune once more")
        ids = select(own.id).where(old(number)).scalar_subquery()
        for table in (outcomes, overrides):
            connection.execute(delete(table).where((table.c.gate == number) & table.c.id.in_(ids)))
        connection.execute(delete(cases).where(old(number)))
        forget(connection, number, gate.clock().astimezone(UTC).isoformat(timespec="microseconds"))

    data = {"first": step.first, **gone._asdict(), "before": before, "digest": step.digest}
    gate.submit(Note("pruned", data, remove, actor=actor or gate.actor)).result()
    return gone


def _data(body: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(body)
    return found
