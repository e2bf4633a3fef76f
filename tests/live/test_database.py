"""The database: durable, alike in SQLite and PostgreSQL, clear when it cannot be used, and well again by itself."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from sqlalchemy import Connection, Engine, event, select, update
from sqlalchemy.exc import IntegrityError

from fairgate.errors import InputError
from fairgate.live import Gate, Spec, database
from fairgate.live.database import connect, find, insert, reading, writing
from fairgate.live.failures import UnavailableError
from fairgate.live.preparing import prepare
from fairgate.live.schema import cases, gates


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = connect(database_url)
    prepare(made)
    yield made
    made.dispose()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Engine]:
    made = connect(str(tmp_path / "gate.db"))
    prepare(made)
    yield made
    made.dispose()


def add_gate(engine: Engine, number: int = 1) -> None:
    with writing(engine) as connection:
        row: dict[str, Any] = {
            "number": [number],
            "name": [f"g{number}"],
            "secret": [b"\0s"],
            "last": [0],
            "head": ["0" * 64],
        }
        insert(connection, gates, row)


def names(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return list(connection.scalars(select(gates.c.name).order_by(gates.c.number)))


def people(n: int, gate: int = 1, seq: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seq)
    return {
        "gate": [gate] * n,
        "seq": [seq] * n,
        "place": np.arange(n),
        "id": [f"a-{seq}-{i}" for i in range(n)],
        "round": [3] * n,
        "group": rng.integers(0, 2, n),
        "score": rng.normal(size=n),
        "bin": rng.integers(0, 9, n),
        "draw": rng.random(n),
        "accepted": rng.integers(0, 2, n),
        "subject": [None if i % 3 else f"{gate}-{seq}-{i}" for i in range(n)],
    }


def test_what_is_inserted_is_found_bit_for_bit(engine: Engine) -> None:
    given = people(3000)
    with writing(engine) as connection:
        insert(connection, cases, given)
        insert(connection, cases, people(10, gate=2, seq=1))  # the same ids at another gate
        insert(connection, cases, people(0, seq=2))
    wanted = [*given["id"][::2], given["id"][0], "unknown", "a'\"{};--é"]
    with reading(engine) as connection:
        found = sorted(find(connection, 1, wanted), key=lambda row: row.place)
        assert find(connection, 1, []) == []
    assert [row.id for row in found] == given["id"][::2]
    for column in cases.c:
        assert [row._mapping[column.name] for row in found] == list(given[column.name])[::2]


def test_an_id_of_any_text_is_found(engine: Engine) -> None:
    strange = ["1", "1.0", "null", "é", "'", '"', "a b", "\\u0041", "%s", "?", "日本"]
    given = {name: list(column)[: len(strange)] for name, column in people(len(strange)).items()} | {"id": strange}
    with writing(engine) as connection:
        insert(connection, cases, given)
        assert sorted(row.id for row in find(connection, 1, strange)) == sorted(strange)
        assert [row.id for row in find(connection, 1, ["1"])] == ["1"]


def test_a_row_that_is_there_already_is_an_error_of_ours_and_nothing_of_the_batch_stays(engine: Engine) -> None:
    add_gate(engine)
    row: dict[str, Any] = {"number": [2, 1], "name": ["h", "i"], "secret": [b"", b""], "last": [0, 0], "head": ["", ""]}
    with pytest.raises(IntegrityError), writing(engine) as connection:
        insert(connection, gates, row)
    assert names(engine) == ["g1"]


def test_faulty_sql_is_not_blamed_on_the_database(engine: Engine) -> None:
    with pytest.raises(Exception, match="nonsense") as caught, reading(engine) as connection:
        connection.exec_driver_sql("SELECT nonsense FROM gates")
    assert not isinstance(caught.value, UnavailableError)


@pytest.mark.parametrize("value", ["\ud800", 2**70], ids=["half a character", "a huge number"])
def test_a_value_that_no_column_holds_is_bad_input(engine: Engine, value: object) -> None:
    column = gates.c.name if isinstance(value, str) else gates.c.last
    with (
        pytest.raises(InputError, match="the database cannot hold a value that was given"),
        reading(engine) as connection,
    ):
        connection.execute(select(gates).where(column == value))


def test_postgresql_has_no_text_with_nul(postgresql_url: str) -> None:
    engine = connect(postgresql_url)
    prepare(engine)
    with pytest.raises(InputError, match="cannot contain NUL"), reading(engine) as connection:
        connection.execute(select(gates).where(gates.c.name == "\0"))
    engine.dispose()


def test_a_commit_is_on_disk_when_it_returns(engine: Engine) -> None:
    with writing(engine) as connection:
        if engine.dialect.name == "sqlite":
            found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
            assert found == ["wal", 2]
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


def test_a_reader_sees_one_moment_and_stops_no_writer(engine: Engine) -> None:
    add_gate(engine)
    with reading(engine) as connection:
        before = connection.scalars(select(gates.c.name)).all()
        add_gate(engine, 2)
        assert connection.scalars(select(gates.c.name)).all() == before == ["g1"]
    assert names(engine) == ["g1", "g2"]


def test_writers_take_turns(engine: Engine) -> None:
    add_gate(engine)

    def count() -> None:
        for _ in range(10):
            with writing(engine) as connection:
                last = connection.execute(select(gates.c.last).with_for_update()).scalar_one()
                connection.execute(update(gates).values(last=last + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with reading(engine) as connection:
        assert connection.scalar(select(gates.c.last)) == 40


def test_an_exception_of_the_caller_undoes_the_transaction_and_passes(engine: Engine) -> None:
    def fail(connection: Connection) -> None:
        insert(connection, gates, {"number": [1], "name": ["x"], "secret": [b""], "last": [0], "head": [""]})
        raise InputError("mine")

    with pytest.raises(InputError, match="mine"), writing(engine) as connection:
        fail(connection)
    assert names(engine) == []


def fill(connection: Connection) -> None:
    insert(connection, cases, people(5000))


def test_a_full_disk_is_one_sentence_and_over_once_there_is_room(file: Engine) -> None:
    add_gate(file)
    file.dispose()

    @event.listens_for(file, "connect")
    def shrink(connection: sqlite3.Connection, entry: object) -> None:
        connection.execute("PRAGMA max_page_count = 30")

    with (
        pytest.raises(UnavailableError, match=r"gate.db cannot be used now \(database or disk is full\): send") as told,
        writing(file) as connection,
    ):
        fill(connection)
    assert "\n" not in str(told.value)
    assert names(file) == ["g1"]
    event.remove(file, "connect", shrink)
    file.dispose()
    with writing(file) as connection:
        fill(connection)
        assert len(find(connection, 1, ["a-1-0"])) == 1


def test_a_read_only_file_is_one_sentence(file: Engine) -> None:
    with reading(file) as connection:
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(UnavailableError, match="readonly database"), writing(file) as connection:
        fill(connection)


def test_a_lock_that_another_program_holds_is_one_sentence(file: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    path = database.place_of(file)
    patient = connect(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(UnavailableError, match=r"\(database is locked\)"):
        add_gate(patient)
    other.close()
    add_gate(patient)
    assert names(patient) == ["g1"]
    patient.dispose()


def test_a_deleted_file_takes_nothing_and_is_used_again_once_it_is_back(file: Engine, tmp_path: Path) -> None:
    add_gate(file)
    path, away = tmp_path / "gate.db", tmp_path / "away"
    with reading(file) as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    path.rename(away)
    for _ in range(2):
        with pytest.raises(UnavailableError, match="unable to open database file"):
            add_gate(file, 2)
    assert not path.exists()
    away.rename(path)
    add_gate(file, 2)
    assert names(file) == ["g1", "g2"]


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "gate.db").write_bytes(b"not a database" * 1000)
    engine = connect(str(tmp_path / "gate.db"))
    with pytest.raises(UnavailableError, match="file is not a database"):
        prepare(engine)
    engine.dispose()


def test_tables_that_vanished_are_one_sentence(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.exec_driver_sql("DROP TABLE cases")
    with pytest.raises(UnavailableError, match="cases"), reading(engine) as connection:
        find(connection, 1, ["a"])


def test_a_broken_connection_is_replaced(postgresql_url: str, postgresql: str) -> None:
    engine = connect(postgresql_url)
    prepare(engine)
    add_gate(engine)

    def kill() -> None:
        with psycopg.connect(postgresql, autocommit=True) as other:
            other.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{engine.url.database}'"
            )

    kill()  # idle in the pool: nobody notices
    assert names(engine) == ["g1"]

    def read_late(connection: Connection) -> None:
        kill()
        connection.execute(select(gates))

    def fill_late(connection: Connection) -> None:
        kill()
        fill(connection)

    for fails in (read_late, fill_late):
        with pytest.raises(UnavailableError, match=r"terminating connection|lost"), writing(engine) as connection:
            fails(connection)
    add_gate(engine, 2)
    assert names(engine) == ["g1", "g2"]
    engine.dispose()


def test_a_server_that_is_not_there_is_one_sentence_without_the_password() -> None:
    engine = connect("postgresql://gate:secret@127.0.0.1:1/gate")
    with pytest.raises(UnavailableError, match="refused") as told:
        prepare(engine)
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)


def test_postgresql_waits_for_a_lock_only_so_long(postgresql_url: str) -> None:
    engine = connect(f"{postgresql_url}&options=-c lock_timeout=50ms")
    prepare(engine)
    add_gate(engine)
    with writing(engine) as holder:
        holder.execute(select(gates).with_for_update())
        with pytest.raises(UnavailableError, match="lock timeout"), writing(engine) as connection:
            connection.execute(select(gates).with_for_update())
    engine.dispose()


def test_a_read_only_server_is_one_sentence(postgresql_url: str) -> None:
    engine = connect(postgresql_url)
    prepare(engine)
    with writing(engine) as connection:
        connection.exec_driver_sql(f"ALTER DATABASE {engine.url.database} SET default_transaction_read_only = on")
    engine.dispose()
    with pytest.raises(UnavailableError, match="read-only"), writing(engine) as connection:
        connection.execute(gates.delete())
    engine.dispose()


def test_many_readers_wait_for_a_connection_only_so_long(file: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "POOL", database.POOL | {"pool_size": 1, "max_overflow": 0, "pool_timeout": 0.05})
    narrow = connect(database.place_of(file))
    with reading(narrow), pytest.raises(UnavailableError, match="no connection became free"), reading(narrow):
        pass
    narrow.dispose()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://localhost/x", "such as gate.db or postgresql://user@host/name, got mysql://localhost/x"),
        (":memory:", "one in memory would lose what it acknowledged, got ':memory:'"),
        ("sqlite://", "one in memory"),
        ("", "one in memory"),
        ("postgresql://host:port/x", "got 'postgresql://host:port/x'"),
        ("oracle://u:secret@h/x", r"got oracle://u:\*\*\*@h/x"),
    ],
)
def test_what_is_no_database_is_one_sentence(url: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        connect(url)


def test_a_file_where_none_can_be_made_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gate.db cannot be made: no such file or directory"):
        prepare(connect(str(tmp_path / "none" / "gate.db")))


def test_a_new_file_is_its_owners_only(file: Engine, tmp_path: Path) -> None:
    add_gate(file)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_ids_are_looked_up_in_the_index_whatever_the_statistics(engine: Engine) -> None:
    """Without statistics PostgreSQL read all cases of the gate; statistics of an empty table made SQLite do so."""
    with writing(engine) as connection:
        connection.exec_driver_sql("ANALYZE")
    with writing(engine) as connection:
        for seq in range(1, 5):
            insert(connection, cases, people(1000, seq=seq))
    plans: list[str] = []

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def explain(connection: object, cursor: object, query: str, parameters: Any, *_: object) -> tuple[str, Any]:
        how = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
        return (how + query if "wanted" in query else query), parameters

    with reading(engine) as connection:
        plans += [" ".join(map(str, row)) for row in find(connection, 1, [f"a-1-{i}" for i in range(500)])]
    event.remove(engine, "before_cursor_execute", explain)
    index = "sqlite_autoindex_cases_2" if engine.dialect.name == "sqlite" else "Index Scan using cases_gate_id_key"
    assert any(index in line for line in plans), plans
    assert not any("Seq Scan" in line or "SCAN found" in line for line in plans), plans


def test_no_call_reads_a_whole_log_where_an_index_finds_it(tmp_path: Path) -> None:
    """SQLite guesses that a gate has ten events, unless it is told otherwise."""
    spec = Spec.read({"name": "credit", "groups": ["a"], "grid": [0.5], "start": {"threshold": 0.5}})
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    gate.decide(["x", "y"], ["a", "a"], [0.1, 0.9])
    asked: dict[str, Any] = {}

    @event.listens_for(gate.engine, "before_cursor_execute")
    def note(connection: object, cursor: object, query: str, parameters: Any, *_: object) -> None:
        if query.startswith("SELECT"):
            asked[query] = parameters

    gate.outcomes(["y"], [1], key="k")
    gate.case("x")
    gate.figures()
    gate.cases(after=(2, 1))
    gate.log(kind="closed")
    gate.log(kind="closed", newest=True)
    event.remove(gate.engine, "before_cursor_execute", note)
    assert len(asked) > 10
    with reading(gate.engine) as connection:
        for query, parameters in asked.items():
            plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}", parameters)]
            for table in ("events", "cases", "outcomes"):
                assert f"SEARCH {table} USING PRIMARY KEY (gate=?)" not in plan, (query, plan)
                assert not any(step.startswith(f"SCAN {table}") for step in plan), (query, plan)
            assert not any("TEMP B-TREE" in step for step in plan), (query, plan)
    gate.shut()
