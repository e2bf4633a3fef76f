"""The log of the service: lines with time and level, few for any client, and nothing in them of an application."""

from __future__ import annotations

import io
import json
import logging
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairgate.live.client import Client
from fairgate.live.config import ServiceSettings
from fairgate.live.gate import Gate
from fairgate.live.keys import create_key
from fairgate.live.service import logs
from fairgate.live.service.gates import Gates
from fairgate.live.service.logs import FIRST, MOST, Lines, Sparing
from fairgate.live.template import gate_toml
from tests.command import fairgate_here
from tests.live.serving import make_spec, service, serving
from tests.live.shell import free_port

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
TEXT = re.compile(TIME.pattern + r" (INFO|WARNING|ERROR) [^\n]+")
PLANTED = "Zebulon"
"""What stands in ids, groups, fields, paths, queries, headers, reasons and keys; no line may have it."""
SCORE = 0.6180339
"""And a score that no line may have."""


@contextmanager
def program(folder: Path, **settings: str) -> Iterator[str]:
    """Serve a gate as its users do, with entries of [service], and keep its log; yield the address."""
    port = free_port()
    text = gate_toml("credit", ["a", "b"], "credit.db").replace("port = 8000", f"port = {port}")
    for name, value in settings.items():
        text = re.sub(rf"^{name} = \S+", f"{name} = {value}", text, flags=re.MULTILINE)
    (folder / "gate.toml").write_text(text)
    made = fairgate_here("live", "init", "credit", cwd=folder)
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-W", "error", "-m", "fairgate", "live", "serve"]
    with (folder / "out").open("wb") as out, (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=log)
    try:
        for _ in range(1200):
            if "the service has started" in (folder / "log").read_text():
                break
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def raw(url: str, request: str) -> None:
    """Send what no client would, and read what comes."""
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(request.encode())
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass


def session(http: httpx.Client, url: str, keys: dict[str, str]) -> None:
    """Ask for all kinds of things, rightly and wrongly, with a planted datum wherever there is a place for one."""
    gate, case = f"{url}/v1/gates/credit", {"id": PLANTED, "group": "a", "score": SCORE}

    def ask(method: str, place: str, key: str, body: Any = None, **headers: str) -> int:
        content = body if isinstance(body, str | None) else json.dumps(body)
        told = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "User-Agent": PLANTED, **headers}
        return http.request(method, place, content=content, headers=told).status_code

    decide, outcomes, admin = keys["application"], keys["outcomes"], keys["admin"]
    assert ask("POST", f"{gate}/decisions", decide, case) == 200
    wrong: list[Any] = [
        {**case, "score": SCORE / 2},
        {**case, "group": PLANTED},
        {**case, PLANTED: SCORE},
        {**case, "id": PLANTED * 100},
        {**case, "score": PLANTED},
        {**case, "score": 1e300, "id": f"{PLANTED}-2"},
        f'{{"id": "{PLANTED}", "group": "a", "score": NaN}}',
        f'{{"id": "{PLANTED}"',
        f"{'[' * 3000}{PLANTED}",
        f"\x00{PLANTED}\r\n2026-01-01T00:00:00.000Z INFO {PLANTED}",
    ]
    assert [status for body in wrong if (status := ask("POST", f"{gate}/decisions", decide, body)) < 400] in ([], [200])
    refused = [
        ask("POST", f"{gate}/decisions", decide, case, **{"Content-Type": f"text/{PLANTED}"}),
        ask("POST", f"{gate}/decisions", decide, case, **{"Idempotency-Key": f"{PLANTED} {PLANTED}"}),
        ask("GET", f"{gate}/cases/{PLANTED}?{PLANTED}={SCORE}", decide),
        ask("GET", f"{gate}/cases/{PLANTED}-3?{PLANTED}={SCORE}", admin),
        ask("GET", f"{gate}/log?limit={PLANTED}", admin),
        ask("POST", f"{gate}/outcomes", outcomes, {"ids": [f"{PLANTED}-3"], "labels": [1]}),
        ask("POST", f"{gate}/outcomes", outcomes, {"ids": [PLANTED], "labels": [7]}),
        ask("POST", f"{gate}/mode", admin, {"mode": PLANTED, "reason": PLANTED}),
        ask("POST", f"{gate}/keys", admin, {"name": PLANTED * 20, "scopes": ["decide"]}),
        ask("GET", f"{url}/v1/gates/{PLANTED}", decide),
        ask("GET", f"{url}/{PLANTED}?{PLANTED}={SCORE}", PLANTED),
        ask("PATCH", gate, decide),
        ask("GET", gate, f"fg_{'0' * 12}_{PLANTED:x<43}"),
        ask("POST", f"{url}/login", "none", f"key={PLANTED}", **{"Content-Type": "application/x-www-form-urlencoded"}),
        ask("GET", f"{url}/gates/{PLANTED}?{PLANTED}", "none", Cookie=f"{PLANTED}={PLANTED}"),
    ]
    assert all(status >= 300 for status in refused), refused
    assert ask("POST", f"{gate}/outcomes", outcomes, {"ids": [PLANTED], "labels": [1]}) == 200
    assert ask("POST", f"{gate}/mode", admin, {"mode": "learn", "reason": PLANTED}) == 200
    raw(url, f"{PLANTED} / HTTP/1.1\r\n\r\n")
    raw(url, f"GET / HTTP/1.1\r\nHost: x\r\n{PLANTED}: {PLANTED * 10_000}\r\n\r\n")
    raw(url, f"POST {gate}/decisions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n{PLANTED}")
    raw(url, f"POST {gate}/decisions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n{PLANTED}")
    assert [ask("GET", gate, PLANTED) for _ in range(40)] == [401] * 40


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "text"])
def test_every_line_of_a_hostile_session_can_be_read_and_has_nothing_of_an_application(
    tmp_path: Path, form: str
) -> None:
    with program(tmp_path, log=f'"{form}"', slow_seconds="1e-9") as url:
        keys = dict(line.split()[:2] for line in (tmp_path / "keys.txt").read_text().splitlines()[1:])
        with httpx.Client(timeout=30) as http:
            session(http, url, keys)
        for _ in range(1500):  # until the next look at the modes
            if "from hold to learn" in (tmp_path / "log").read_text():
                break
            time.sleep(0.02)
    log = (tmp_path / "log").read_text()
    for hidden in (PLANTED, "0.61803", "0.30901", *keys.values(), *(key.split("_", 2)[2] for key in keys.values())):
        assert hidden not in log
    lines = log.splitlines()
    assert lines[-1].count("the service has stopped") == 1
    told = log if form == "text" else "\n".join(json.loads(line)["text"] for line in lines)
    assert "the mode of the gate 'credit' was changed from hold to learn" in told
    for reason in (
        "id … was used before with other facts",
        "unknown name: group",
        "the key … is for …",
        "Invalid HTTP request",
    ):
        assert reason in told
    if form == "text":
        assert [line for line in lines if not TEXT.fullmatch(line)] == []
        assert "page http://" in (tmp_path / "out").read_text()
        return
    found = [json.loads(line) for line in lines]
    assert (tmp_path / "out").read_text() == ""
    assert all(TIME.fullmatch(line["time"]) and line["level"] in ("info", "warning", "error") for line in found)
    decided = [line for line in found if line.get("route") == "/v1/gates/{gate}/decisions"]
    assert {(line["gate"], line["key"]) for line in decided if "key" in line} == {("credit", "application")}
    assert {line["status"] for line in decided} >= {200, 409, 415, 422}
    slow = [line for line in decided if line["text"].startswith("slow")]
    assert {(line["status"], line["level"], "seconds" in line) for line in slow} == {(200, "warning", True)}
    wrong_key = {"gate": "credit", "route": "/v1/gates/{gate}", "status": 401}.items()
    unknown = [line for line in found if wrong_key <= line.items()]
    assert sum(line.get("left_out", 1) for line in unknown) == 41
    assert len(unknown) <= 2 * (FIRST + 1)  # the session may last into a second minute


def test_a_request_that_took_long_is_answered_and_logged_with_the_name_of_its_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain = {"database": str(tmp_path / "gate.db"), "gates": [make_spec()], "slow_seconds": 1e-9}
    with serving(ServiceSettings.model_validate(plain)) as served:
        gate: Gate = served.app.state.gates["credit"]
        with Client(served.url, "credit", create_key(gate, "branch-7", ["decide"]), retries=0) as client:
            assert client.decide("a-1", "a", 0.9).accepted
            assert client.decide("a-2", "a", 0.9).accepted, "over the same connection"
    told = [Lines("text").format(each) for each in caplog.records if each.getMessage().startswith("slow")]
    assert sum('status=200 gate="credit" key="branch-7"' in line for line in told) == 2


def test_a_gate_that_was_paused_is_in_the_log_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgate.live.service.gates.TICK_SECONDS", 0.05)
    caplog.set_level(logging.INFO, "fairgate.live")
    fixed = make_spec(learner="ofs", guards={"lowest": 0.5, "highest": 0.5, "lotteries": False})
    with service(str(tmp_path / "gate.db"), fixed) as served:
        gate: Gate = served.app.state.gates["credit"]
        gate.resume("looked at")
        for number in range(4):
            unfair = [f"{group}-{number}-{place}" for place in range(200) for group in "ab"]
            gate.decide(unfair, ["a", "b"] * 200, [0.95, 0.05] * 200)
            gate.close()
        assert gate.status().mode.mode == "hold"
        for _ in range(400):
            if any("paused" in each.getMessage() for each in caplog.records):
                break
            time.sleep(0.02)
        time.sleep(0.2)
    told = [each.getMessage() for each in caplog.records if "gate 'credit'" in each.getMessage()]
    assert told.count("the gate 'credit' is paused: it holds until its mode is set") == 1


def listening(form: Any = "json") -> tuple[logging.Logger, io.StringIO, Sparing]:
    """A logger as the service has it, and what it writes."""
    stream = io.StringIO()
    handler = Sparing(stream)
    handler.setFormatter(Lines(form))
    logger = logging.Logger(logs.LOG.name)
    logger.addHandler(handler)
    return logger, stream, handler


def test_no_client_makes_many_lines() -> None:
    logger, stream, handler = listening()
    for number in range(10_000):
        logger.warning("refused: kind %s", number % 1000, extra={"facts": {"status": 400}})
    handler.tell_others()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) <= MOST + FIRST + 1
    assert sum(line.get("left_out", 1) for line in lines) == 10_000
    handler.close()


def test_lines_of_the_service_itself_come_through_however_many_requests_are_refused() -> None:
    logger, stream, handler = listening("text")
    for number in range(MOST * 2):
        logger.warning("refused: kind %s", number)
    handler.handle(logging.LogRecord("fairgate.live", logging.WARNING, "", 0, "the gate is paused", (), None))
    assert stream.getvalue().splitlines()[-1].endswith("Z WARNING the gate is paused")
    handler.close()


@pytest.mark.parametrize("form", ["json", "text"])
def test_errors_are_told_by_type_and_place_alone(form: str) -> None:
    logger, stream, handler = listening(form)
    try:
        raise ValueError(f"{PLANTED} cannot be\nread")
    except ValueError:
        logger.exception("an error of our own")
    asyncio = logging.LogRecord(
        "asyncio", 40, "", 0, f"Exception in callback f({PLANTED!r})\nhandle: {PLANTED}", (), None
    )
    handler.handle(asyncio)
    handler.handle(logging.LogRecord("sqlalchemy", 40, "", 0, "lost %s", (PLANTED,), None))
    handler.handle(logging.LogRecord("fairgate.live", 30, "", 0, "a\nb\x1b[2J", (), None))
    handler.close()
    written = stream.getvalue()
    assert PLANTED not in written
    assert len(written.splitlines()) == 4
    assert "ValueError" in written
    assert "test_service_logs.py" in written
    assert "asyncio: Exception in callback f" in written
    assert "\x1b" not in written


def test_a_log_that_cannot_be_written_stops_no_request(tmp_path: Path) -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "no space left")

    root, before = logging.getLogger(), logging.raiseExceptions
    handler = Sparing(Full())
    handler.setFormatter(Lines("text"))
    root.addHandler(handler)
    logging.raiseExceptions = False  # as logs.begin has it
    try:
        with service(str(tmp_path / "gate.db")) as served:
            with Client(served.url, "credit", served.keys["credit", "decide"]) as client:
                assert client.decide("a-1", "a", 0.9).accepted
            assert served.http.get(f"{served.url}/nothing").status_code == 404
    finally:
        root.removeHandler(handler)
        handler.close()
        logging.raiseExceptions = before


def test_a_mode_that_changes_between_the_first_looks_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "fairgate.live")
    gates = Gates(ServiceSettings(database=str(tmp_path / "gate.db"), gates=[make_spec()]))
    gates.try_to_open()
    gates.tick()
    gates["credit"].resume("looked at")
    gates.tick()
    gates.shut()
    told = [each.getMessage() for each in caplog.records]
    assert told.count("the mode of the gate 'credit' was changed from hold to learn") == 1
