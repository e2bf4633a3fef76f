"""Migrations: they make the tables of the schema, keep data, do not race, and refuse a newer database."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from fairgate import __version__
from fairgate.errors import InputError
from fairgate.live import Gate, Spec, preparing
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.backup import back_up, check_copy
from fairgate.live.database import connect, reading, use_wal, writing
from fairgate.live.keys import list_keys
from fairgate.live.preparing import REVISION, prepare, revision_of
from fairgate.live.schema import METADATA
from tests.live import first_revision

SHIPPED = Path(preparing.__file__).parent / "migrations"
SPEC = {"name": "credit", "groups": ["a", "b"], "grid": [0.25, 0.5, 0.75], "start": {"threshold": 0.5}}

OPTIONS = {"version_table": preparing.VERSIONS, "compare_type": True, "compare_server_default": True}
"""How alembic compares tables with the schema."""

LATER = f"""
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{REVISION}"


def upgrade():
    op.add_column("cases", sa.Column("branch", sa.String(20), nullable=False, server_default="none"))
    op.create_index("cases_by_branch", "cases", ["gate", "branch"])
"""


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = connect(database_url)
    yield made
    made.dispose()


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version of the library, with one more revision."""
    folder = tmp_path / "migrations"
    shutil.copytree(SHIPPED, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "r9999_later.py").write_text(LATER)
    monkeypatch.setattr(preparing, "MIGRATIONS", str(folder))
    monkeypatch.setattr(preparing, "REVISION", "9999")


def test_migrations_make_the_tables_of_the_schema(engine: Engine) -> None:
    prepare(engine)
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), METADATA) == []


def test_each_revision_leads_to_the_next_and_the_last_has_the_tables_of_the_schema(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = sorted((SHIPPED / "versions").glob("r*.py"))
    engine = connect(database_url)
    for known in range(1, len(scripts) + 1):
        folder = tmp_path / f"{known}"
        unknown = [script.name for script in scripts[known:]]
        shutil.copytree(SHIPPED, folder, ignore=shutil.ignore_patterns("__pycache__", *unknown))
        monkeypatch.setattr(preparing, "MIGRATIONS", str(folder))
        monkeypatch.setattr(preparing, "REVISION", scripts[known - 1].name[1:5])
        prepare(engine)
        with reading(engine) as connection:
            assert revision_of(connection) == preparing.REVISION
            assert inspect(connection).has_table("ended_sessions") == (known > 1)
            assert inspect(connection).has_table("replies") == (known > 2)
    assert preparing.REVISION == REVISION
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), METADATA) == []
    engine.dispose()


def test_sqlite_has_the_very_same_tables(tmp_path: Path) -> None:
    """What alembic does not compare: tables without rowid, unique constraints."""
    migrated, direct = connect(str(tmp_path / "migrated.db")), connect(str(tmp_path / "direct.db"))
    prepare(migrated)
    (tmp_path / "direct.db").touch()
    with writing(direct) as connection:
        METADATA.create_all(connection)
    ours = "tbl_name NOT IN (:name, 'sqlite_stat1') AND sql IS NOT NULL"
    query = text(f"SELECT name, sql FROM sqlite_master WHERE {ours} ORDER BY name")
    found = []
    for engine in (migrated, direct):
        with reading(engine) as connection:
            rows = connection.execute(query, {"name": preparing.VERSIONS}).all()
            found.append([(name, " ".join(sql.split())) for name, sql in rows])
        engine.dispose()
    assert found[0] == found[1]


def test_the_newest_revision_is_the_one_that_the_program_looks_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(SHIPPED))
    assert ScriptDirectory.from_config(config).get_current_head() == REVISION


@pytest.mark.usefixtures("later")
def test_a_later_version_keeps_what_the_first_one_stored(
    database_url: str, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    with monkeypatch.context() as first:
        first.setattr(preparing, "REVISION", REVISION)
        first.setattr(preparing, "MIGRATIONS", str(SHIPPED))
        gate = Gate(database_url, "credit", spec=Spec.read(SPEC))
        gate.decide(["x", "y", "z"], ["a", "b", "a"], [0.1, 0.6, 0.9])
        gate.outcomes(["y"], [1])
        gate.close()
        before = gate.snapshot(), gate.log(), check_copy(gate.engine)
        gate.shut()
    gate = Gate(database_url, "credit")
    with reading(engine) as connection:
        assert revision_of(connection) == "9999"
        assert connection.scalar(text("SELECT count(*) FROM cases WHERE branch = 'none'")) == 3
    assert (gate.snapshot(), gate.log(), check_copy(gate.engine)) == before
    gate.shut()


def test_a_database_of_the_first_revision_is_gone_on_with(tmp_path: Path, postgresql_url: str) -> None:
    """The stored text is never made again: it is what the first release wrote."""
    first_revision.load(tmp_path / "gate.db")
    stored = connect(str(tmp_path / "gate.db"))
    with reading(stored) as connection:
        assert revision_of(connection) == "0001"
    stored.dispose()
    for url in (str(tmp_path / "gate.db"), postgresql_url):
        if url == postgresql_url:
            back_up(str(tmp_path / "gate.db"), url)
        gate = Gate(url, "credit")
        with reading(gate.engine) as connection:
            assert revision_of(connection) == REVISION
        report = gate.audit()
        assert (report.clean, report.first) == (True, None)
        assert gate.case("b-1").override == "a person knows better"
        (key,) = list_keys(gate.engine, "credit")  # which could close rounds, and still can
        assert (key.name, key.scopes) == ("application", ("decide", "rounds"))
        before = gate.status()
        gate.decide(f"now {len(url)}", "men", 0.6)
        assert gate.status().seq > before.seq
        gate.close(actor="key:application")
        assert gate.audit().clean
        gate.shut()


def test_scopes_of_older_keys_are_extended_alike_in_both_databases(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "second"
    shutil.copytree(SHIPPED, folder, ignore=shutil.ignore_patterns("__pycache__", "r0003_*", "r0004_*", "r0005_*"))
    with monkeypatch.context() as second:
        second.setattr(preparing, "MIGRATIONS", str(folder))
        second.setattr(preparing, "REVISION", "0002")
        prepare(engine)
    had = ["decide", "decide,outcomes,read", "outcomes,read", "admin"]
    with writing(engine) as connection:
        connection.exec_driver_sql("INSERT INTO gates (name, secret, last, head) VALUES ('credit', '', 0, '')")
        for place, scopes in enumerate(had):
            row = f"('{place}', 1, 'key {place}', '', '{scopes}', '')"
            connection.exec_driver_sql(f"INSERT INTO api_keys (id, gate, name, hash, scopes, created) VALUES {row}")
    prepare(engine)
    with reading(engine) as connection:
        found = connection.execute(text("SELECT scopes FROM api_keys ORDER BY id")).scalars().all()
    assert found == ["decide,rounds", "decide,rounds,outcomes,read", "outcomes,read", "admin"]


def test_a_database_that_was_not_brought_up_to_date_can_be_audited(tmp_path: Path) -> None:
    """As the command does, which changes nothing."""
    first_revision.load(tmp_path / "gate.db")
    engine = connect(str(tmp_path / "gate.db"))
    with stored_log(engine, "credit") as log:
        assert audit_log(log).clean
    with reading(engine) as connection:
        assert revision_of(connection) == "0001"
    engine.dispose()


def test_an_older_version_refuses_a_newer_database_in_one_sentence(engine: Engine) -> None:
    prepare(engine)
    with writing(engine) as connection:
        connection.exec_driver_sql(f"UPDATE {preparing.VERSIONS} SET version_num = '9999'")
    with pytest.raises(InputError) as told:
        prepare(engine)
    newer = f"revision 9999, made by a newer fairgate, and fairgate {__version__} knows them up to {REVISION}"
    assert newer in str(told.value)
    assert "install the newer version, or restore a backup" in str(told.value)
    with reading(engine) as connection:
        assert revision_of(connection) == "9999"


@pytest.mark.usefixtures("later")
def test_a_migration_that_fails_changes_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as first:
        first.setattr(preparing, "REVISION", REVISION)
        first.setattr(preparing, "MIGRATIONS", str(SHIPPED))
        prepare(engine)
    broken = LATER + "    raise RuntimeError('half way')\n"
    (tmp_path / "migrations" / "versions" / "r9999_later.py").write_text(broken)
    with pytest.raises(RuntimeError, match="half way"):
        prepare(engine)
    with reading(engine) as connection:
        assert revision_of(connection) == REVISION
        assert "branch" not in {each["name"] for each in inspect(connection).get_columns("cases")}


def test_servers_that_start_at_once_do_not_race(database_url: str) -> None:
    failed: list[BaseException] = []
    ready = threading.Barrier(6)

    def start() -> None:
        engine = connect(database_url)
        ready.wait()
        try:
            prepare(engine)
        except BaseException as error:
            failed.append(error)
        finally:
            engine.dispose()

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_connections_that_change_a_new_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "gate.db"
    path.touch()
    first = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    first.execute("BEGIN EXCLUSIVE")
    freed = threading.Timer(0.2, lambda: first.execute("COMMIT"))
    freed.start()
    second = sqlite3.connect(path, timeout=0, isolation_level=None)
    use_wal(second)
    assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    freed.join()
    first.close()
    second.close()


@pytest.mark.slow
def test_processes_that_start_at_once_do_not_race(database_url: str) -> None:
    code = (
        "import sys, json; from fairgate.live import Gate, Spec; print('ready', flush=True); sys.stdin.readline();"
        "gate = Gate(sys.argv[1], 'credit', spec=Spec.read(json.loads(sys.argv[2]))); gate.shut()"
    )
    command = [sys.executable, "-W", "error", "-c", code, database_url, json.dumps(SPEC)]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(3)]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 3, ends
    gate = Gate(database_url, "credit")
    assert [event.kind for event in gate.log()] == ["created"]
    gate.shut()


def test_a_table_of_another_programs_migrations_does_not_matter(engine: Engine) -> None:
    prepare(engine)
    with writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num varchar(32))")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('another')")
    prepare(engine)
