"""What is sent: bad bodies are refused in one sentence, large, slow and endless ones too, on both databases."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairgate.live.service.protocol import ImpatientProtocol
from tests.live.databases import fresh_database
from tests.live.serving import Served, make_spec, service

JSON = {"Content-Type": "application/json"}
DECISION = {"id": "x", "group": "a", "score": 0.5}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if request.param == "sqlite":
        database: contextlib.AbstractContextManager[str] = contextlib.nullcontext(
            str(tmp_path_factory.mktemp("bodies") / "gate.db")
        )
    else:
        database = fresh_database(request.getfixturevalue("postgresql"))
    with database as url, service(url, body_seconds=0.5) as found:
        yield found


def refused(served: Served, path: str, content: Any, status: int = 422) -> str:
    """Send a body that is refused, and return the sentence."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    found = served.ask("POST", path, content=raw, headers=JSON)
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    problem = found.json()
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["status"] == status
    assert len(problem["detail"]) < 300
    return str(problem["detail"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "the body: invalid JSON"),
        (b"{", "the body: invalid JSON"),
        (b"\xff\xfe", "the body: invalid JSON"),
        (b"[]", "the body: input should be an object, got []"),
        (b"null", "the body: input should be an object, got None"),
        (b"{}", "id: field required"),
        ({**DECISION, "score": "0.5"}, "score: input should be a valid number, got '0.5'"),
        ({**DECISION, "score": True}, "score: input should be a valid number, got True"),
        ({**DECISION, "score": None}, "score: input should be a valid number, got None"),
        ({**DECISION, "score": float("nan")}, "score: input should be a finite number, got nan"),
        ({**DECISION, "score": float("-inf")}, "score: input should be a finite number, got -inf"),
        (b'{"id": "x", "group": "a", "score": 1e999}', "score: input should be a finite number, got inf"),
        ({**DECISION, "score": 10**400}, "score: input should be a finite number"),
        ({**DECISION, "id": 7}, "id: input should be a valid string, got 7"),
        ({**DECISION, "id": ""}, "id: string should have at least 1 character, got ''"),
        ({**DECISION, "id": "x" * 201}, "id: string should have at most 200 characters"),
        ({**DECISION, "id": "a\0b"}, "id: string should have no control characters, got 'a\\x00b'"),
        ({**DECISION, "id": "\u202e"}, "ids must be text of 1 to 200 printable characters, got '\\u202e'"),
        (b'{"id": "\\ud800", "group": "a", "score": 0.5}', "the body: invalid JSON"),
        ({**DECISION, "group": "c"}, "unknown group 'c'"),
        ({**DECISION, "group": "\0"}, "unknown group '\\x00'"),
        ({**DECISION, "more": 1}, "more: extra inputs are not permitted, got 1"),
        (b"[" * 90, "the body: invalid JSON"),
    ],
    ids=repr,
)
def test_a_bad_decision_is_refused_in_one_sentence(served: Served, body: Any, told: str) -> None:
    assert refused(served, "/decisions", body).startswith(told)


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/decisions/batch", {"ids": [], "groups": [], "scores": []}, "ids: list should have at least 1 item"),
        ("/decisions/batch", {"ids": ["x", "y"], "groups": ["a"], "scores": [0.5]}, "ids, groups and scores must be"),
        (
            "/decisions/batch",
            {"ids": ["x"] * 10_001, "groups": [], "scores": []},
            "ids: list should have at most 10000",
        ),
        ("/decisions/batch", {"ids": ["x", "\0"], "groups": ["a"] * 2, "scores": [0.5] * 2}, "ids.1: string should"),
        ("/decisions/batch", {"ids": ["x", "x"], "groups": ["a"] * 2, "scores": [0.5] * 2}, ""),
        ("/outcomes", {"ids": ["x"], "labels": [2]}, "labels.0: input should be less than or equal to 1, got 2"),
        ("/outcomes", {"ids": ["x"], "labels": [True]}, "labels.0: input should be a valid integer, got True"),
        ("/outcomes", {"ids": ["x"], "labels": [10**30]}, "labels.0: input should be less than or equal to 1"),
        ("/mode", {"mode": "fast", "reason": "x"}, "mode: input should be 'learn', 'hold', 'shadow' or 'approve'"),
        ("/mode", {"mode": "hold", "reason": ""}, "reason: string should have at least 1 character"),
        ("/mode", {"mode": "hold", "reason": "x", "threshold": 0.55}, "threshold must be one of the grid"),
        ("/mode", {"mode": "hold", "reason": "x", "threshold": [1e300, 1e300]}, "threshold must be one of the grid"),
        ("/keys", {"name": "x", "scopes": ["all"]}, "scopes.0: input should be"),
        (
            "/keys",
            {"name": "x", "scopes": ["read"], "expires": "2020-01-01T00:00:00Z"},
            "expires must be a time to come",
        ),
        (
            "/keys",
            {"name": "x", "scopes": ["read"], "expires": "9999-12-31T23:59:59-12:00"},
            "expires must be in the year 9999 or before in UTC, got 9999-12-31T23:59:59-12:00",
        ),
        (
            "/mode",
            {"mode": "hold", "reason": "x", "threshold": [0.1] * 50_000},
            "threshold: must be at most 1000 numbers, got",
        ),
        (
            "/mode",
            {"mode": "hold", "reason": "x", "threshold": [0.123456] * 1000},
            "threshold must be a number, or 2 of them, got [0.123456, 0.123456, ",
        ),
    ],
)
def test_other_bad_bodies(served: Served, path: str, body: Any, told: str) -> None:
    assert refused(served, path, body).startswith(told)


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/decisions", b'{"id": "twice", "group": "a", "score": 0.1, "score": 0.9}', "score"),
        ("/decisions", b'{"id": "twice", "group": "a", "score": 0.1, "sc\\u006fre": 0.9}', "score"),
        ("/decisions/batch", b'{"ids": ["t"], "ids": ["t"], "groups": ["a"], "scores": [0.1]}', "ids"),
        ("/outcomes", b'{"ids": ["known"], "labels": [1], "labels" : [0]}', "labels"),
        ("/mode", b'{"mode": "hold", "reason": "x", "mode": "learn"}', "mode"),
        ("/keys", b'{"name": "x", "scopes": ["read"], "scopes": ["admin"]}', "scopes"),
    ],
)
def test_a_field_that_is_given_twice_is_refused(served: Served, path: str, body: bytes, told: str) -> None:
    assert refused(served, path, body) == f"{told}: field must be given once, got it twice"


def test_a_value_may_be_the_name_of_a_field(served: Served) -> None:
    for name in ("id", "score", 'sc"ore\\', "group\u00fc"):
        found = served.ask("POST", "/decisions", json={"id": name, "group": "a", "score": 0.9})
        assert (found.status_code, found.json()["id"]) == (200, name)


def test_a_body_must_say_that_it_is_json(served: Served) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""):
        found = served.ask("POST", "/decisions", content=json.dumps(DECISION), headers={"Content-Type": media})
        assert (found.status_code, found.json()["title"]) == (415, "Unsupported Media Type")
    spelt = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert served.ask("POST", "/decisions", content=json.dumps(DECISION), headers=spelt).status_code == 200


@pytest.mark.parametrize(
    "name",
    ["Ünïcode ☂ 名前", "..", ".", "../../other", "%2e%2e", "a/b?c=d&e#f", "%2F..", "🦄" * 200, "'; DROP TABLE cases"],
)
def test_an_id_may_be_any_text(served: Served, name: str) -> None:
    with served.client() as client:
        first = client.decide(name, "a", 0.7)
        assert (first.id, first.repeated) == (name, False)
        assert client.decide(name, "a", 0.7).repeated
        assert client.case(name).id == name
        assert client.outcomes([name], [1]).new == 1


def test_what_contradicts_the_log_is_a_conflict(served: Served) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = served.ask("POST", "/decisions/batch", json={"ids": ["r"], "groups": ["a"], "scores": [0.9]}, headers=key)
    again = served.ask("POST", "/decisions/batch", json={"ids": ["r"], "groups": ["a"], "scores": [0.9]}, headers=key)
    assert first.json()["accepted"] == again.json()["accepted"] == [True]
    other = served.ask("POST", "/decisions/batch", json={"ids": ["s"], "groups": ["a"], "scores": [0.9]}, headers=key)
    assert other.status_code == 409
    assert refused(served, "/decisions", {"id": "r", "group": "b", "score": 0.9}, 409).startswith("id 'r' was decided")
    assert refused(served, "/outcomes", {"ids": ["never"], "labels": [1]}, 404)
    assert refused(served, "/rounds/999/close", None, 409)
    for bad in ("", "x" * 201, "tab\there"):
        found = served.ask("POST", "/decisions", json=DECISION, headers={"Idempotency-Key": bad})
        assert (found.status_code, found.json()["detail"][:15]) == (422, "Idempotency-Key")


def test_unknown_paths_and_methods_are_problems(served: Served) -> None:
    found = served.http.get(f"{served.url}/nothing/{'x' * 500}")
    assert (found.status_code, found.headers["content-type"]) == (404, "application/problem+json")
    assert found.json()["detail"].startswith("there is nothing at '/nothing/xxx")
    found = served.ask("PATCH", "/keys")
    assert (found.status_code, found.headers["allow"]) == (405, "GET, HEAD, POST")
    for query in ("limit=0", "limit=1001", "after=-1", f"after={2**63}", "after=x", "kind=nothing", "newest=perhaps"):
        assert served.ask("GET", f"/log?{query}").status_code == 422
    assert served.ask("POST", f"/rounds/{2**31}/close").status_code == 422
    assert served.ask("GET", "/cases/%00").status_code == 422
    assert served.ask("GET", "/cases/%ED%A0%80").status_code == 404


def test_a_large_body_is_refused_before_it_is_read(served: Served) -> None:
    large = b'{"ids": ["' + b"x" * 10_000_000 + b'"]}'
    assert "at most 8000000 bytes" in refused(served, "/decisions/batch", large, 413)
    most = {"ids": [f"m{k}" for k in range(10_000)], "groups": ["a"] * 10_000, "scores": [0.123456789] * 10_000}
    assert served.ask("POST", "/decisions/batch", json=most).status_code == 200


def raw(served: Served, head: str, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send bytes as they are, and return the answer until the server closes or is silent."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as connection:
        token = served.keys["credit", "all"]
        connection.sendall(
            f"POST /v1/gates/credit/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\n{head}\r\n\r\n".encode()
        )
        answer = b""
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            while more := connection.recv(65536):
                answer += more
        except OSError:  # the server has closed; what it said is still to be read
            connection.settimeout(0.2)
            answer += connection.recv(65536)
        return answer


def test_a_body_in_chunks_is_counted(served: Served) -> None:
    chunk = b"%x\r\n%s\r\n" % (1_000_000, b"x" * 1_000_000)
    answer = raw(served, "Transfer-Encoding: chunked", *[chunk] * 9)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer.lower()
    body = json.dumps({"id": "chunk", "group": "a", "score": 0.9}).encode()
    parts = [b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:])] + [b"0\r\n\r\n"]
    assert b'"accepted":true' in raw(served, "Connection: close\r\nTransfer-Encoding: chunked", *parts)


def test_a_client_that_never_finishes_is_cut_off(served: Served) -> None:
    start = time.monotonic()
    answer = raw(served, "Content-Length: 1000", *[b" "] * 8, pause=0.1)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"within 0.5 seconds" in answer
    assert time.monotonic() - start < 3
    with served.client() as client:  # and nobody else has to wait
        assert client.decide("meanwhile", "a", 0.9).accepted


def test_a_client_that_sends_half_a_head_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.live.service.protocol.HEAD_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost")
        assert connection.recv(1) == b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        time.sleep(0.5)  # between requests there is more time
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
def test_a_client_that_reads_nothing_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.live.service.protocol.READ_SECONDS", 0.3)
    lost, end = threading.Event(), ImpatientProtocol.connection_lost

    def noting(self: ImpatientProtocol, error: Exception | None) -> None:
        end(self, error)
        lost.set()

    size, asked = len(served.http.get(f"{served.url}/openapi.json").content), 300
    monkeypatch.setattr(ImpatientProtocol, "connection_lost", noting)
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as connection:
        connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * asked)
        assert lost.wait(60)
        found = 0
        with contextlib.suppress(ConnectionResetError):
            while more := connection.recv(1 << 20):
                found += len(more)
    assert 0 < found < size * asked


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NAMES = (
    "id",
    "group",
    "score",
    "ids",
    "groups",
    "scores",
    "labels",
    "accepted",
    "reason",
    "mode",
    "threshold",
    "round",
)
PATHS = ("/decisions", "/decisions/batch", "/reports", "/outcomes", "/corrections", "/overrides", "/approvals", "/keys")


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(PATHS), st.dictionaries(st.sampled_from(NAMES), PLAIN, max_size=5) | PLAIN | st.binary())
def test_no_body_at_all_breaks_it(served: Served, path: str, body: Any) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode("utf-8", "surrogatepass")
    assert served.ask("POST", path, content=raw, headers=JSON).status_code in (200, 404, 409, 422)


def test_gates_that_keep_counts_take_labels_by_score(tmp_path_factory: pytest.TempPathFactory) -> None:
    database = str(tmp_path_factory.mktemp("counts") / "gate.db")
    with service(database, make_spec(store="counts")) as counting:
        assert "key must be given" in refused(counting, "/decisions", DECISION)
        with counting.client() as client:
            assert client.decide(["p", "q"], ["a", "b"], [0.7, 0.2]).accepted == [True, False]
            found = client.outcomes(round_number=0, groups=["a"], scores=[0.7], labels=[1])
            assert found.new == 1
        assert refused(counting, "/outcomes", {"ids": ["p"], "labels": [1]}).startswith("round: field required")
