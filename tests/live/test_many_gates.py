"""Many gates of one database: they share connections and a few threads, and each keeps the order of its requests."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from fairgate.errors import InputError
from fairgate.live import Gate
from fairgate.live.config import ServiceSettings
from fairgate.live.database import POOL
from fairgate.live.failures import UnavailableError
from fairgate.live.requests import Close, Decide, Request
from fairgate.live.schema import METADATA
from fairgate.live.service.gates import Gates
from fairgate.live.writers import THREADS
from tests.live.gates import Clock, make_spec
from tests.live.serving import serving
from tests.live.test_service_outages import wait_until

MANY = 150
"""More than the 97 connections that PostgreSQL has for others than its administrator, unless it is told otherwise."""


def made(database: str, count: int, **changes: Any) -> Gates:
    """Gates of a database that are open and have been read."""
    specs = [make_spec(name=f"gate-{place}", **changes) for place in range(count)]
    gates = Gates(ServiceSettings(database=database, gates=specs))
    gates.open()
    gates.tick()
    gates.read()
    return gates


def test_gates_are_more_than_the_database_has_connections_or_the_process_threads(database_url: str) -> None:
    before = threading.active_count()
    gates = made(database_url, MANY)
    asked = [gate.submit(Decide(["a"], ["women"], [0.7], single=True)) for gate in gates.values()]
    assert all(each.result().accepted for each in asked)
    assert threading.active_count() - before <= THREADS
    pool: Any = gates.database.engine.pool
    assert pool.checkedin() + pool.checkedout() <= POOL["pool_size"]
    gates.shut()
    assert threading.active_count() == before
    assert pool.checkedout() == 0


def test_what_opens_and_ticks_many_gates_is_a_few_queries(database_url: str) -> None:
    made(database_url, 20, rounds={"people": None, "seconds": 60}).shut()
    again = Gates(
        ServiceSettings(
            database=database_url,
            gates=[make_spec(name=f"gate-{k}", rounds={"people": None, "seconds": 60}) for k in range(20)],
        )
    )
    asked: list[str] = []
    event.listen(again.database.engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    again.open()
    looks = ("SELECT type, name, tbl_name, sql FROM sqlite_master", "PRAGMA table_xinfo")  # once for each table
    assert len([each for each in asked if not each.startswith(looks)]) <= 6, asked  # the revision, and all gates
    assert len(asked) <= 6 + 1 + len(METADATA.tables) + 1
    assert again.unread == 20
    again.tick()
    again.read()
    assert again.unread == 0
    for gate in again.values():
        gate.decide("a", "women", 0.7)
    asked.clear()
    again.tick()
    assert [each for each in asked if not each.startswith("BEGIN")] == [asked[-1]]  # nothing is due
    again.shut()


def test_a_round_that_another_process_opened_is_closed_when_its_time_is_over(tmp_path: Path) -> None:
    clock = Clock()
    gates = made(str(tmp_path / "gates.db"), 2, rounds={"people": None, "seconds": 60})
    for each in gates.values():
        each.clock = clock
    other = Gate(str(tmp_path / "gates.db"), "gate-1", clock=clock)
    other.decide("a", "women", 0.7)
    clock.move(seconds=59)
    for _ in range(2):
        gates.tick()
        gates.read()
    assert gates["gate-1"].status().open
    clock.move(seconds=1)
    gates.tick()
    assert not gates["gate-1"].status().open
    assert other.log(limit=1, newest=True)[0].body["why"] == "time"
    other.shut()
    gates.shut()


def test_the_requests_of_a_gate_are_answered_in_their_order_and_by_one_thread_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled: dict[str, list[str | None]] = defaultdict(list)
    together: dict[str, threading.Lock] = defaultdict(threading.Lock)
    at_once: list[int] = []

    def turn(gate: Gate, requests: Sequence[Request]) -> list[Any]:
        assert together[gate.name].acquire(blocking=False), "two threads are at the same gate"
        at_once.append(sum(each.locked() for each in together.values()))
        handled[gate.name] += [each.key for each in requests]
        together[gate.name].release()
        return [each.key for each in requests]

    gates = made(str(tmp_path / "gates.db"), 20)
    monkeypatch.setattr(Gate, "_turn", turn)
    asked: list[list[Future[Any]]] = [[] for _ in range(4)]

    def ask(who: int) -> None:
        for place in range(50):
            asked[who] += [gate.submit(Close(key=f"{who}-{place}")) for gate in gates.values()]

    threads = [threading.Thread(target=ask, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gates.shut()  # which answers what waits
    assert all(each.done() for some in asked for each in some)
    for keys in handled.values():
        for who in range(4):
            assert [key for key in keys if str(key).startswith(f"{who}-")] == [f"{who}-{k}" for k in range(50)]
    assert len(handled) == 20
    assert max(at_once) <= THREADS


def test_gates_that_python_opens_share_the_connections_until_the_last_is_shut(tmp_path: Path) -> None:
    url = str(tmp_path / "gates.db")
    one = Gate(url, "one", spec=make_spec(name="one"))
    other = Gate(url, "other", spec=make_spec(name="other"))
    assert one.engine is other.engine
    one.decide("a", "women", 0.7)
    one.shut()
    pool: Any = other.engine.pool
    assert pool.checkedin() == 1
    assert other.decide("a", "women", 0.7).accepted
    other.shut()
    pool = other.engine.pool
    assert pool.checkedin() == 0
    assert other.decide("b", "women", 0.7).accepted  # a late request opens what it needs
    other.shut()


def test_of_many_gates_none_is_made_if_one_is_there_with_another_spec(tmp_path: Path) -> None:
    url = str(tmp_path / "gates.db")
    Gate(url, "two", spec=make_spec(name="two")).shut()
    with pytest.raises(InputError, match="the gate 'two' was made with seed = 0, not 1"):
        Gate.open_all(url, [make_spec(name="one"), make_spec(name="two", seed=1)])
    with pytest.raises(InputError, match="there is no gate 'one'"):
        Gate(url, "one")


def test_the_service_is_ready_once_the_logs_of_all_gates_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgate.live.service.gates.TICK_SECONDS", 0.02)
    url, specs = str(tmp_path / "gates.db"), [make_spec(name=name) for name in ("one", "two")]
    for gate in Gate.open_all(url, specs):
        gate.decide("a", "women", 0.7)
        gate.shut()
    goes_on, look = threading.Event(), Gate._from_snapshot

    def slow(gate: Gate, connection: Any) -> Any:
        assert gate.name != "one" or goes_on.wait(30)
        return look(gate, connection)

    monkeypatch.setattr(Gate, "_from_snapshot", slow)
    try:
        with serving(ServiceSettings(database=url, gates=specs)) as served:
            wait_until(lambda: served.app.state.gates["two"].last > 0, 5)
            found = served.http.get(f"{served.url}/ready")
            assert found.status_code == 503
            assert found.json()["detail"] == "1 of 2 gates are still being read: ask again in a moment"
            assert served.http.get(f"{served.url}/health").status_code == 200
            goes_on.set()
            wait_until(lambda: served.http.get(f"{served.url}/ready").status_code == 200, 5)
            assert served.app.state.gates["one"].last > 0
    finally:
        goes_on.set()


def test_a_gate_says_how_many_requests_wait_until_they_are_on_disk_and_how_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, goes_on = threading.Event(), threading.Event()

    def turn(gate: Gate, requests: Sequence[Request]) -> list[Any]:
        taken.set()
        assert goes_on.wait(30)
        return [None] * len(requests)

    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec())
    assert (gate.waiting, gate.waited) == (0, 0.0)
    monkeypatch.setattr(Gate, "_turn", turn)
    try:
        asked = [gate.submit(Close())]
        assert taken.wait(30)
        asked += [gate.submit(Close()) for _ in range(4)]
        assert gate.waiting == 5
        before = gate.waited
        assert 0 < before <= gate.waited
    finally:
        goes_on.set()
    gate.shut()
    assert all(each.done() for each in asked)
    assert (gate.waiting, gate.waited) == (0, 0.0)


def test_a_log_that_could_not_be_read_is_a_trouble_until_a_request_has_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = made(str(tmp_path / "gates.db"), 1)
    gate = gates["gate-0"]
    other = Gate(str(tmp_path / "gates.db"), "gate-0")
    other.decide("a", "women", 0.7)

    def fail(_: Gate) -> None:
        raise UnavailableError("the database is away")

    with monkeypatch.context() as away:
        away.setattr(Gate, "read", fail)
        for _ in range(2):
            gates.tick()
            gates.read()
        assert gates.troubles == {"gate-0": "the database is away"}
        gate.decide("b", "women", 0.7)
        gates.tick()
    assert gates.troubles == {}
    other.shut()
    gates.shut()
