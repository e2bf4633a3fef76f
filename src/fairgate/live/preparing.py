"""Preparing: the tables, made or brought up to date by alembic, once even if several servers start at once."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from reprlib import repr as brief

from sqlalchemy import Connection, Engine, inspect

from fairgate import __version__
from fairgate.errors import InputError
from fairgate.live.database import place_of, reading, writing
from fairgate.live.schema import METADATA

REVISION = "0004"
"""The newest revision of the tables."""

VERSIONS = "fairgate_revision"
"""The table that says which revision a database has; not alembic's own name, which another program may use."""

SIZES = (
    ("events", "events", "1000000 1000000 1"),
    ("events", "sqlite_autoindex_events_2", "1000000 1000000 1"),
    ("events", "events_by_round", "1000000 1000000 100000 5"),
    ("cases", "cases", "1000000 1000000 100 1"),
    ("cases", "sqlite_autoindex_cases_2", "1000000 1000000 1"),
    ("cases", "cases_by_subject", "1000000 1000000 1"),
    ("outcomes", "outcomes", "1000000 1000000 1 1"),
    ("outcomes", "outcomes_by_event", "1000000 1000000 100"),
    ("overrides", "overrides", "10000 10000 1"),
    ("replies", "replies", "10000 10000 1"),
    ("replies", "replies_by_time", "10000 10000 10"),
    ("snapshots", "snapshots", "10 10 1"),
)
"""Tables, their indexes, and how many rows share the first columns of each, as SQLite's ANALYZE writes it.

They are those of one large gate. What ANALYZE itself finds while a table is small makes SQLite read all of it later.
"""

MIGRATIONS = "fairgate.live:migrations"

LOCK = 0x6661697267617465
"""Key of the lock that servers of PostgreSQL wait for while one migrates: "fairgate" in ASCII."""

MIGRATING = threading.Lock()
"""Held while this process migrates: what runs is known to alembic by global names."""


def prepare(engine: Engine) -> None:
    """Make the tables, or bring them up to date; a database of a newer version is refused.

    Servers that start at once wait for each other. A new file can be read by its owner only, as it holds secrets.
    """
    if engine.dialect.name == "sqlite":
        make_file(Path(place_of(engine)))
    with reading(engine) as connection:
        found = known_revision(connection)
    if found == REVISION:
        return
    with MIGRATING, writing(engine) as connection:
        if connection.dialect.name == "postgresql":  # SQLite has its lock already
            connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        found = known_revision(connection)
        if found != REVISION:
            upgrade(connection)
            if connection.dialect.name == "sqlite":
                tell_sizes(connection)
    engine.dispose()  # connections learn the sizes when they are opened


def tell_sizes(connection: Connection) -> None:
    """Tell SQLite how large tables become; it would guess, and read a whole log where an index finds one event."""
    connection.exec_driver_sql("ANALYZE")
    connection.exec_driver_sql("DELETE FROM sqlite_stat1")
    connection.exec_driver_sql("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", list(SIZES))


def make_file(path: Path) -> None:
    """Make an empty file if there is none."""
    try:
        path.touch(mode=0o600)
    except OSError as error:
        raise InputError(f"database {path} cannot be made: {(error.strerror or '').lower()}") from None


def revision_of(connection: Connection) -> str | None:
    """Return the revision of the tables, None if there are none."""
    check_tables(connection)
    names = set(inspect(connection).get_table_names())
    if VERSIONS not in names:
        if strange := sorted(names & set(METADATA.tables)):
            raise InputError(
                f"the database {place_of(connection.engine)} has a table {strange[0]} that no gate made: name another"
            )
        return None
    rows = connection.exec_driver_sql(f"SELECT version_num FROM {VERSIONS} LIMIT 2").scalars().all()
    place = place_of(connection.engine)
    if len(rows) > 1:
        both = " and ".join(brief(each) for each in rows)
        raise InputError(f"the database {place} has tables of two revisions, {both}: restore a backup")
    if not rows:
        raise InputError(f"the database {place} does not say of which revision its tables are: restore a backup")
    return str(rows[0])


def known_revision(connection: Connection) -> str | None:
    """Return the revision of the tables, None if there are none; one that this version does not know is refused."""
    found = revision_of(connection)
    if found is not None and not (re.fullmatch("[0-9]{4}", found) and "0001" <= found <= REVISION):
        raise InputError(
            f"the database {place_of(connection.engine)} has the tables of revision {found[:80]}, made by a newer "
            f"fairgate, and fairgate {__version__} knows them up to {REVISION}: install the newer version, or restore "
            "a backup that is older"
        )
    return found


def check_tables(connection: Connection) -> None:
    """Refuse a file of SQLite in which reading a table, or writing to it, runs what the file says."""
    if connection.dialect.name != "sqlite":
        return
    own = {*METADATA.tables, VERSIONS}
    rows = connection.exec_driver_sql("SELECT type, name, tbl_name, sql FROM sqlite_master").all()
    for kind, name, table, text in rows:
        virtual = kind == "table" and re.match(r"\s*create\s+virtual", str(text), re.IGNORECASE) is not None
        if str(table).lower() in own and (kind in ("view", "trigger") or virtual):
            what = "a virtual table" if virtual else f"a {kind}"
            raise InputError(
                f"the database {place_of(connection.engine)} has {what} {brief(name)}, which no gate makes: "
                "restore a backup"
            )
    for table in own & {str(row[1]).lower() for row in rows}:
        made_up = [row for row in connection.exec_driver_sql(f"PRAGMA table_xinfo({table})") if row.hidden]
        if made_up:
            raise InputError(
                f"the database {place_of(connection.engine)} has a computed column {brief(made_up[0].name)} in "
                f"{table}, which no gate makes: restore a backup"
            )


def upgrade(connection: Connection) -> None:
    """Run the migrations that a database lacks, inside the transaction of a connection."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection, "version_table": VERSIONS})
    config.set_main_option("script_location", MIGRATIONS)
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")
