"""Whatever is changed in a log is found, and the first event that does not fit is named."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairgate.live import gate as module
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.auditing import AuditReport
from fairgate.live.database import connect
from fairgate.live.events import START, Event, make_event
from fairgate.live.schema import METADATA
from tests.live.logs import make_spec, opened, write_busy, write_counts

BESIDE = {"ended_sessions", "replies"}
"""Tables of the page and of retries, which are no part of the log."""

COLUMNS = [
    (table.name, column.name) for table in METADATA.sorted_tables if table.name not in BESIDE for column in table.c
]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean log with events of all kinds and snapshots."""
    path = tmp_path_factory.mktemp("log") / "gate.db"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "SNAPSHOT_ROUNDS", 5)
        with opened(str(path), make_spec()) as lender:
            write_busy(lender)
            noted = lender.gate.status()
    report = read(path, head=noted.head, last=noted.seq)
    assert report.clean, report.first
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def tampered(log: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of it that may be changed."""
    with closing(copy(log, tmp_path)) as connection:
        yield connection


def copy(log: Path, folder: Path) -> sqlite3.Connection:
    shutil.copy(log, folder / "gate.db")
    return sqlite3.connect(folder / "gate.db", isolation_level=None)


def read(path: Path, name: str = "credit", **noted: Any) -> AuditReport:
    engine = connect(str(path))
    try:
        with stored_log(engine, name) as found:
            return audit_log(found, **noted)
    finally:
        engine.dispose()


def rows_of(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    connection.row_factory = sqlite3.Row
    keys = ", ".join(f'"{each.name}"' for each in METADATA.tables[table].primary_key)
    return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY {keys}")]


def change(connection: sqlite3.Connection, table: str, row: dict[str, Any], **values: Any) -> None:
    """Change columns of a row."""
    keys = [each.name for each in METADATA.tables[table].primary_key]
    setting = ", ".join(f'"{name}" = ?' for name in values)
    where = " AND ".join(f'"{name}" = ?' for name in keys)
    given = [*values.values(), *(row[name] for name in keys)]
    assert connection.execute(f"UPDATE {table} SET {setting} WHERE {where}", given).rowcount == 1


def other(value: Any, column: str) -> Any:
    """Return another value of the same kind."""
    if column == "subject_key":
        return b"changed"
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    if column in ("accepted", "label"):
        return 1 - value
    if isinstance(value, int | float):
        return value + (0.001 if column == "score" else 1000 if column in ("gate", "number", "seq", "place") else 1)
    if column == "id" or value is None:
        return f"{value}-changed"
    return f"{value[:-1]}{'0' if value[-1] != '0' else '1'}"


def events_of(connection: sqlite3.Connection) -> list[Event]:
    return [Event(*(row[name] for name in Event._fields)) for row in rows_of(connection, "events")]


def first_of(connection: sqlite3.Connection, kind: str) -> Event:
    return next(each for each in events_of(connection) if each.kind == kind)


def chain_again(connection: sqlite3.Connection, change_body: Callable[[Event, dict[str, Any]], None]) -> None:
    """Change bodies, and compute all hashes again, that of the gate's row as well."""
    head = START
    for old in events_of(connection):
        data = old.data
        change_body(old, data)
        new = make_event(head, old.seq, old.kind, old.round, data, old.at, old.actor, old.key, old.request)
        head = new.hash
        connection.execute("UPDATE events SET body = ?, hash = ? WHERE seq = ?", (new.body, new.hash, new.seq))
    connection.execute("UPDATE gates SET head = ?", (head,))


def named(connection: sqlite3.Connection, table: str, column: str, row: dict[str, Any]) -> int:
    """Return the event that must be named first."""
    last = rows_of(connection, "gates")[0]["last"]
    if table == "gates":
        first = first_of(connection, "opened").seq
        if "commitment" in first_of(connection, "created").data:  # it commits to the gate's secret
            first = 1
        found: dict[str, int] = {"secret": first, "name": 1, "last": row["last"] + 1, "head": last, "subject_key": last}
        return found[column]
    if table == "api_keys":
        return row_event(connection, row)
    if table == "snapshots" and column == "seq":
        return int(other(row["seq"], "seq"))
    return int(row["seq"])


def row_event(connection: sqlite3.Connection, row: dict[str, Any]) -> int:
    """Return the last event about a key."""
    mine = [each for each in events_of(connection) if each.kind.startswith("key-") and each.data["id"] == row["id"]]
    return mine[-1].seq


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=lambda each: str(each))
def test_a_change_of_any_column_is_found(tampered: sqlite3.Connection, table: str, column: str, tmp_path: Path) -> None:
    rows = rows_of(tampered, table)
    assert rows, f"the log has nothing in {table}"
    row = rows[len(rows) // 2]
    if (table, column) in (("gates", "number"), ("snapshots", "gate")):
        return  # the gate has no rows any more; and a snapshot that is gone costs time only
    seq = named(tampered, table, column, row)
    change(tampered, table, row, **{column: other(row[column], column)})
    name = rows_of(tampered, "gates")[0]["name"]
    report = read(tmp_path / "gate.db", name)
    assert report.first is not None
    assert report.first.seq == seq, report.findings[:3]


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_a_change_of_any_row_is_found(log: Path, tmp_path: Path, chance: random.Random) -> None:
    with closing(copy(log, tmp_path)) as connection:
        table = chance.choice(["events", "cases", "outcomes", "overrides"])
        row = chance.choice(rows_of(connection, table))
        column = chance.choice([each for each in row if each not in ("gate", "seq")])
        value = chance.choice([other(row[column], column), "text", 7.5, b"bytes"])
        change(connection, table, row, **{column: value})
        report = read(tmp_path / "gate.db")
        assert report.first is not None, (table, column, value)
        assert report.first.seq == row["seq"], (table, column, value, report.findings[:3])


@pytest.mark.parametrize("table", ["events", "cases", "outcomes", "overrides"])
def test_a_deleted_row_is_found(tampered: sqlite3.Connection, table: str, tmp_path: Path) -> None:
    rows = rows_of(tampered, table)
    row = rows[len(rows) // 3]
    keys = [each.name for each in METADATA.tables[table].primary_key]
    where = " AND ".join(f'"{name}" = ?' for name in keys)
    tampered.execute(f"DELETE FROM {table} WHERE {where}", [row[name] for name in keys])
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == row["seq"]


@pytest.mark.parametrize("table", ["cases", "outcomes", "overrides"])
def test_a_row_that_was_put_in_is_found(tampered: sqlite3.Connection, table: str, tmp_path: Path) -> None:
    row = rows_of(tampered, table)[2 if table != "overrides" else 0]
    row["id"] = "new"
    if table == "cases":
        row["place"] = 5000
    marks = ", ".join("?" * len(row))
    names = ", ".join(f'"{name}"' for name in row)
    tampered.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == row["seq"]


def test_two_events_that_changed_places_are_found(tampered: sqlite3.Connection, tmp_path: Path) -> None:
    for a, b in ((10, 11),):
        tampered.executescript(
            f"UPDATE events SET seq = -1 WHERE seq = {a}; UPDATE events SET seq = {a} WHERE seq = {b};"
            f"UPDATE events SET seq = {b} WHERE seq = -1;"
        )
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == 10


def test_the_end_cut_off_is_found_by_the_gates_row(tampered: sqlite3.Connection, tmp_path: Path) -> None:
    last = rows_of(tampered, "gates")[0]["last"]
    tampered.execute("DELETE FROM events WHERE seq > ?", (last - 2,))
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == last - 1
    assert f"the log ends at event {last - 2}, and the gate's last event is {last}" in report.first.text


def test_the_end_cut_off_everywhere_is_found_by_the_noted_hash(tampered: sqlite3.Connection, tmp_path: Path) -> None:
    before = rows_of(tampered, "gates")[0]
    kept = events_of(tampered)[-4]
    for table in ("events", "cases", "outcomes", "overrides", "snapshots"):
        tampered.execute(f"DELETE FROM {table} WHERE seq > ?", (kept.seq,))
    tampered.execute("UPDATE gates SET last = ?, head = ?", (kept.seq, kept.hash))
    assert read(tmp_path / "gate.db").clean
    for noted in ({"head": before["head"]}, {"last": before["last"]}, {"head": before["head"], "last": before["last"]}):
        report = read(tmp_path / "gate.db", **noted)
        assert report.first is not None
        assert report.first.seq == (before["last"] if noted == {"head": None} else kept.seq + 1), noted


def test_one_hash_computed_again_is_found_at_the_next_event(tampered: sqlite3.Connection, tmp_path: Path) -> None:
    events = events_of(tampered)
    old, before = events[20], events[19]
    new = make_event(before.hash, *old[:3], old.data, old.at, "somebody else", old.key, old.request)
    change(tampered, "events", rows_of(tampered, "events")[20], actor=new.actor, hash=new.hash)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == events[21].seq


def test_the_whole_chain_made_again_hides_what_nothing_follows_from_but_not_from_the_noted_hash(
    tampered: sqlite3.Connection, tmp_path: Path
) -> None:
    noted = rows_of(tampered, "gates")[0]["head"]

    def change_reason(event: Event, data: dict[str, Any]) -> None:
        if event.kind == "corrected":
            data["reason"] = "another"

    chain_again(tampered, change_reason)
    tampered.execute("DELETE FROM snapshots")
    assert read(tmp_path / "gate.db").clean
    report = read(tmp_path / "gate.db", head=noted)
    assert report.first is not None
    assert "was noted" in report.first.text


def edit(kind: str, name: str, value: Callable[[Any], Any]) -> tuple[str, str, Callable[[Any], Any]]:
    return kind, name, value


EDITS = [
    edit("created", "spec", lambda spec: {**spec, "seed": 99, "learner": "random"}),
    edit("created", "spec", lambda spec: {**spec, "guards": {**spec["guards"], "alpha": 0.5}}),
    edit("created", "spec", lambda spec: {**spec, "grid": [0.1, 0.4, 0.6, 0.8]}),
    edit("opened", "policy", lambda policy: {**policy, "thresholds": [[[0.6, 0.6]]], "weights": [[1.0]]}),
    edit("opened", "proposal", lambda policy: {"thresholds": [[[0.8, 0.8]]], "weights": [[1.0]]}),
    edit("opened", "commitment", lambda text: "0" * 64),
    edit("opened", "mode", lambda mode: "hold"),
    edit("opened", "guards", lambda notes: [*notes, "bounds: nothing"]),
    edit("opened", "waiting", lambda waiting: "abc"),
    edit("decided", "people", lambda people: people + 1),
    edit("decided", "tally", lambda tally: [[*tally[0][:3], tally[0][3] + 1], *tally[1:]]),
    edit("decided", "digest", lambda digest: "0" * 64),
    edit("reported", "tally", lambda tally: tally[1:]),
    edit("overridden", "reason", lambda reason: "none"),
    edit("overridden", "accepted", lambda accepted: 1 - accepted),
    edit("outcomes", "tally", lambda tally: [[*tally[0][:3], 1 - tally[0][3], tally[0][4]], *tally[1:]]),
    edit("outcomes", "aside", lambda tally: [*tally, [0, 0, 0, 1, 1]]),
    edit("outcomes", "digests", lambda digests: {}),
    edit("corrected", "tally", lambda tally: []),
    edit("closed", "secret", lambda secret: "00" * 32),
    edit("closed", "people", lambda people: people + 1),
    edit("closed", "counts", lambda counts: counts[1:]),
    edit("closed", "labels", lambda labels: [*labels, [0, 0, 1, 1, 1]]),
    edit("closed", "played", lambda policy: {"thresholds": [[[0.8, 0.8]]], "weights": [[1.0]]}),
    edit("closed", "why", lambda why: "time"),
    edit("mode", "before", lambda mode: "shadow"),
    edit("approved", "policy", lambda policy: {"thresholds": [[[0.2, 0.2]]], "weights": [[1.0]]}),
    edit("approved", "waiting", lambda waiting: "abc"),
    edit("paused", "why", lambda why: "broken"),
    edit("paused", "policy", lambda policy: None),
    edit("key-added", "scopes", lambda scopes: ["admin"]),
    edit("key-added", "hash", lambda digest: "1" * 64),
]


@pytest.mark.parametrize(("kind", "name", "value"), EDITS, ids=[f"{each[0]}-{each[1]}" for each in EDITS])
def test_the_whole_chain_made_again_after_an_edit_is_found(
    tampered: sqlite3.Connection, tmp_path: Path, kind: str, name: str, value: Callable[[Any], Any]
) -> None:
    chosen = [each for each in events_of(tampered) if each.kind == kind and each.data.get(name) not in ([], None)]
    event = chosen[-1] if chosen else first_of(tampered, kind)

    def change_body(old: Event, data: dict[str, Any]) -> None:
        if old.seq == event.seq:
            data[name] = value(data[name])

    chain_again(tampered, change_body)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    if kind == "created":
        assert report.first.seq > 1  # the first event that another spec would have brought about
    elif kind.startswith("key"):
        assert report.first.kind.startswith("key")
    else:
        assert report.first.seq == event.seq, report.findings[:3]


def test_a_decision_changed_with_all_that_follows_is_found_by_its_draw(
    tampered: sqlite3.Connection, tmp_path: Path
) -> None:
    """Row, digest, tally, told counts and chain are all made to fit; the policy and the draw are not."""
    from fairgate.live.auditing.rows import _people

    event = [each for each in events_of(tampered) if each.kind == "decided"][-1]
    rows = [row for row in rows_of(tampered, "cases") if row["seq"] == event.seq]
    change(tampered, "cases", rows[0], accepted=1 - rows[0]["accepted"])
    engine = connect(str(tmp_path / "gate.db"))
    with stored_log(engine, "credit") as found:
        people = _people(found.cases(event.seq, event.seq), slice(0, None))
    engine.dispose()
    cells: dict[tuple[int, ...], int] = {}
    for cell in zip(people.groups.tolist(), people.bins.tolist(), people.accepted.tolist(), strict=True):
        cells[cell] = cells.get(cell, 0) + 1

    def change_body(old: Event, data: dict[str, Any]) -> None:
        if old.seq == event.seq:
            data["digest"], data["tally"] = people.digest, [[*cell, n] for cell, n in sorted(cells.items())]

    chain_again(tampered, change_body)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == event.seq
    assert "by the policy of its round it is" in report.first.text


@pytest.mark.parametrize("right", [True, False])
def test_the_gates_secret_is_the_one_that_was_committed_to(
    tampered: sqlite3.Connection, tmp_path: Path, right: bool
) -> None:
    secret = rows_of(tampered, "gates")[0]["secret"] if right else b"another"

    def commit(event: Event, data: dict[str, Any]) -> None:
        if event.kind == "created":
            data["commitment"] = hashlib.sha256(secret).hexdigest()

    chain_again(tampered, commit)
    tampered.execute("DELETE FROM snapshots")
    report = read(tmp_path / "gate.db")
    assert report.clean is right
    if not right:
        assert report.first is not None
        assert (report.first.seq, "not that of the gate's secret" in report.first.text) == (1, True)


def test_findings_say_what_was_found_and_expected(tampered: sqlite3.Connection, tmp_path: Path) -> None:
    row = rows_of(tampered, "cases")[3]
    change(tampered, "cases", row, draw=0.25)
    report = read(tmp_path / "gate.db")
    assert str(report.first).startswith(f"event {row['seq']} (decided, 2026-01-01T")
    assert f"the application {row['id']!r} has the draw 0.25, and its id gives {row['draw']:.6g}" in str(report.first)
    assert json.loads(json.dumps(report.document()))["first"]["seq"] == row["seq"]


@pytest.mark.parametrize("name", ["people", "recent", "learner", "mode", "watches", "origins", "arrived"])
def test_a_stored_state_that_is_not_the_recomputed_one_is_found(
    tampered: sqlite3.Connection, tmp_path: Path, name: str
) -> None:
    row = rows_of(tampered, "snapshots")[-1]
    state = json.loads(row["state"])
    state[name] = moved(state[name])
    change(tampered, "snapshots", row, state=json.dumps(state))
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == row["seq"]
    assert f"not the recomputed one: {name}" in report.first.text


def moved(value: Any) -> Any:
    """Return plain data with its first number or text changed."""
    if isinstance(value, dict):
        key = next(iter(value))
        return {**value, key: moved(value[key])}
    if isinstance(value, list):
        return [moved(value[0]), *value[1:]]
    return f"{value}x" if isinstance(value, str) else (value or 0) + 1


def test_more_labels_than_people_in_a_log_of_counts_are_found(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec(store="counts")) as lender:
        write_counts(lender)
    with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
        event = first_of(connection, "outcomes")
        close = next(each for each in events_of(connection) if each.kind == "closed" and each.seq > event.seq)

        def more(old: Event, data: dict[str, Any]) -> None:
            """Make labels of a bin nobody of which was accepted, and tell the learner of them."""
            if old.seq == event.seq:
                data["tally"] = [*data["tally"], [0, 0, 0, 1, 5]]
            if old.seq == close.seq:
                data["labels"] = sorted([*data["labels"], [0, 0, 0, 1, 5]])

        chain_again(connection, more)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == event.seq
    assert "more labels of group 0, bin 0, round 0 than people" in report.first.text
