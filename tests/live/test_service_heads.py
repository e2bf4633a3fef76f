"""What comes around bodies: long heads, trailers and answers that nobody reads end the connection, and no other."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn

from fairgate.live.config import ServiceSettings
from fairgate.live.service.protocol import ImpatientProtocol
from fairgate.live.service.server import options
from tests.live.serving import Served, make_spec, service

FIRST = b"GET /health HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with service(str(tmp_path_factory.mktemp("heads") / "gate.db")) as found:
        yield found


def sent(served: Served, content: bytes) -> tuple[bytes, int]:
    """Send bytes until the server takes no more, and return what it says with how many it took."""
    took, answer = 0, b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=3) as connection:
        with contextlib.suppress(OSError):
            while took < len(content):
                took += connection.send(content[took : took + 65_536])
        with contextlib.suppress(OSError):
            while more := connection.recv(65_536):
                answer += more
                if b"\r\n\r\n" in answer and b"connection: close" not in answer:
                    break
    return answer, took


@pytest.mark.parametrize("lines", [b"X: " + b"x" * 70_000 + b"\r\n", b"a: b\r\n" * 12_000], ids=["one line", "many"])
def test_a_head_that_is_too_long_is_refused(served: Served, lines: bytes) -> None:
    head, _, body = sent(served, FIRST + lines + b"\r\n")[0].partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["detail"] == "the head of a request must have fewer than 65536 bytes, got more"


def test_a_head_of_half_the_limit_is_read(served: Served) -> None:
    assert sent(served, FIRST + b"X: " + b"x" * 32_000 + b"\r\n\r\n")[0].startswith(b"HTTP/1.1 200 ")
    assert sent(served, FIRST + b"a: b\r\n" * 199 + b"\r\n")[0].startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "content",
    [
        FIRST + b"X: " + b"x" * 60_000_000,
        FIRST + b"a: b\r\n" * 5_000_000,
        b"GET /" + b"x" * 30_000_000,
        FIRST + b"\r\n" + FIRST + b"X: " + b"x" * 30_000_000,
        CHUNKED + b"1\r\nx\r\n0\r\n" + b"a: b\r\n" * 5_000_000,
        CHUNKED + b"1;" + b"x" * 30_000_000,
        FIRST + b"\r\n" + b"\r\n" * 15_000_000,
    ],
    ids=["line", "lines", "path", "second request", "trailers", "chunk extension", "empty lines"],
)
def test_what_has_no_end_is_cut_off_soon(served: Served, content: bytes) -> None:
    start = time.monotonic()
    _, took = sent(served, content)
    assert took < len(content) / 2  # the buffers of both sides take some
    assert time.monotonic() - start < 2
    assert served.ask("GET", "").status_code == 200


def test_a_body_of_many_small_chunks_is_read(served: Served) -> None:
    body = json.dumps({"id": "chunks", "group": "a", "score": 0.9}).encode() + b" " * 20_000
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    head = (
        f"POST /v1/gates/credit/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.keys['credit', 'all']}"
    )
    head += "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b'"accepted":true' in sent(served, head.encode() + chunks + b"0\r\n\r\n")[0]


@pytest.mark.parametrize(
    ("content", "status", "told"),
    [
        (FIRST + b"a: b\r\n" * 200 + b"\r\n", 431, "a request must have at most 200 headers, got 201"),
        (
            b"GET /" + b"x" * 8192 + b" HTTP/1.1\r\n\r\n",
            414,
            "path and query of a request must have at most 8192 bytes, got more",
        ),
        (b"\x16\x03\x01\x02\x00\x01", 400, "the request must be one of HTTP/1.1, and cannot be read"),
        (b"GET / HTTP/9.9\r\n\r\n", 400, "the request must be one of HTTP/1.1, and cannot be read"),
    ],
    ids=["headers", "path", "TLS", "version"],
)
def test_a_head_that_cannot_be_read_is_a_problem(served: Served, content: bytes, status: int, told: str) -> None:
    head, _, body = sent(served, content)[0].partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert (json.loads(body)["status"], json.loads(body)["detail"]) == (status, told)


@contextlib.contextmanager
def connected(served: Served, number: int) -> Iterator[list[socket.socket]]:
    """Connect so many clients."""
    with contextlib.ExitStack() as stack:
        address = ("127.0.0.1", served.port)
        yield [stack.enter_context(socket.create_connection(address, 3)) for _ in range(number)]


def is_answered(served: Served) -> bool:
    """Whether a new client is served."""
    return sent(served, FIRST + b"\r\n")[0].startswith(b"HTTP/1.1 200 ")


def test_clients_that_ask_nothing_make_way(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that has waited longest first."""
    monkeypatch.setattr("fairgate.live.service.protocol.CONNECTIONS", 20)
    with connected(served, 25) as clients:
        assert is_answered(served)
        assert clients[0].recv(1) == b""
        clients[-1].sendall(FIRST + b"\r\n")
        assert clients[-1].recv(65_536).startswith(b"HTTP/1.1 200 ")
    wait_until(lambda: is_answered(served), 2)


def test_more_clients_than_can_be_served_are_refused(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all others have a request under way."""
    monkeypatch.setattr("fairgate.live.service.protocol.CONNECTIONS", 20)
    with connected(served, 20) as clients:
        for client in clients:
            head = f"POST /v1/gates/credit/decisions HTTP/1.1\r\nAuthorization: Bearer {served.keys['credit', 'all']}"
            more = "Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue"
            client.sendall(f"{head}\r\n{more}\r\n\r\n".encode())
            assert client.recv(65_536).startswith(b"HTTP/1.1 100 ")
        wait_until(lambda: not is_answered(served), 2)  # at first others make way, which earlier tests have left
        answer = sent(served, FIRST + b"\r\n")[0]
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in answer.lower()
        assert b"more than 20 clients are connected" in answer
        clients[0].sendall(b"123456789")
        assert clients[0].recv(65_536).startswith(b"HTTP/1.1 422 ")
    wait_until(lambda: is_answered(served), 2)


def test_a_client_that_sends_nothing_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairgate.live.service.protocol.HEAD_SECONDS", 0.1)
    with connected(served, 1) as (client,):
        assert client.recv(1) == b""


def test_a_client_that_has_said_all_is_answered(served: Served) -> None:
    """Also if it has closed its half of the connection."""
    body = json.dumps({"id": "half", "group": "a", "score": 0.9}).encode()
    head = f"POST /v1/gates/credit/decisions HTTP/1.1\r\nAuthorization: Bearer {served.keys['credit', 'all']}"
    more = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
    with connected(served, 1) as (client,):
        client.sendall(f"{head}\r\n{more}\r\n\r\n".encode() + body)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b'"accepted":true' in answer


@pytest.mark.parametrize(
    "content",
    [(FIRST + b"\r\n") * 1500, CHUNKED + b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n"],
    ids=["pipelined requests", "chunks"],
)
def test_much_that_is_tiny_is_read_in_parts(served: Served, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have their turn between two parts, and each part makes little work; all is answered in the end."""
    steps: list[int] = []
    waiting: list[int] = []

    def counting(name: str) -> Any:
        real = getattr(ImpatientProtocol, name)

        def counted(self: ImpatientProtocol, *given: Any) -> Any:
            if name == "_go_on":
                steps.append(0)
                waiting.append(len(self.pipeline))
            else:
                steps[-1] += 1
            return real(self, *given)

        return counted

    for name in ("_go_on", "on_body", "on_headers_complete"):
        monkeypatch.setattr(ImpatientProtocol, name, counting(name))
    asked = content.count(b"HTTP/1.1")
    with connected(served, 1) as (client,):
        sender = threading.Thread(target=client.sendall, args=(content,))
        sender.start()
        found = b""
        while found.count(b"HTTP/1.1 ") < asked:
            found += client.recv(1 << 20)
        sender.join()
    assert found.count(b"HTTP/1.1 ") == asked
    assert max(steps) < 500
    assert max(waiting) < 100


async def answer_at_length(scope: Any, receive: Any, send: Any) -> None:
    """Answer with less than the server takes into its own memory at once, and more than small sockets take."""
    body = b"x" * 60_000
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@pytest.mark.parametrize("end", [b"", b"Connection: close\r\n"], ids=["kept", "closing"])
def test_an_answer_that_is_never_read_does_not_keep_its_connection(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one that the server could write to the end and then close, either."""
    monkeypatch.setattr("fairgate.live.service.protocol.READ_SECONDS", 0.2)
    monkeypatch.setattr("fairgate.live.service.protocol.HEAD_SECONDS", 0.1)
    settings = ServiceSettings(database="none.db", gates=[make_spec()])
    server = uvicorn.Server(uvicorn.Config(answer_at_length, **options(settings), lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as client:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            client.connect(listening.getsockname())
            client.sendall(FIRST + end + b"\r\n")
            wait_until(lambda: server.server_state.total_requests == 1, 2)
            assert server.server_state.connections
            wait_until(lambda: not server.server_state.connections, 2)
        finally:
            server.should_exit = True
            thread.join()


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
