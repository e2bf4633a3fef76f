"""The client: the same calls, replies and errors as the gate's own; what is sent again is done once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairgate.errors import InputError
from fairgate.live.client import Client
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnavailableError, UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.replies import Closed, Decision, Decisions, Recorded
from tests.live.programs import live_service
from tests.live.serving import Served, make_spec, service


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with service(str(tmp_path / "gate.db")) as found:
        yield found


def use(gate: Any) -> list[Any]:
    """Make every call of a gate, and return what does not depend on the time or on who asks."""
    told: list[Any] = [gate.decide("a-1", "a", 0.7), gate.decide("a-1", "a", 0.7)]
    told += [gate.decide(["b-1", "b-2", "b-3"], ["a", "b", "b"], [0.2, 0.9, 0.6], key="batch")]
    told += [gate.decide(["b-1", "b-2", "b-3"], ["a", "b", "b"], [0.2, 0.9, 0.6], key="batch")]
    told += [gate.override("b-1", True, "appeal").accepted, gate.outcomes(["a-1", "b-2"], [1, 0]).new]
    told += [gate.correct(["b-2"], [1], "posted twice").new, gate.close(0).people, gate.close(0).round]
    told += [gate.hold("audit", 0.6).policy.text, gate.resume("done").mode.mode, gate.status().round]
    told += [gate.set_mode("shadow", "compare").policy]
    told += [gate.report(["c-1", "c-2"], ["a", "b"], [0.4, 0.5], [True, False]).new, gate.close().people]
    told += [
        gate.hold("before that").policy.text,
        gate.set_mode("approve", "with care").waiting != "",
        gate.case("b-1").text,
        gate.case("c-1").accepted,
    ]
    told += [gate.approve(gate.status().waiting, "agreed").waiting] if gate.status().waiting else ["nothing waits"]
    figures = gate.figures(5)
    told += [[each.round for each in gate.figures(1, whole=True).history]]
    told += [figures.labels.arrived, [each.people for each in figures.scopes], len(figures.history)]
    events = [event for event in gate.log(limit=1000) if not event.kind.startswith("key-")]
    told += [[(event.kind, event.round) for event in events], gate.log(newest=True, limit=1)[0].kind]
    told += [[(case.id, case.accepted, case.label) for case in gate.cases()], gate.log(kind="mode", limit=1)[0].kind]
    audit = gate.audit()
    return [*told, sorted(gate.snapshot()), audit.clean, audit.first, audit.decisions, len(audit.stretches)]


def test_the_client_and_the_gate_say_the_same(served: Served, tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "other.db"), "credit", spec=make_spec())
    with served.client() as client:
        assert use(client) == use(gate)
    gate.shut()


def test_the_client_has_the_calls_of_a_gate() -> None:
    """With the same arguments but for the actor, who is the key's name."""
    for name, call in inspect.getmembers(Gate, inspect.isfunction):
        if name.startswith("_") or name in ("submit", "tick", "read"):
            continue
        theirs = [each for each in inspect.signature(call).parameters if each != "actor"]
        assert list(inspect.signature(getattr(Client, name)).parameters) == theirs, name


def test_errors_are_those_of_the_gate(served: Served) -> None:
    with served.client() as client:
        client.decide("a-1", "a", 0.7)
        raised: list[tuple[type[Exception], str, Callable[[], object]]] = [
            (ConflictError, "id 'a-1' was decided before", lambda: client.decide("a-1", "b", 0.7)),
            (MissingError, "never", lambda: client.case("never")),
            (InputError, "unknown group 'c'", lambda: client.decide("a-2", "c", 0.7)),
            (InputError, "score: input should be a finite number", lambda: client.decide("a-2", "a", float("nan"))),
        ]
        for kind, told, call in raised:
            with pytest.raises(kind, match=told) as caught:
                call()
            assert type(caught.value) is kind
    with served.client(scope="read") as client, pytest.raises(ForbiddenError, match="this needs decide"):
        client.decide("a-2", "a", 0.7)
    with Client(served.url, "credit", "fg_nothing") as client, pytest.raises(UnknownKeyError, match="not one of"):
        client.status()
    with pytest.raises(InputError, match="base_url must begin with http"):
        Client("localhost:8000", "credit", "fg_x")
    for gate in ("..", "a/b", "", "x?y"):
        with pytest.raises(InputError, match="gate must be the name of a gate"):
            Client(served.url, gate, "fg_x")


def test_an_open_round_is_closed_once_however_often_that_is_asked(served: Served) -> None:
    with served.client() as client:
        client.decide("a-1", "a", 0.7)
        first = client.close(key="Monday")
        client.decide("a-2", "a", 0.7)
        assert client.close(key="Monday") == first
        assert client.status().round == 1
        assert (first.round, client.close(key="Tuesday").round) == (0, 1)
        with pytest.raises(ConflictError):
            client.close(1, key="Monday")
    found = served.ask("POST", "/rounds/close")
    assert (found.status_code, found.json()["detail"]) == (
        422,
        "Idempotency-Key must be given to close a round without its number, got none",
    )


class Unreliable(httpx.BaseTransport):
    """A network that fails in turn: no connection, an answer that is lost, a server that is away."""

    def __init__(self, failures: list[str]) -> None:
        self.failures = failures
        self.keys: list[str | None] = []
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("idempotency-key"))
        failure = self.failures.pop(0) if self.failures else "none"
        if failure == "refused":
            raise httpx.ConnectError("no connection")
        if failure == "503":
            return httpx.Response(503, json={"detail": "the database cannot be used now"})
        response = self._inner.handle_request(request)
        if failure == "lost":
            response.read()
            response.close()
            raise httpx.ReadError("connection reset")
        return response

    def close(self) -> None:
        self._inner.close()


def test_what_is_sent_again_is_done_once(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.live.client.time.sleep", lambda seconds: None)
    network = Unreliable([])
    with served.client(transport=network) as client:

        def through(call: Callable[[], Any]) -> Any:
            network.failures[:] = ["refused", "lost", "503", "lost"]
            network.keys.clear()
            reply = call()
            assert len(network.keys) == 5
            assert len(set(network.keys)) == 1
            return reply

        assert through(lambda: client.decide("a-1", "a", 0.7)) == Decision(
            id="a-1", accepted=True, round=0, repeated=True
        )
        batch = through(lambda: client.decide(["b-1", "b-2"], ["a", "b"], [0.9, 0.8]))
        assert batch == Decisions(accepted=[True, True], rounds=[0, 0], repeated=0)  # the first reply
        recorded: Recorded = through(lambda: client.outcomes(["b-1"], [1]))
        assert (recorded.new, recorded.repeated) == (1, 0)
        closed: Closed = through(lambda: client.close(0))
        assert (closed.round, closed.people) == (0, 3)
        assert through(lambda: client.hold("quiet")).mode.reason == "quiet"
        kinds = [event.kind for event in client.log(limit=1000)]
        assert [kinds.count(kind) for kind in ("decided", "outcomes", "closed", "mode")] == [2, 1, 1, 1]
        network.failures[:] = ["503"] * 100
        with pytest.raises(UnavailableError, match="cannot be used now"):
            client.status()
        network.failures[:] = ["refused"] * 100
        with pytest.raises(UnavailableError, match="does not answer: no connection"):
            client.status()


@pytest.mark.slow
def test_the_program_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """Through a restart; a warning if others can reach it; what was acknowledged is there."""
    with live_service(tmp_path) as program:
        assert program.url.startswith("http://127.0.0.1:")
        with Client(program.url, "credit", program.keys["application"]) as client:
            first = client.decide("a-1", "a", 0.7)
        with httpx.Client(base_url=program.url) as http:
            assert http.get("/ready").json() == {"status": "ok"}
            assert set(http.get("/health").headers) == {"content-length", "content-type"}
    with live_service(tmp_path, "--host", "0.0.0.0") as program:
        url = program.url.replace("0.0.0.0", "127.0.0.1")
        with Client(url, "credit", program.keys["application"]) as client:
            assert client.decide("a-1", "a", 0.7) == first.model_copy(update={"repeated": True})
        with Client(url, "credit", program.keys["admin"]) as client:
            assert [event.kind for event in client.log(kind="decided")] == ["decided"]
    assert "keys are sent in the clear" in "".join(program.said)
