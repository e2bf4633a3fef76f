"""Send load to a service, from a process of its own that costs little: plain sockets, requests made beforehand.

    echo '{"port": 8000, "path": "/decisions", "connections": 32, "seconds": 5}' | python benchmarks/live_load.py

A plan on standard input, figures on standard output, both JSON. Without `rate`, each connection sends the next request
once it has the answer (the most a service can do). With `rate`, requests come at random times whatever the service
does, and the time of a request counts from when it was due, so that waiting in line is part of it.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import cast

import uvloop

GROUPS = ("women", "men")
Figures = dict[str, float | int | str]


@dataclass
class Plan:
    """What to send, and how."""

    port: int
    path: str
    seconds: float
    connections: int = 32
    rate: float | None = None  # requests a second; None: as many as are answered
    people: int = 1  # in a request
    token: str = ""
    prefix: str = "a"  # of the ids of applications
    seed: int = 0
    requests: int | None = None  # stop after so many


class Maker:
    """Makes requests: new applications each time."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.count, self.rng = plan, 0, random.Random(plan.seed)
        lines = [f"POST {plan.path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
        lines += [f"Authorization: Bearer {plan.token}"] if plan.token else []
        self.head = "\r\n".join(lines)

    def make(self) -> bytes:
        """Return the next request."""
        first, people = self.count, self.plan.people
        self.count += people
        if people == 1:
            score = round(self.rng.random(), 4)
            body = f'{{"id":"{self.plan.prefix}-{first}","group":"{GROUPS[first % 2]}","score":{score}}}'
        else:
            ids = [f"{self.plan.prefix}-{number}" for number in range(first, self.count)]
            scores = [round(self.rng.random(), 4) for _ in ids]
            body = json.dumps({"ids": ids, "groups": [GROUPS[n % 2] for n in range(people)], "scores": scores})
        return f"{self.head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


class Line(asyncio.Protocol):
    """A connection that is kept; one request on its way at a time."""

    transport: asyncio.Transport

    def __init__(self, load: Load) -> None:
        self.load, self.waiting, self.due = load, b"", 0.0
        self.needed = -1  # bytes of the answer that is being read, once its head is there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's does not say that it is one

    def send(self, request: bytes, due: float) -> None:
        """Send a request that was due at a time."""
        self.due = due
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Read answers: the head up to the empty line, then as many bytes as it says."""
        self.waiting += data
        if self.needed < 0:
            end = self.waiting.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.waiting[:end].lower()
            place = head.find(b"content-length:")
            if place < 0:
                raise ValueError(f"an answer without a length: {head!r}")
            self.needed = end + 4 + int(head[place + 15 :].split(b"\r\n", 1)[0])
        if len(self.waiting) >= self.needed:
            good = self.waiting[9:10] == b"2"
            if not good and self.load.fault == "":
                self.load.fault = self.waiting[:600].decode(errors="replace")
            self.waiting, self.needed = b"", -1
            self.load.answered(self, good)

    def connection_lost(self, error: Exception | None) -> None:
        """Tell the load, unless it is over."""
        self.load.lost += not self.load.over


class Load:
    """A run of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.maker = plan, Maker(plan)
        self.times: list[float] = []
        self.bad = self.lost = self.sent = 0
        self.fault, self.over = "", False
        self.free: deque[Line] = deque()
        self.queue: deque[tuple[bytes, float]] = deque()
        self.end = 0.0
        self.open_loop = plan.rate is not None
        self.made: deque[bytes] = deque()

    async def run(self) -> Figures:
        """Send, wait for the last answers, and return figures."""
        loop = asyncio.get_running_loop()
        for _ in range(self.plan.connections):
            _, line = await loop.create_connection(lambda: Line(self), "127.0.0.1", self.plan.port)
            self.free.append(line)
        if self.plan.people > 1:  # so that making them takes no time from the service
            self.made.extend(self.maker.make() for _ in range(self.plan.requests or 64))
        begin = time.perf_counter()
        self.end = begin + self.plan.seconds
        await (self._at_random_times(begin) if self.plan.rate else self._back_to_back())
        while len(self.free) < self.plan.connections - self.lost and time.perf_counter() < self.end + 30:
            await asyncio.sleep(0.01)
        took = (self.last if self.times else time.perf_counter()) - begin
        self.over = True
        for line in self.free:
            line.transport.close()
        return self._figures(took)

    def _next(self) -> bytes | None:
        if self.plan.requests is not None and self.sent >= self.plan.requests:
            return None
        self.sent += 1
        return self.made.popleft() if self.made else self.maker.make()

    async def _back_to_back(self) -> None:
        while self.free:
            request = self._next()
            if request is None:
                return
            self.free.popleft().send(request, time.perf_counter())
        while time.perf_counter() < self.end and (self.plan.requests is None or self.sent < self.plan.requests):
            await asyncio.sleep(0.01)

    async def _at_random_times(self, begin: float) -> None:
        due = begin
        while due < self.end:
            due += self.maker.rng.expovariate(self.plan.rate or 1.0)
            while (now := time.perf_counter()) < due:
                await asyncio.sleep(max(due - now, 0.0))
            self.queue.append((self.maker.make(), due))
            self.sent += 1
            self._flush()

    def _flush(self) -> None:
        while self.queue and self.free:
            self.free.popleft().send(*self.queue.popleft())

    def answered(self, line: Line, good: bool) -> None:
        """Note an answer, and send the next request."""
        self.last = time.perf_counter()
        self.times.append(self.last - line.due)
        self.bad += not good
        request = None if self.open_loop or self.last >= self.end else self._next()
        if request is not None:
            line.send(request, self.last)
            return
        self.free.append(line)
        self._flush()

    def _figures(self, took: float) -> Figures:
        ordered = sorted(self.times) or [float("nan")]
        parts = {f"p{share:g}": ordered[min(int(share / 100 * len(ordered)), len(ordered) - 1)] for share in (50, 99)}
        figures: Figures = {"answers": len(self.times), "bad": self.bad, "lost": self.lost, "fault": self.fault}
        return {**figures, "seconds": took, "per_second": len(self.times) * self.plan.people / took, **parts}


def main() -> None:
    figures = uvloop.run(Load(Plan(**json.load(sys.stdin))).run())
    json.dump(figures, sys.stdout)


if __name__ == "__main__":
    main()
