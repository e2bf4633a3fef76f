"""What could hold up everybody: bodies are counted before they are parsed, and no kind of request takes all threads."""

from __future__ import annotations

import asyncio
import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.errors import InputError
from fairgate.live.keys import KeyFacts, Scope, check_key
from fairgate.live.service import limits, models, protocol
from fairgate.live.service.app import BODY_SECONDS
from fairgate.live.service.lanes import BusyError, Lane, Lanes
from fairgate.live.service.limits import ANONYMOUS, ANONYMOUS_SECONDS, FORM_BYTES
from fairgate.live.service.models import SMALL, Application, Applications, Body, ModeChange, parse
from fairgate.live.service.server import options
from fairgate.live.service.structure import MOST_FIELDS, MOST_OUTSIDE, MOST_VALUES, check_structure, outside
from tests.live.serving import Served, service

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with service(str(tmp_path_factory.mktemp("stalls") / "gate.db"), body_seconds=5) as found:
        yield found


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{" + b",".join(b'"%d":0' % each for each in range(600_000)) + b"}", "80100 texts, got 600000"),
        (b'{"id":"x"' + b',"id":"x"' * 500 + b"}", "100 fields, got 501"),
        (b"{" + b",".join(b'"\\"%d:":0' % each for each in range(101)) + b"}", "100 fields, got 101"),
        (b"[" * 100_000, "100 arrays and objects, got 100000"),
        (b'{"a":' * 50_000, "100 fields, got 50000"),
        (b'{"ids":[' + b"{}," * 200_000 + b"1]}", "100 arrays and objects, got 200002"),
        (b'{"scores":[' + b"0," * 900_000 + b"1]}", "80000 values, got 900001"),
        (b'{"ids":[' + b'"",' * 200_000 + b'""]}', "80100 texts, got 200002"),
        (b'{"scores":[' + b",".join([b"1" * 4200] * 500) + b"]}", "2000000 bytes outside texts, got 2100504"),
    ],
    ids=["unknown", "repeated", "names with quotes", "nested", "nested fields", "objects", "values", "texts", "digits"],
)
def test_a_body_of_too_many_parts_is_refused_before_it_is_parsed(
    body: bytes, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[bytes] = []
    monkeypatch.setattr(Body, "model_validate_json", classmethod(lambda _, raw: parsed.append(raw)))
    monkeypatch.setattr(json, "loads", parsed.append)
    with pytest.raises(InputError) as found:
        parse(body, Applications)
    assert str(found.value) == f"the body must have at most {told}"
    assert parsed == []


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet='a"\\:,[]{}é\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a"\\:,[]{}é'), inner),
    max_leaves=20,
)


def structure_of(value: Any) -> tuple[int, int, int]:
    """Count fields, arrays and objects, and commas of a value."""
    if not isinstance(value, dict | list):
        return 0, 0, 0
    inner = [structure_of(each) for each in (value.values() if isinstance(value, dict) else value)]
    fields, arrays, commas = (sum(each) for each in zip(*inner, strict=True)) if inner else (0, 0, 0)
    return fields + len(value) * isinstance(value, dict), arrays + 1, commas + max(len(value) - 1, 0)


@settings(max_examples=60, derandomize=True, database=None, deadline=None)
@given(JSONS, st.booleans())
def test_what_is_in_texts_does_not_count(value: Any, ascii_only: bool) -> None:
    plain = outside(json.dumps(value, ensure_ascii=ascii_only).encode())
    assert (plain.count(b":"), plain.count(b"[") + plain.count(b"{"), plain.count(b",")) == structure_of(value)


@settings(max_examples=60, derandomize=True, database=None, deadline=None)
@given(st.text(alphabet='"\\:,[]{}a 0').map(str.encode), JSONS)
def test_what_is_no_json_hides_nothing_before_its_first_fault(rest: bytes, value: Any) -> None:
    """Whatever comes after it, the parts of what the parser reads until then are counted."""
    good = json.dumps(value).encode()
    fields, arrays, commas = structure_of(value)
    plain = outside(good + rest)
    assert plain.count(b":") >= fields
    assert plain.count(b"[") + plain.count(b"{") >= arrays
    assert plain.count(b",") >= commas


def test_the_largest_batches_are_let_in() -> None:
    number = 10_000
    ids = [f'u:r,n:[{{"{each}' for each in range(number)]
    columns = {"ids": ids, "groups": ["a:b,c"] * number, "scores": [-1.2345678901234567e-200] * number}
    for indent in (None, 4):
        raw = json.dumps({**columns}, indent=indent).encode()
        assert parse(raw, Applications).ids == ids
    check_structure(b"[" + b"1," * (MOST_VALUES - 1) + b"1]")
    check_structure(b"[" * MOST_FIELDS)


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (Application, {"x" * 100_000: 1}),
        (Application, {"id": "x", "group": "a", "score": [[["x" * 30] * 6] * 6] * 2}),
        (Application, {"id": "x" * 100_000, "group": "a", "score": 0.5}),
        (Application, {"id": "x", "group": "a", "score": int("1" * 4000)}),
        (Application, {f"{each}{'x' * 500}": each for each in range(99)}),
        (ModeChange, {"mode": "hold", "reason": "x", "threshold": ["x" * 1000] * 999}),
        (ModeChange, {"mode": "\U000e0001" * 1000, "reason": "x"}),
    ],
)
def test_a_refusal_repeats_little_of_what_was_sent(model: type[Body], body: Any) -> None:
    with pytest.raises(InputError) as found:
        parse(json.dumps(body).encode(), model)
    assert len(str(found.value)) < 250
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip"])
def test_a_packed_body_is_refused(served: Served, coding: str) -> None:
    found = served.ask("POST", "/decisions", content=b"\x1f\x8b", headers={**JSON, "Content-Encoding": coding})
    told = f"content-encoding must not be given: send the body as it is, got {coding!r}"
    assert (found.status_code, found.json()["detail"]) == (415, told)


def on_the_loop() -> bool:
    """Whether this is called by an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def application(name: str, size: int) -> bytes:
    """A body of at least so many bytes."""
    return json.dumps({"id": name, "group": "a", "score": 0.9}).encode().ljust(size)


def test_large_bodies_are_parsed_by_another_thread(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, bool]] = []

    def noting(raw: bytes, model: type[Any]) -> Any:
        seen.append((len(raw), on_the_loop()))
        return parse(raw, model)

    monkeypatch.setattr(models, "parse", noting)
    for name, size in (("p-1", SMALL), ("p-2", SMALL + 1), ("p-3", 5_000_000)):
        assert served.ask("POST", "/decisions", content=application(name, size), headers=JSON).status_code in (200, 422)
    assert seen == [(SMALL, True), (SMALL + 1, False), (5_000_000, False)]


def test_others_are_answered_while_large_bodies_are_parsed(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time; when too many wait, more are refused, and may be sent again."""
    begun, go = threading.Event(), threading.Event()

    def slowly(raw: bytes, model: type[Any]) -> Any:
        if len(raw) > SMALL:
            begun.set()
            go.wait(30)
        return parse(raw, model)

    lane = Lane("large bodies", threads=1, waiting=2)
    monkeypatch.setattr(served.app.state.lanes, "bodies", lane)
    monkeypatch.setattr(models, "parse", slowly)

    def send(name: str) -> int:
        return served.ask("POST", "/decisions", content=application(name, SMALL + 1), headers=JSON).status_code

    with ThreadPoolExecutor(3) as threads:
        try:
            first = threads.submit(send, "s-1")
            assert begun.wait(30)
            others = [threads.submit(send, name) for name in ("s-2", "s-3")]
            wait_until(lambda: lane.waiting == 2)
            assert served.http.get(f"{served.url}/health").status_code == 200
            assert served.ask("POST", "/decisions", content=application("s-4", 10), headers=JSON).status_code == 200
            refused = served.ask("POST", "/decisions", content=application("s-5", SMALL + 1), headers=JSON)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            told = "more than 2 large bodies are waiting: send the request again later"
            assert refused.json()["detail"] == told
        finally:
            go.set()
        assert [each.result() for each in (first, *others)] == [200, 200, 200]


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def test_a_lane_refuses_when_too_many_wait() -> None:
    async def check() -> None:
        go, lane = threading.Event(), Lane("tests", threads=1, waiting=1)
        tasks = [asyncio.create_task(lane.run(go.wait, 30)) for _ in range(2)]
        while lane.waiting < 1:
            await asyncio.sleep(0)
        with pytest.raises(BusyError, match="more than 1 tests are waiting"):
            await lane.run(go.wait, 30)
        go.set()
        assert await asyncio.gather(*tasks) == [True, True]
        assert lane.waiting == 0

    asyncio.run(check())


def test_guesses_of_keys_do_not_take_all_threads(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """60 clients without a key wait for a slow database; whoever has one is answered, and so are probes."""
    go = threading.Event()
    looked: list[str] = []

    def slowly(engine: Any, gate: str, token: str, scope: Scope) -> KeyFacts:
        if token.startswith("fg_000000"):
            looked.append(token)
            go.wait(30)
        return check_key(engine, gate, token, scope)

    monkeypatch.setattr("fairgate.live.service.auth.check_key", slowly)
    guesses = [socket.create_connection(("127.0.0.1", served.port), 30) for _ in range(60)]
    try:
        assert served.ask("GET", "").status_code == 200
        for number, guess in enumerate(guesses):
            token = f"fg_{number:012d}_{'a' * 40}"
            guess.sendall(f"GET /v1/gates/credit HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        wait_until(lambda: served.app.state.lanes.keys.waiting == 56)
        wait_until(lambda: len(looked) == 4)
        assert served.ask("GET", "").status_code == 200
        assert served.http.get(f"{served.url}/ready").status_code == 200
    finally:
        go.set()
        answers = [guess.recv(65_536) for guess in guesses]
        for guess in guesses:
            guess.close()
    assert all(answer.startswith(b"HTTP/1.1 401 ") for answer in answers)


UNFINISHED = (
    b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 100\r\n\r\nk"
)


def read_all(connection: socket.socket) -> bytes:
    """Return all that comes until the connection is closed."""
    found = b""
    while more := connection.recv(65_536):
        found += more
    return found


def test_unfinished_bodies_without_a_key_keep_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """60 clients never finish a log-in, where 40 may be connected: others make way, and no time matters."""
    monkeypatch.setattr(protocol, "CONNECTIONS", 40)
    monkeypatch.setattr(limits, "ANONYMOUS_SECONDS", 3600.0)
    waiting: list[socket.socket] = []
    with service(str(tmp_path / "gate.db"), body_seconds=3600) as served:
        try:
            for number in range(60):
                waiting.append(socket.create_connection(("127.0.0.1", served.port), 30))
                waiting[-1].sendall(UNFINISHED)
                if number >= ANONYMOUS:  # one makes way
                    (gone, *_), _, _ = select.select(waiting, [], [], 30)
                    answer = read_all(gone)
                    assert answer.startswith(b"HTTP/1.1 503 ")
                    assert b"connection: close" in answer.lower()
                    assert b"more than 16 bodies without a key are waited for" in answer
                    waiting.remove(gone)
                    gone.close()
            assert len(waiting) == ANONYMOUS
            assert served.http.get(f"{served.url}/health").status_code == 200
            assert served.ask("POST", "/decisions", json={"id": "x", "group": "a", "score": 0.9}).status_code == 200
            assert served.http.post(f"{served.url}/login", data={"key": "x"}).status_code == 401
        finally:
            for each in waiting:
                each.close()


def test_a_body_without_a_key_has_less_time(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANONYMOUS_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", served.port), 30) as connection:
        connection.sendall(UNFINISHED)
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"within 0.2 seconds" in answer


@pytest.mark.parametrize(
    "media", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "text/plain"]
)
@pytest.mark.parametrize("said", [True, False], ids=["said", "sent"])
def test_a_form_is_small(served: Served, media: str, said: bool) -> None:
    content = b'--a\r\nContent-Disposition: form-data; name="key"\r\n\r\n' + b"x" * FORM_BYTES
    body: Any = content if said else iter([content[:100], content[100:]])
    found = served.http.post(f"{served.url}/login", content=body, headers={"Content-Type": media})
    if media == "text/plain" and not said:  # which nothing reads
        assert found.status_code == 401
        return
    assert (found.status_code, found.json()["detail"]) == (
        413,
        "the body must have at most 32768 bytes, got more: send it in parts",
    )


def test_an_origin_that_is_no_address_is_refused(served: Served) -> None:
    for origin in ("http://[", "null", "", "//", "http://elsewhere"):
        found = served.http.post(f"{served.url}/login", data={"key": "x"}, headers={"Origin": origin})
        assert found.status_code == 403
    origin = served.url
    assert served.http.post(f"{served.url}/login", data={"key": "x"}, headers={"Origin": origin}).status_code == 401


def test_the_guide_has_the_limits_as_they_are(served: Served) -> None:
    text = (Path(__file__).parents[2] / "docs" / "guides" / "operator.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| ([^|]+) \| ([\d,]+)(?: s| bytes)? \|", text, flags=re.MULTILINE))
    lanes = Lanes()
    for named, value in {
        "connections": protocol.CONNECTIONS,
        "time to send a head": protocol.HEAD_SECONDS,
        "time to send a body": BODY_SECONDS,
        "time to send a body without a key: a form of the page": ANONYMOUS_SECONDS,
        "bodies without a key that are waited for": ANONYMOUS,
        "time between requests": options(served.app.state.settings)["timeout_keep_alive"],
        "time to read an answer": protocol.READ_SECONDS,
        "path and query": protocol.TARGET_BYTES,
        "head": protocol.HEAD_BYTES,
        "headers": protocol.HEADERS,
        "body (`max_body`)": served.app.state.settings.max_body,
        "form of the page": FORM_BYTES,
        "fields of a body; its arrays and objects": MOST_FIELDS,
        "values of a body": MOST_VALUES,
        "bytes of a body outside its texts": MOST_OUTSIDE,
        "large bodies that wait for the parser": lanes.bodies.most,
        "keys that wait for their look-up": lanes.keys.most,
        "requests for figures that wait": lanes.figures.most,
        "audits that wait": lanes.audits.most,
    }.items():
        assert table[named] == f"{value:,.0f}"
