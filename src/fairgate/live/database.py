"""Database: SQLite or PostgreSQL behind the same few calls; what cannot be reached or written is one sentence."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import URL, Connection, Engine, Row, Table, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DataError,
    DBAPIError,
    DisconnectionError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from fairgate.errors import InputError
from fairgate.live.failures import UnavailableError
from fairgate.live.schema import cases
from fairgate.reading import check_plain

PATIENCE = 10
"""Seconds to wait for a lock, or for a free connection, before a request is refused."""

LONGEST = 120
"""Seconds that one statement may take in PostgreSQL."""

POOL = {"pool_size": 5, "max_overflow": 15, "pool_timeout": PATIENCE, "hide_parameters": True}
"""What engines have in common; errors do not show what was to be written."""

SQLITE = (
    "PRAGMA synchronous=FULL",  # a commit is on disk when it returns
    "PRAGMA foreign_keys=ON",
    "PRAGMA trusted_schema=OFF",  # what the file itself says is run with no more than SQLite's harmless functions
    "PRAGMA cell_size_check=ON",  # a damaged page is noticed when it is read
    "PRAGMA journal_size_limit=67108864",  # the file beside the database shrinks again after a long read
)

POSTGRESQL = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "tcp_user_timeout": PATIENCE * 1000,  # a server that vanished is noticed
}

OPTIONS = " ".join(
    f"-c {setting}"
    for setting in (
        f"lock_timeout={PATIENCE}s",
        f"statement_timeout={LONGEST}s",
        "idle_in_transaction_session_timeout=60s",
        "synchronous_commit=on",  # a commit is on disk when it returns
        "plan_cache_mode=force_custom_plan",  # plans made while a table was small would scan it for ever
    )
)

WRITES = "fairgate_writes"
"""Execution option of connections whose transaction takes SQLite's one lock at once."""


def connect(url: str) -> Engine:
    """Return the engine of a database: a file of SQLite, or the URL of a PostgreSQL database. Nothing is opened yet.

    >>> connect("credit.db").dialect.name
    'sqlite'
    >>> connect("postgres://user:secret@localhost/credit").url
    postgresql+psycopg://user:***@localhost/credit
    """
    found = read_url(url)
    if found.drivername == "sqlite":
        return connect_file(Path(str(found.database)))
    asked = found.query.get("options", "")
    options = " ".join([OPTIONS, *([asked] if isinstance(asked, str) else asked)])  # what the URL asks for wins
    settings: dict[str, Any] = {name: value for name, value in POSTGRESQL.items() if name not in found.query}
    return create_engine(found, connect_args={**settings, "options": options}, pool_pre_ping=True, **POOL)


def read_url(url: str) -> URL:
    """Return the URL of a database as the one of the driver that is used; a path is a file of SQLite, made absolute.

    >>> read_url("mysql://localhost/credit")
    Traceback (most recent call last):
        ...
    fairgate.errors.InputError: database must be a file such as gate.db or postgresql://user@host/name, got mysql:/...
    """
    wanted = "database must be a file such as gate.db or postgresql://user@host/name"
    try:
        found = make_url(url) if "://" in url else URL.create("sqlite", database=url)
    except (ArgumentError, ValueError):
        raise InputError(f"{wanted}, got {url!r}") from None
    if re.fullmatch(r"postgres(ql)?(\+psycopg)?", found.drivername):
        return found.set(drivername="postgresql+psycopg")
    if found.drivername != "sqlite" or found.query:
        raise InputError(f"{wanted}, got {found.render_as_string()}")
    if not found.database or found.database == ":memory:":
        raise InputError(f"{wanted}: one in memory would lose what it acknowledged, got {url!r}")
    return found.set(database=str(Path(found.database).absolute()))


def place_of(engine: Engine) -> str:
    """Where a database is, without the password."""
    return str(engine.url.database) if engine.dialect.name == "sqlite" else engine.url.render_as_string()


def connect_file(path: Path) -> Engine:
    """Return the engine of a file of SQLite; the file must be there when a connection is opened."""

    def opened() -> sqlite3.Connection:
        try:
            check_plain(path)
        except FileNotFoundError:
            pass  # said below
        except OSError as error:
            raise InputError(f"the database {path} must be a file: {error.strerror}") from None
        address = f"file:{quote(str(path))}?mode=rw"  # one that was deleted does not come back empty
        connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            use_wal(connection)
            for pragma in SQLITE:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    url = URL.create("sqlite", database=str(path))
    engine = create_engine(url, creator=opened, poolclass=QueuePool, **POOL)

    def identity() -> tuple[int, int] | None:
        try:
            facts = path.stat()
        except OSError:
            return None
        return facts.st_dev, facts.st_ino

    @event.listens_for(engine, "connect")
    def remember(dbapi_connection: object, entry: ConnectionPoolEntry) -> None:
        entry.info["file"] = identity()

    @event.listens_for(engine, "checkout")
    def check(dbapi_connection: object, entry: ConnectionPoolEntry, proxy: object) -> None:
        if entry.info["file"] != identity():  # a deleted file would go on taking what nobody can read
            raise DisconnectionError("the file was deleted or replaced")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def use_wal(connection: sqlite3.Connection) -> None:
    """Make a file use a write-ahead log, so that readers do not wait for the writer.

    Two connections that change a new file at once could wait for each other for ever, so SQLite refuses one of them
    at once, whatever the time it may wait; that one tries again.
    """
    last_try = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > last_try:
                raise
        time.sleep(0.01)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes, committed at the end: in SQLite the only one, from its first moment."""
    with refused_clearly(engine), engine.execution_options(**{WRITES: True}).begin() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that reads the database as it was at one moment."""
    still = (
        {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    )
    with refused_clearly(engine), engine.execution_options(**still).begin() as connection:
        yield connection


@contextmanager
def refused_clearly(engine: Engine) -> Iterator[None]:
    """Turn what the database is to blame for into an `UnavailableError`, and a value it cannot hold into bad input."""
    try:
        yield
    except PoolTimeoutError:
        raise UnavailableError(unavailable(engine, f"no connection became free within {PATIENCE} s")) from None
    except UnicodeDecodeError:
        raise UnavailableError(unavailable(engine, "a text in it is damaged")) from None
    except (DataError, OverflowError, UnicodeEncodeError) as error:
        why = error.orig if isinstance(error, DataError) else error
        raise InputError(f"the database cannot hold a value that was given: {' '.join(str(why).split())}") from None
    except DBAPIError as error:
        if "no such column" in str(error.orig) or getattr(error.orig, "sqlstate", None) == "42703":
            raise InputError(
                f"the database {place_of(engine)} has other tables than a gate's: {' '.join(str(error.orig).split())}"
            ) from None
        if not blames_database(error):
            raise
        raise UnavailableError(unavailable(engine, str(error.orig))) from error


def unavailable(engine: Engine, why: str) -> str:
    """Say in one sentence that the database cannot be used, and why."""
    reason = " ".join(why.split())
    return f"the database {place_of(engine)} cannot be used now ({reason}): send the request again later"


def blames_database(error: DBAPIError) -> bool:
    """Whether an error is the database's: gone, locked, full, read-only, broken, or without the tables."""
    if error.connection_invalidated or "no such table" in str(error.orig):
        return True
    if isinstance(error.orig, sqlite3.Error):  # SQLite has one kind for a full disk and for faulty SQL
        code = vars(error.orig).get("sqlite_errorcode")  # none where a text of the file is no text
        return type(error) in (OperationalError, DatabaseError) and code != sqlite3.SQLITE_ERROR
    missing_table = getattr(error.orig, "sqlstate", None) == "42P01"
    return missing_table or isinstance(error, (OperationalError, InterfaceError, InternalError))


def insert(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> None:
    """Insert rows that are given as columns of one length, thousands at once."""
    values = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    rows = list(zip(*values, strict=True))
    names = ", ".join(f'"{name}"' for name in columns)
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(values))
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", rows)
    else:
        copy(connection, f"COPY {table.name} ({names}) FROM STDIN", rows)


def copy(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Send rows to PostgreSQL by COPY, four times as fast as INSERT for thousands and no slower for one."""
    import psycopg

    try:
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(statement) as sink:
            for row in rows:
                sink.write_row(row)
    except psycopg.Error as error:
        raise DBAPIError.instance(statement, None, error, psycopg.Error, dialect=connection.dialect) from error


def find(
    connection: Connection, gate: int, ids: Sequence[str], table: Table = cases, by: str = "id"
) -> Sequence[Row[Any]]:
    """Return the rows of a gate that have one of the ids (or of the values of another column), in no order.

    Without statistics, which a table that has just grown lacks, both databases would rather read all of a gate's
    rows; so the queries are written such that each id can only be looked up in the index.
    """
    wanted = list(dict.fromkeys(ids))
    names = ", ".join(f'found."{column.name}"' for column in table.c)
    if connection.dialect.name == "sqlite":  # which keeps the order of a CROSS JOIN
        rows = f"json_each(?) wanted CROSS JOIN {table.name} found ON found.gate = ? AND found.{by} = wanted.value"
        return connection.exec_driver_sql(f"SELECT {names} FROM {rows}", (json.dumps(wanted), gate)).all()
    one = (
        f"SELECT * FROM {table.name} WHERE gate = %s AND {by} = wanted.id OFFSET 0"  # which keeps it from being merged
    )
    query = f"SELECT {names} FROM unnest(%s::varchar[]) wanted (id), LATERAL ({one}) found"
    return connection.exec_driver_sql(query, (wanted, gate)).all()
