"""Preparing: the tables, made or brought up to date by alembic, once even if several servers start at once."""

from __future__ import annotations

import threading
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect

from fairgate import __version__
from fairgate.errors import InputError
from fairgate.live.database import place_of, reading, writing

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
        found = revision_of(connection)
    if found == REVISION:
        return
    with MIGRATING, writing(engine) as connection:
        if connection.dialect.name == "postgresql":  # SQLite has its lock already
            connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        found = revision_of(connection)
        if found != REVISION:
            upgrade(connection, found, place_of(engine))
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
    if not inspect(connection).has_table(VERSIONS):
        return None
    found = connection.exec_driver_sql(f"SELECT version_num FROM {VERSIONS}").scalar()
    return None if found is None else str(found)


def upgrade(connection: Connection, found: str | None, place: str) -> None:
    """Run the migrations that a database lacks, inside the transaction of a connection."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config(attributes={"connection": connection, "version_table": VERSIONS})
    config.set_main_option("script_location", MIGRATIONS)
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    if found is not None and found not in {each.revision for each in scripts.walk_revisions()}:
        raise InputError(
            f"the database {place} has the tables of revision {found}, made by a newer fairgate, and fairgate "
            f"{__version__} knows them up to {scripts.get_current_head()}: install the newer version, or "
            "restore a backup that is older"
        )
    command.upgrade(config, "head")
