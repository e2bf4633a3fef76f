"""How long `/health` waits at most while hostile requests or the largest legitimate ones arrive.

    python benchmarks/live_stall.py                # each kind of request for two seconds, on SQLite: a minute

`fairgate live serve` runs as a separate process. One process asks for `/health` every 2 ms over
one connection; another sends one kind of request over four connections, each the next one as soon as it has the answer.
The longest answer of `/health` is the stall. It includes the wait for a processor, which the line *nothing else* shows.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from multiprocessing.synchronize import Event
from pathlib import Path

from rich.console import Console
from rich.table import Table

SENDERS = 4
PAUSE = 0.002
"""Seconds between two questions for `/health`."""

BYTES = 7_900_000
"""Of a hostile body, just within the limit."""

Make = Callable[[int], tuple[str, bytes]]
"""Makes the path and the body of a request from its number; no path is the log-in of the page, and needs no key."""

RAW = "raw"
"""In place of a path: the bytes are sent as they are, without a key."""


def batch(people: int, name: str) -> Make:
    """A batch of new applications; their ids begin with `name`."""

    def make(number: int) -> tuple[str, bytes]:
        ids = [f"{name}{number}-{each}" for each in range(people)]
        columns = {"ids": ids, "groups": ["women", "men"] * (people // 2), "scores": [0.123456789] * people}
        return "/decisions/batch", json.dumps(columns).encode()

    return make


def repeated(path: str, start: bytes, middle: bytes, end: bytes) -> Make:
    """A body that is as large as allowed: a beginning, one part again and again, and an end."""
    body = start + middle * ((BYTES - len(start) - len(end)) // len(middle)) + end
    return lambda _: (path, body)


def unknown_fields(_: int) -> tuple[str, bytes]:
    """600,000 fields that no request has."""
    return "/decisions", b"{" + b",".join(b'"%d":0' % each for each in range(600_000)) + b"}"


ONE = b'{"id":"x","group":"women","score":'
CHUNKED = b"POST /login HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
HOSTILE: dict[str, Make] = {
    "600,000 unknown fields": unknown_fields,
    "a field 700,000 times": repeated("/decisions", b'{"id":"x"', b',"id":"x"', b',"group":"women","score":0.5}'),
    "4,000,000 numbers": repeated("/decisions/batch", b'{"ids":["x"],"groups":["women"],"scores":[0', b",0", b"]}"),
    "2,600,000 empty arrays": repeated("/decisions/batch", b'{"ids":[[]', b",[]", b"]}"),
    "2,600,000 empty objects": repeated("/decisions/batch", b'{"ids":[{}', b",{}", b"]}"),
    "nested 8,000,000 deep": repeated("/decisions", b"", b"[", b""),
    "a text of 8 MB": repeated("/decisions", b'{"id":"', b"x", b'"}'),
    "a text of 1,300,000 escapes": repeated("/decisions", b'{"id":"', b"\\u0041", b'"}'),
    "a name of 8 MB": repeated("/decisions", b'{"', b"x", b'":1}'),
    "a whole number of 8 MB": repeated("/decisions", ONE, b"1", b"}"),
    "1,800 numbers of 4,200 digits": repeated("/decisions/batch", b'{"scores":[1', b"," + b"1" * 4200, b"]}"),
    "8 MB of spaces": repeated("/decisions", b"", b" ", ONE + b"0.5}"),
    "no UTF-8": repeated("/decisions", b'{"id":"', b"\xff", b'"}'),
    "a form of 8 MB, without a key": repeated("", b"key=x", b"&x", b""),
    "a field of 8 MB, without a key": repeated("", b"key=", b"%41", b""),
    "1,300,000 chunks, without a key": repeated(RAW, CHUNKED, b"1\r\nx\r\n", b"0\r\n\r\n"),
    "400,000 pipelined requests, without a key": repeated(RAW, b"", b"GET / HTTP/1.1\r\n\r\n", b""),
}
LEGITIMATE: dict[str, Make] = {
    "10,000 applications": batch(10_000, "m"),
    "10,000 ids of 130 characters, escaped": batch(10_000, "\u00fc" * 110),
}


class Service:
    """Where to send requests."""

    def __init__(self, port: int, gate: str, token: str) -> None:
        self.port, self.gate, self.token = port, gate, token

    def connect(self) -> socket.socket:
        """Open a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def head(self, path: str, length: int) -> bytes:
        """Write the head of a request; one for no path of the gate is a form of the page."""
        if path == RAW:
            return b""
        if not path:
            lines = ["POST /login HTTP/1.1", "Content-Type: application/x-www-form-urlencoded"]
        else:
            lines = [f"POST /v1/gates/{self.gate}{path} HTTP/1.1", "Content-Type: application/json"]
            lines.append(f"Authorization: Bearer {self.token}")
        return "\r\n".join([*lines, "Host: 127.0.0.1", f"Content-Length: {length}", "", ""]).encode()


def answer(connection: socket.socket) -> bytes:
    """Read one answer; it is empty if the service has closed the connection."""
    found = b""
    while b"\r\n\r\n" not in found:
        more = connection.recv(65_536)
        if not more:
            return found
        found += more
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length:" in line)
    while len(body) < length and (more := connection.recv(65_536)):
        body += more
    return head


def send(service: Service, make: Make, numbers: Iterator[int], want: bytes, begun: Event, over: Event) -> None:
    """Send one kind of request until it is over; every answer must begin with `want`."""
    while not over.is_set():
        try:
            with service.connect() as connection:
                while not over.is_set():
                    path, body = make(next(numbers))
                    begun.set()
                    connection.sendall(service.head(path, len(body)) + body)
                    found = answer(connection)
                    if not found.startswith(want):
                        raise SystemExit(f"the service answered {found[:300]!r}")
                    if not found or path == RAW:
                        break
        except OSError:  # a refusal that closes the connection while the body is on its way
            continue


def send_all(service: Service, name: str, begun: Event, over: Event) -> None:
    """Send one kind of request over several connections, in a separate process."""
    numbers = count(time.monotonic_ns())
    make, wanted = {**HOSTILE, **LEGITIMATE}[name], b"HTTP/1.1 200" if name in LEGITIMATE else b""
    threads = [
        threading.Thread(target=send, args=(service, make, numbers, wanted, begun, over)) for _ in range(SENDERS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ask(service: Service, seconds: float) -> float:
    """Ask for `/health` again and again, and return the longest time of an answer."""
    longest, end = 0.0, time.monotonic() + seconds
    with service.connect() as connection:
        while time.monotonic() < end:
            begin = time.perf_counter()
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            if not answer(connection).startswith(b"HTTP/1.1 200"):
                raise SystemExit("/health was not answered")
            longest = max(longest, time.perf_counter() - begin)
            time.sleep(PAUSE)
    return longest


def stall(service: Service, name: str, seconds: float) -> float:
    """Return the longest answer of `/health` while one kind of request arrives; with an empty name, none does."""
    if not name:
        return ask(service, seconds)
    processes = multiprocessing.get_context("spawn")
    begun, over = processes.Event(), processes.Event()
    sending = processes.Process(target=send_all, args=(service, name, begun, over))
    sending.start()
    try:
        if not begun.wait(60):
            raise SystemExit("no request was sent within a minute")
        return ask(service, seconds)
    finally:
        over.set()
        sending.join()


def stalls(service: Service, seconds: float, repeats: int, console: Console) -> dict[str, float]:
    """Measure all kinds of requests; the median of the repeats counts."""
    found = {}
    for name in ("", *HOSTILE, *LEGITIMATE):
        values = [stall(service, name, seconds) for _ in range(repeats)]
        found[name or "nothing else"] = statistics.median(values)
        listed = ", ".join(f"{1000 * each:.0f}" for each in values)
        console.print(f"longest answer of /health, {name or 'nothing else'}: {listed} ms")
    return found


def main() -> None:
    from benchmarks.live import NAME, OURS, make_gate, process, serve_command

    console = Console(width=120)
    with tempfile.TemporaryDirectory() as name:
        config, token = make_gate(str(Path(name) / "gate.db"), Path(name))
        with process(serve_command(config), OURS):
            found = stalls(Service(OURS, NAME, token), 2.0, 1, console)
    table = Table("requests", "longest answer of /health, ms")
    for kind, value in found.items():
        table.add_row(kind, f"{1000 * value:.0f}")
    console.print(table)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    main()
