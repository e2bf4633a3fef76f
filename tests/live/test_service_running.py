"""A service that runs: rounds that close by time, probes, metrics, mistakes of its own, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed
from starlette.types import Receive, Scope, Send

from fairgate.live.client import Client
from fairgate.live.config import ServiceSettings
from fairgate.live.database import writing
from fairgate.live.failures import UnavailableError
from fairgate.live.gate import Gate
from fairgate.live.preparing import VERSIONS
from fairgate.live.service.proxies import Forwarded
from fairgate.live.service.routes import ROUTES
from fairgate.live.service.routes.route import PREFIX
from tests.live.programs import Program, live_service
from tests.live.serving import Served, made_keys, make_spec, service, serving


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with service(str(tmp_path / "gate.db")) as found:
        yield found


def test_rounds_close_when_their_time_is_over(tmp_path: Path) -> None:
    spec = make_spec(rounds={"people": None, "seconds": 0.2})
    with service(str(tmp_path / "gate.db"), spec) as served, served.client() as client:
        client.decide("a-1", "a", 0.7)
        end = time.monotonic() + 5
        while client.status().open:
            assert time.monotonic() < end
            time.sleep(0.05)
        (closed,) = client.log(kind="closed")
        assert (closed.actor, closed.body["why"], closed.body["people"]) == ("clock", "time", 1)


def test_metrics_are_the_figures(served: Served) -> None:
    with served.client() as client:
        client.decide(["a-1", "a-2", "a-3"], ["a", "a", "b"], [0.7, 0.2, 0.9])
        client.outcomes(["a-1"], [1])
        client.close()
        figures = client.figures()
    for number in range(50):
        served.http.get(f"{served.url}/nothing/{number}")
        served.ask("GET", f"/cases/none-{number}")
    text = served.http.get(f"{served.url}/metrics").text
    samples = {
        (sample.name, *sample.labels.values()): sample.value for family in parsed(text) for sample in family.samples
    }
    for group in figures.scopes[0].groups:
        for decision, people in (("accepted", group.accepted), ("rejected", group.people - group.accepted)):
            assert samples["fairgate_decisions_total", decision, "credit", group.name] == people
    assert samples["fairgate_labels_total", "credit"] == 1
    assert samples["fairgate_labels_awaited", "credit"] == 1
    assert samples["fairgate_rounds_closed_total", "credit"] == 1
    assert samples["fairgate_events_total", "credit"] == figures.status.seq
    assert [samples["fairgate_mode", "credit", mode] for mode in ("learn", "hold")] == [0, 1]
    assert samples["fairgate_database_up", "credit"] == 1
    routes = {label for name, *labels in samples if name == "fairgate_http_request_seconds_count" for label in labels}
    assert "/v1/gates/{gate}/decisions/batch" in routes
    assert not any("none-" in route or "nothing" in route for route in routes)  # no route for each id


def test_behind_a_proxy_metrics_need_a_key(tmp_path: Path) -> None:
    settings = ServiceSettings(database=str(tmp_path / "gate.db"), gates=[make_spec()], behind_proxy=True)
    with serving(settings) as served:
        key = {"Authorization": f"Bearer {made_keys(served)['credit', 'read']}"}
        assert served.http.get(f"{served.url}/metrics").status_code == 401
        assert served.http.get(f"{served.url}/metrics", headers=key).status_code == 200


def test_addresses_of_ones_own_give_no_more_log_ins(tmp_path: Path) -> None:
    """Who sends addresses of their own does not get more log-ins than others."""
    settings = ServiceSettings(database=str(tmp_path / "gate.db"), gates=[make_spec()], behind_proxy=True)

    with serving(settings) as found:

        def log_in(*addresses: str) -> int:
            headers = [("X-Forwarded-For", each) for each in addresses] + [("Sec-Fetch-Site", "same-origin")]
            return found.http.post(f"{found.url}/login", data={"key": "wrong"}, headers=headers).status_code

        tries = [log_in(f"10.0.0.{n}, 192.0.2.7") if n % 2 else log_in(f"10.0.0.{n}", "192.0.2.7") for n in range(22)]
        assert tries == [401] * 20 + [429] * 2


def test_a_database_with_other_tables_is_not_ready(served: Served) -> None:
    assert served.http.get(f"{served.url}/ready").json() == {"status": "ok"}
    with writing(served.app.state.engine) as connection:
        connection.exec_driver_sql(f"UPDATE {VERSIONS} SET version_num = '9999'")
    found = served.http.get(f"{served.url}/ready")
    assert found.status_code == 503
    assert "the tables of revision 9999, and this server needs" in found.json()["detail"]


def test_a_mistake_of_our_own_is_a_problem_too(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Gate) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(Gate, "status", fail)
    found = served.ask("GET", "")
    assert (found.status_code, found.headers["content-type"]) == (500, "application/problem+json")
    assert "secret" not in found.text
    monkeypatch.undo()
    assert served.ask("GET", "").status_code == 200


def test_answers_tell_nothing_about_the_server(served: Served) -> None:
    for path in ("/health", "/nothing", "/openapi.json", "/v1/gates/credit"):
        assert not {"server", "date", "x-powered-by"} & set(served.http.get(served.url + path).headers)


@pytest.mark.slow
def test_a_program_that_is_stopped_has_all_that_it_acknowledged(tmp_path: Path) -> None:
    """Stopped by SIGTERM while four clients ask for decisions."""
    acknowledged: dict[str, bool] = {}
    with live_service(tmp_path) as program:

        def ask(name: str) -> None:
            with Client(program.url, "credit", program.keys["application"], retries=0) as client:
                for number in range(100_000):
                    try:
                        found = client.decide(f"{name}-{number}", "a", 0.7)
                    except UnavailableError:
                        return
                    acknowledged[found.id] = found.accepted

        threads = [threading.Thread(target=ask, args=[name]) for name in "abcd"]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 200:
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    gate = Gate(str(tmp_path / "credit.db"), "credit")
    ids = list(acknowledged)
    again = gate.decide(ids, ["a"] * len(ids), [0.7] * len(ids))
    assert (again.accepted, again.repeated) == (list(acknowledged.values()), len(ids))
    assert gate.audit().clean
    gate.shut()


@pytest.mark.slow
def test_several_workers_are_one_gate_and_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    """Even if that is killed and can tell them nothing: they do not keep the port."""
    ended = pytest.raises(RuntimeError, match="the program ended with -9")
    with ended, live_service(tmp_path, "--workers", "2") as program:
        clients = [Client(program.url, "credit", program.keys["application"], retries=12) for _ in range(8)]
        decided = [client.decide(f"a-{number}", "a", 0.7) for number, client in enumerate(clients)]
        assert [client.decide("a-0", "a", 0.7).repeated for client in clients] == [True] * 8
        assert {found.round for found in decided} == {0}
        for client in clients:
            client.shut()
        workers, port = kill(program), int(program.url.rpartition(":")[2])
        try:
            wait_until(lambda: not answers(port) and can_be_taken(port))
        finally:
            for worker in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)  # one that has not ended holds the output that is read next
    gate = Gate(str(tmp_path / "credit.db"), "credit")
    report = gate.audit()
    assert (report.clean, report.decisions) == (True, 8)
    gate.shut()


def kill(program: Program) -> list[int]:
    """Kill a program, and return the processes that it had started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(program.pid)], capture_output=True, check=True)
    os.kill(program.pid, signal.SIGKILL)
    return [int(each) for each in listed.stdout.split()]


def test_the_description_is_complete(served: Served) -> None:
    """Each body has an example that fits it; each route has words, a tag, and its refusals."""
    found = httpx.get(f"{served.url}/openapi.json").json()
    schemas = found["components"]["schemas"]
    bodies = set()
    for item in found["paths"].values():
        for operation in item.values():
            assert operation["summary"]
            assert operation["description"]
            assert operation["tags"][0] in {tag["name"] for tag in found["tags"]}
            for status, response in operation["responses"].items():
                media = "application/problem+json" if int(status) >= 400 else "application/json"
                assert media in response["content"] or operation["tags"] == ["probes"]
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            bodies |= {each["$ref"].rpartition("/")[2] for each in content.get("anyOf", [content]) if "$ref" in each}
    assert len(bodies) == 11
    for name in bodies:
        assert set(schemas[name]["examples"][0]) == set(schemas[name]["properties"])


EVERYWHERE = {"400", "413", "431", "500", "503"}


def test_the_description_has_every_refusal(served: Served) -> None:
    found = served.http.get(f"{served.url}/openapi.json").json()
    for path, item in found["paths"].items():
        for operation in item.values():
            refusals = {status for status in operation["responses"] if int(status) >= 400}
            probe = {"/metrics": {"401", "403", "429"}}.get(path, set())
            of_gates = {"401", "403", "404", "405", "422", "429"} if path.startswith("/v1/") else probe
            of_bodies = {"408", "409", "415"} if "requestBody" in operation else set()
            assert refusals - {"409"} == (EVERYWHERE | of_gates | of_bodies) - {"409"}


def test_a_method_that_a_path_does_not_have_is_answered_with_those_it_has(served: Served) -> None:
    for path, methods in {
        "/health": "GET, HEAD",
        "/ready": "GET, HEAD",
        "/metrics": "GET, HEAD",
        "/openapi.json": "GET, HEAD",
        "/docs": "GET, HEAD",
        "/": "GET, HEAD",
        "/login": "GET, HEAD, POST",
        "/gates/credit": "GET, HEAD",
        "/gates/credit/mode": "POST",
        "/static/base.css": "GET, HEAD",
        "/v1/gates/credit/decisions": "POST",
        "/v1/gates/credit/keys": "GET, HEAD, POST",
        "/v1/gates/credit/keys/0123456789ab": "DELETE",
    }.items():
        found = served.http.request("PUT", served.url + path)
        told = f"{path!r} can be asked with {methods} only"
        assert (found.status_code, found.headers["allow"], found.json()["detail"]) == (405, methods, told)
    assert served.http.head(f"{served.url}/gates/credit/mode").headers["allow"] == "POST"


def test_every_route_that_can_be_got_answers_head_alike(served: Served) -> None:
    """With the same headers, and no body: the connection goes on as it should."""
    key = {"Authorization": f"Bearer {served.keys['credit', 'all']}"}
    for path in (
        "/health",
        "/ready",
        "/openapi.json",
        "/docs",
        "/login",
        "/static/live.js",
        "/nothing",
        "/v1/gates/credit",
    ):
        got, head = (served.http.request(method, served.url + path, headers=key) for method in ("GET", "HEAD"))
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-length"] == got.headers["content-length"] == str(len(got.content))
    assert served.http.head(f"{served.url}/metrics").headers["content-type"].startswith("text/plain")


def test_an_address_that_the_proxy_does_not_know_is_not_made_up(tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["client"])

    for value in (
        "unknown",
        "x" * 60_000,
        "192.0.2.9, _hidden",
        "",
        "192.0.2.9, 2001:db8::1",
        "evil, [2001:db8::2]:99",
    ):
        scope = {"type": "http", "client": ("10.0.0.1", 7), "headers": [(b"x-forwarded-for", value.encode())]}
        asyncio.run(Forwarded(note)(scope, never, never))
    assert seen == [("10.0.0.1", 7)] * 4 + [("2001:db8::1", 0), ("2001:db8::2", 0)]


async def never(*_: Any) -> Any:
    """Receive and send nothing."""


def answers(port: int) -> bool:
    """Whether a service answers at a port."""
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200
    return False


def can_be_taken(port: int) -> bool:
    """Whether another service could listen at a port."""
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_the_description_is_a_page_too(served: Served) -> None:
    """With every route and its example, and nothing from elsewhere."""
    page = served.http.get(f"{served.url}/docs")
    assert page.headers["content-type"].startswith("text/html")
    for route in ROUTES:
        assert f"{route.method} {PREFIX}{route.path}".replace(":path", "") in page.text
    assert page.text.count("A body: <code>{&#34;") == 11
    assert "http" not in page.text.replace("http://www.w3.org", "")
