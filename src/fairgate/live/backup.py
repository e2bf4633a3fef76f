"""Backup: a whole copy of a database while it is in use, in SQLite or PostgreSQL, checked by reading it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, func, select

from fairgate.errors import InputError
from fairgate.live.database import connect, place_of, reading, refused_clearly, writing
from fairgate.live.database import insert as insert_rows
from fairgate.live.events import START, Event
from fairgate.live.failures import ConflictError
from fairgate.live.preparing import REVISION, known_revision, prepare, revision_of
from fairgate.live.schema import METADATA, cases, events, gates

PART = 10_000
"""Rows that are in memory at a time."""


class Copied(NamedTuple):
    """A gate of a copy: events of its log, applications, and the hash of the last event."""

    name: str
    events: int
    cases: int
    head: str


def back_up(url: str, to: str) -> list[Copied]:
    """Copy the database at `url` as it is at one moment, while others write to it, and check the copy.

    `to` is a file that is not there yet, or a PostgreSQL database without gates; so a copy of PostgreSQL can be one
    file of SQLite, and such a file can be brought back to PostgreSQL. Either is a database that a gate can go on with.
    """
    source, target = connect(url), connect(to)
    try:
        if source.url == target.url:
            raise InputError(f"the copy must be elsewhere than the database, got {place_of(target)} for both")
        if target.dialect.name == "sqlite":
            return copy_to_file(source, Path(place_of(target)))
        copy_rows(source, target)
        return check_copy(target)
    finally:
        source.dispose()
        target.dispose()


def copy_to_file(source: Engine, path: Path) -> list[Copied]:
    """Copy a database to a file of SQLite, which is there once it is whole and checked."""
    refuse_if_there(path)
    part = path.with_name(f"{path.name}.part")
    remove(part)
    copy = connect(str(part))
    try:
        part.touch(mode=0o600)
        if source.dialect.name == "sqlite":
            copy_pages(source, part)
        else:
            copy_rows(source, copy)
        found = check_copy(copy)
        copy.dispose()  # which leaves one file
        part.rename(path)
        return found
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path} cannot be written: {error}") from None
    finally:
        copy.dispose()
        remove(part)


def copy_pages(source: Engine, path: Path) -> None:
    """Copy a file of SQLite to another."""
    with refused_clearly(source), source.connect() as connection:
        copy = sqlite3.connect(path)
        try:
            driver: Any = connection.connection.driver_connection
            driver.backup(copy)
        finally:
            copy.close()


def remove(path: Path) -> None:
    """Remove a file of SQLite, and what a process that was killed left beside it."""
    for end in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def refuse_if_there(path: Path) -> None:
    """Refuse to overwrite a file."""
    if path.exists():
        raise InputError(f"{path} is there already: choose a file that is not there yet")


def copy_rows(source: Engine, target: Engine) -> None:
    """Copy all rows from one kind of database to another, in one transaction of each."""
    with reading(source) as old:
        found = revision_of(old)
        if found != REVISION:
            raise InputError(
                f"the database {place_of(source)} has tables of revision {found}, not {REVISION}: serve it once"
            )
        prepare(target)
        with writing(target) as new:
            if new.execute(select(func.count()).select_from(gates)).scalar_one():
                raise ConflictError(f"the database {place_of(target)} has gates already: name one without")
            for table in METADATA.sorted_tables:
                for rows in old.execution_options(yield_per=PART).execute(select(table)).partitions():
                    columns = zip(*rows, strict=True)
                    insert_rows(new, table, dict(zip(table.c.keys(), columns, strict=True)))
            if new.dialect.name == "postgresql":  # numbers of later gates come after those that were copied
                last = "coalesce((SELECT max(number) FROM gates), 0) + 1"
                new.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('gates', 'number'), {last}, false)")


def check_copy(copy: Engine) -> list[Copied]:
    """Read every log of a copy; refuse it if an event does not follow the one before, or the last is missing."""
    with reading(copy) as connection:
        known_revision(connection)  # one that is not known is refused
        asked = select(gates.c.number, gates.c.name, gates.c.last, gates.c.head).order_by(gates.c.number)
        return [check_log(connection, row) for row in connection.execute(asked)]


def check_log(connection: Connection, gate: Any) -> Copied:
    """Read the log of one gate."""
    head, seq = START, 0
    for event in log_of(connection, gate.number):
        if event.seq != seq + 1 or not event.fits(head):
            raise InputError(
                f"gate {gate.name!r}: event {event.seq} does not follow the one before: audit the database"
            )
        head, seq = event.hash, event.seq
    if (head, seq) != (gate.head, gate.last):
        raise InputError(f"gate {gate.name!r}: the log ends at event {seq}, not {gate.last}: audit the database")
    people = select(func.count()).select_from(cases).where(cases.c.gate == gate.number)
    return Copied(gate.name, seq, connection.execute(people).scalar_one(), head)


def log_of(connection: Connection, number: int) -> Iterator[Event]:
    """Read the events of a gate in their order."""
    columns = [events.c[name] for name in Event._fields]
    query = select(*columns).where(events.c.gate == number).order_by(events.c.seq)
    for row in connection.execution_options(yield_per=PART).execute(query):
        yield Event(*row)
