"""Protocol: uvicorn's, with no patience for clients that never finish a request or never read an answer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import ClassVar
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from fairgate.live.service.problems import problem

HEAD_BYTES = 65_536
"""Bytes that the head of a request may have; also the trailers of a body, and what stands between its chunks."""

HEADERS = 200
"""Headers that a request may have."""

TARGET_BYTES = 8192
"""Bytes of a request's path and query, three times as many as the longest id needs."""

PART = 2048
"""Bytes of one client after which others have their turn: some hundred requests or chunks, if they are tiny."""

HEAD_SECONDS = 10.0
"""How long a client may take to send the head of a request."""

READ_SECONDS = 30.0
"""How long a client may leave an answer unread once no more of it can be sent."""

CONNECTIONS = 500
"""Clients that may be connected at a time, fewer than the files that a process may have open."""


class PartFlow(FlowControl):
    """Uvicorn's, which also stops reading while a part of earlier bytes waits for its turn.

    Parameters
    ----------
    transport
        The connection.
    go_on
        Called when uvicorn goes on reading while such a part waits.
    """

    def __init__(self, transport: asyncio.Transport, go_on: Callable[[], None]) -> None:
        super().__init__(transport)
        self._go_on = go_on
        self.held = False

    def hold(self, held: bool) -> None:
        """Stop reading, or go on unless uvicorn has stopped it."""
        if held != self.held and not self.read_paused:
            (self._transport.pause_reading if held else self._transport.resume_reading)()
        self.held = held

    def pause_reading(self) -> None:
        """Stop reading, from the connection and of parts that wait."""
        if self.held:
            self.read_paused = True
        else:
            super().pause_reading()

    def resume_reading(self) -> None:
        """Go on, first with parts that wait."""
        if not self.held:
            super().resume_reading()
        elif self.read_paused:
            self.read_paused = False
            self._go_on()


class ImpatientProtocol(HttpToolsProtocol):
    """Cuts off a client whose head is too long or takes too long, that does not read its answer, or is one too many.

    When more clients connect than can be served, the one that has waited longest without a request is cut off; if all
    have one under way, the newcomer is refused. So idle clients keep none out.

    The parser keeps a head until it is whole and has no limit of its own, so what it is fed is counted, up to the
    end of the head and from then on between parts of the body.
    """

    _idle: ClassVar[WeakKeyDictionary[ServerState, dict[ImpatientProtocol, None]]] = WeakKeyDictionary()
    """Connections of each server that wait for a request, the one that has waited longest first."""

    flow: PartFlow
    _backlog = b""  # bytes that have arrived
    _read = 0  # bytes of it that were read
    _left = 0  # bytes of the body that have not arrived, if the head gives its length: they cost little
    _turn: asyncio.Handle | None = None  # to read the next part
    _fed = 0  # bytes since the parser last got on
    _timer: asyncio.TimerHandle | None = None  # until the head is there
    _stalled: asyncio.TimerHandle | None = None  # until the client reads, while no more can be sent
    _looking: asyncio.TimerHandle | None = None  # until it is looked whether an answer lies unread
    _unread: RequestResponseCycle | None = None  # whose answer lay unread at the last look

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._unanswered: deque[RequestResponseCycle] = deque()
        self.flow = PartFlow(transport, self._take_turn)
        self._watch()
        self._looking = self.loop.call_later(READ_SECONDS, self._look)
        waiting = self._waiting
        if len(self.connections) > CONNECTIONS:
            longest = next((each for each in waiting if not each.transport.is_closing()), None)
            if longest is None:
                self._refuse(503, f"more than {CONNECTIONS} clients are connected: send the request again later")
            else:
                longest.transport.abort()  # an idle client makes way for a new one
        waiting[self] = None

    @property
    def _waiting(self) -> dict[ImpatientProtocol, None]:
        return self._idle.setdefault(self.server_state, {})

    def data_received(self, data: bytes) -> None:
        """Go on with new bytes."""
        self._backlog = self._backlog[self._read :] + data
        self._read = 0
        if self._turn is None:
            self._go_on()

    def _take_turn(self) -> None:
        if self._turn is None:
            self._turn = self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Read a part, no further than a head may reach; wait no longer for a head once it is there."""
        self._turn = None
        if self.pipeline:  # answers to what was read come first
            self.flow.hold(True)
            return
        part = self._backlog[self._read : self._read + min(max(self._left, PART), HEAD_BYTES - self._fed)]
        self._read += len(part)
        self._fed += len(part)
        super().data_received(part)
        if self.transport.is_closing():
            return
        if self._fed >= HEAD_BYTES:
            self._refuse(431, f"the head of a request must have fewer than {HEAD_BYTES} bytes, got more")
            return
        self._watch()
        self.flow.hold(self._read < len(self._backlog))
        if not self.flow.held:
            self._backlog, self._read = b"", 0
        elif not self.flow.read_paused:
            self._take_turn()

    def on_headers_complete(self) -> None:
        """End a head."""
        self._waiting.pop(self, None)
        if len(self.url) > TARGET_BYTES or len(self.headers) > HEADERS:
            raise ValueError("the head is too long")  # which ends in send_400_response
        super().on_headers_complete()
        self._unanswered.append(self.cycle)
        self._fed = 0
        self._left = next((int(value) for name, value in self.headers if name == b"content-length"), 0)

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        super().on_body(body)
        self._fed = 0
        self._left = max(self._left - len(body), 0)

    def on_message_complete(self) -> None:
        """End a request."""
        super().on_message_complete()
        self._fed = 0

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is here already."""
        self._unanswered.popleft()
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self.cycle.response_complete:
            self._waiting[self] = None
        if self.flow.held and not self.pipeline:
            self._take_turn()

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's may say that the connection stays
        """Answer a client that has closed its half of the connection after its request; TLS has no such half."""
        unanswered = self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        if unanswered:
            self.cycle.keep_alive = False
        return unanswered and self.scheme == "http"

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not a request."""
        if len(self.url) > TARGET_BYTES:
            self._refuse(414, f"path and query of a request must have at most {TARGET_BYTES} bytes, got more")
        elif len(self.headers) > HEADERS:
            self._refuse(431, f"a request must have at most {HEADERS} headers, got {len(self.headers)}")
        else:
            self._refuse(400, "the request must be one of HTTP/1.1, and cannot be read")

    def _refuse(self, status: int, detail: str) -> None:
        """End the connection; say why, unless that would come in the middle of another answer."""
        if self.cycle is None or self.cycle.response_complete:
            answer = problem(status, detail, {"Connection": "close"})
            head = [STATUS_LINE[status], *(b"%b: %b\r\n" % header for header in answer.raw_headers), b"\r\n"]
            self.transport.write(b"".join([*head, bytes(answer.body)]))
        self.transport.close()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Cut off a client for whom an answer lies here since the last look, even if the connection was closed."""
        unread = self.cycle if self.transport.get_write_buffer_size() else None
        if unread is not None and unread is self._unread:
            self.transport.abort()
        self._unread = unread
        self._looking = self.loop.call_later(READ_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """End, also for requests before the last one, which uvicorn would go on answering."""
        for cycle in self._unanswered:
            cycle.disconnected = True
        self._unwatch()
        self._waiting.pop(self, None)
        for timer in (self._stalled, self._looking, self._turn):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for a client that reads slowly."""
        self._stalled = self.loop.call_later(READ_SECONDS, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        """Go on writing."""
        if self._stalled is not None:
            self._stalled.cancel()
        super().resume_writing()
