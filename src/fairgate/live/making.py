"""Making: a gate's row and the first event of its log, which holds the spec."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from reprlib import repr as brief
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, func, select
from sqlalchemy.exc import IntegrityError

from fairgate import __version__
from fairgate.errors import InputError
from fairgate.live import views
from fairgate.live.clock import RULE
from fairgate.live.database import insert, reading, writing
from fairgate.live.events import START, Event, make_event
from fairgate.live.failures import ConflictError
from fairgate.live.keys import added
from fairgate.live.schema import api_keys, events, gates, replies, snapshots
from fairgate.live.spec import Guards, Scores, Spec
from fairgate.origin import versions

VERSIONS = versions(("numpy", "scipy", "scikit-learn"))
"""Versions that the numbers depend on."""

RULES = {"clock": RULE, "detection": 1}
"""Rules that a log goes by from an event on that has them: how time passes, and how guards notice that rates change."""

UNTOUCHED = {"created", "version", "key-added", "key-revoked"}
"""Kinds of events of a gate that has not decided anything."""

BLOCK = 500
"""Gates that one query looks up."""

LATER: dict[str, Any] = {"scores": Scores().model_dump(mode="json")}
"""Fields of a spec that gates made before do not have, and what a file leaves unsaid that such a gate goes on with."""


class Made(NamedTuple):
    """A gate as it is stored."""

    number: int
    secret: bytes
    hash: str  # of the event that made it
    spec: dict[str, Any]


def ensure_gates(engine: Engine, specs: Sequence[Spec], at: str, actor: str, *, again: bool = True) -> dict[str, Made]:
    """Make the gates that specs describe, but for those that are there, and return all by name.

    If one of them is there with another spec, none is made.
    """
    names = [spec.name for spec in specs]
    with reading(engine) as connection:
        found = made_gates(connection, names)
    for spec in specs:
        if spec.name in found:
            refuse_other(spec, found[spec.name].spec)
    if len(found) == len(names):
        return found
    try:
        with writing(engine) as connection:
            there = made_gates(connection, names)
            for spec in specs:
                if spec.name not in there:
                    add_gate(connection, spec, at, actor)
    except IntegrityError as error:  # another process made one in the same moment
        if not again:
            raise InputError(
                f"gates cannot be made, because the database has rows of a gate that is not there ({error.orig}): "
                "restore a backup"
            ) from None
        return ensure_gates(engine, specs, at, actor, again=False)
    return ensure_gates(engine, specs, at, actor)


def made_gates(connection: Connection, names: Sequence[str]) -> dict[str, Made]:
    """Return those gates that are there, by name."""
    found = {}
    first = (events.c.gate == gates.c.number) & (events.c.seq == 1)
    for start in range(0, len(names), BLOCK):
        asked = select(gates, events.c.hash, events.c.body).join(events, first)
        for row in connection.execute(asked.where(gates.c.name.in_(names[start : start + BLOCK]))):
            check_row(row)
            found[row.name] = Made(row.number, row.secret, str(row.hash), views.spec_in(row.body))
    return found


def refuse_other(spec: Spec, stored: dict[str, Any]) -> None:
    """Refuse a spec that differs from the one a gate was made with; say in what."""
    plain = spec.model_dump(mode="json")
    unsaid = {"pause_if_changed": plain["guards"]["pause_if_changed"]}  # an earlier gate warns, whatever its file says
    guards = Guards().model_dump(mode="json") | unsaid | (stored.get("guards") or {})  # there were fewer entries
    stored = LATER | stored | {"guards": guards}
    differs = [name for name in plain if stored.get(name) != plain[name]]
    if differs:
        first = differs[0]
        others = f" (and {', '.join(differs[1:])})" if differs[1:] else ""
        raise ConflictError(
            f"the gate {spec.name!r} was made with {first} = {stored.get(first)!r}, not {plain[first]!r}{others}: a "
            f"gate's spec does not change; before its first decision fairgate live init {spec.name} makes it again, "
            "later make one of another name"
        )


def gate_row(connection: Connection, name: str) -> Row[Any] | None:
    """Return the row of a gate, if it is there."""
    row = connection.execute(select(gates).where(gates.c.name == name)).first()
    if row is not None:
        check_row(row)
    return row


def check_row(row: Row[Any]) -> None:
    """Refuse the row of a gate whose columns hold what they must not: SQLite keeps anything in any column."""
    for column, kind in (("number", int), ("secret", bytes), ("last", int), ("head", str)):
        value = row._mapping.get(column)
        if not isinstance(value, kind):
            found = f"a {type(value).__name__}" if column == "secret" else brief(value)
            raise InputError(f"the row of the gate {row.name!r} is damaged ({column} is {found}): restore a backup")


def add_gate(connection: Connection, spec: Spec, at: str, actor: str, number: int | None = None) -> Event:
    """Insert a gate's row and its first event."""
    secret = secrets.token_bytes(32)
    data: dict[str, Any] = {"spec": spec.model_dump(mode="json"), "library": __version__, "versions": VERSIONS}
    data |= RULES
    data["commitment"] = hashlib.sha256(secret).hexdigest()  # nobody can choose another one later
    event = make_event(START, 1, "created", 0, data, at, actor)
    made = {"name": spec.name, "secret": secret, "last": 1, "head": event.hash}
    chosen = {} if number is None else {"number": number}
    number = connection.execute(gates.insert().values(**made, **chosen).returning(gates.c.number)).scalar_one()
    insert_events(connection, number, [event])
    return event


def insert_events(connection: Connection, number: int, made: list[Event]) -> None:
    """Append events to the log of a gate."""
    columns = dict(zip(Event._fields, zip(*made, strict=True), strict=True))
    insert(connection, events, {"gate": [number] * len(made), **columns})


def remake_gate(engine: Engine, spec: Spec, at: str, actor: str) -> None:
    """Make a gate that has not decided anything again, with another spec; its keys stay good.

    It gets another number, so that a service that is still running with the old spec writes nothing to its log.
    """
    with writing(engine) as connection:
        row = gate_row(connection, spec.name)
        if row is None:
            raise ConflictError(f"there is no gate {spec.name!r} to make again")
        of_gate = select(events.c.kind).where(events.c.gate == row.number).distinct()
        if set(connection.scalars(of_gate)) - UNTOUCHED:
            refuse_other(spec, views.stored_spec(connection, row.number))
            return
        number = connection.execute(select(func.max(gates.c.number))).scalar_one() + 1
        kept = connection.execute(select(api_keys).where(api_keys.c.gate == row.number, api_keys.c.revoked.is_(None)))
        keys = [dict(each._mapping) for each in kept]
        for table in (api_keys, snapshots, replies, events):
            connection.execute(table.delete().where(table.c.gate == row.number))
        connection.execute(gates.delete().where(gates.c.number == row.number))
        log = [add_gate(connection, spec, at, actor, number)]
        for key in keys:
            facts = {name: key[name] for name in ("id", "name", "created", "expires")}
            data = added(facts | {"scopes": key["scopes"].split(",")}, key["hash"])
            log.append(make_event(log[-1].hash, len(log) + 1, "key-added", 0, data, at, actor))
            insert(connection, api_keys, {name: [value] for name, value in {**key, "gate": number}.items()})
        if keys:
            insert_events(connection, number, log[1:])
            moved = {"last": log[-1].seq, "head": log[-1].hash}
            connection.execute(gates.update().where(gates.c.number == number).values(**moved))
