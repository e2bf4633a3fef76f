"""Protocol: uvicorn's, with no patience for clients that never finish a request or never read an answer."""

from __future__ import annotations

import asyncio
from typing import ClassVar
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from fairgate.live.service.problems import problem

HEAD_BYTES = 65_536
"""Bytes that the head of a request may have; also the trailers of a body, and what stands between its chunks."""

HEAD_SECONDS = 10.0
"""How long a client may take to send the head of a request."""

READ_SECONDS = 30.0
"""How long a client may leave an answer unread once no more of it can be sent."""

CONNECTIONS = 500
"""Clients that may be connected at a time, fewer than the files that a process may have open."""


class ImpatientProtocol(HttpToolsProtocol):
    """Cuts off a client whose head is too long or takes too long, that does not read its answer, or is one too many.

    When more clients connect than can be served, the one that has waited longest without a request is cut off; if all
    have one under way, the newcomer is refused. So clients that connect and send nothing keep none out.

    The parser keeps a head until it is whole and has no limit of its own, so what it is fed is counted, up to the
    end of the head and from then on between parts of the body.
    """

    _idle: ClassVar[WeakKeyDictionary[ServerState, dict[ImpatientProtocol, None]]] = WeakKeyDictionary()
    """Connections of each server that wait for a request, the one that has waited longest first."""

    _fed = 0  # bytes since the parser last got on
    _timer: asyncio.TimerHandle | None = None  # until the head is there
    _stalled: asyncio.TimerHandle | None = None  # until the client reads, while no more can be sent
    _looking: asyncio.TimerHandle | None = None  # until it is looked whether an answer lies unread
    _unread: RequestResponseCycle | None = None  # whose answer lay unread at the last look

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()
        self._looking = self.loop.call_later(READ_SECONDS, self._look)
        waiting = self._waiting
        if len(self.connections) > CONNECTIONS:
            longest = next((each for each in waiting if not each.transport.is_closing()), None)
            if longest is None:
                self._refuse(503, f"more than {CONNECTIONS} clients are connected: send the request again later")
            else:
                longest.transport.abort()  # a client that asks nothing makes way for one that may
        waiting[self] = None

    @property
    def _waiting(self) -> dict[ImpatientProtocol, None]:
        return self._idle.setdefault(self.server_state, {})

    def data_received(self, data: bytes) -> None:
        """Go on, no further than a head may reach; wait no longer once the head is there."""
        while data and not self.transport.is_closing():
            part = data[: HEAD_BYTES - self._fed]
            data = data[len(part) :]
            self._fed += len(part)
            super().data_received(part)
            if self._fed >= HEAD_BYTES and not self.transport.is_closing():
                self._refuse(431, f"the head of a request must have fewer than {HEAD_BYTES} bytes, got more")
        self._watch()

    def on_headers_complete(self) -> None:
        """End a head."""
        self._waiting.pop(self, None)
        super().on_headers_complete()
        self._fed = 0

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        super().on_body(body)
        self._fed = 0

    def on_message_complete(self) -> None:
        """End a request."""
        super().on_message_complete()
        self._fed = 0

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is here already."""
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._waiting[self] = None

    def eof_received(self) -> bool:
        """Answer a client that has said all it has to say; TLS has no such half of a connection."""
        unanswered = self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
        if unanswered:
            self.cycle.keep_alive = False
        return unanswered and self.scheme == "http"

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
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
        """End."""
        self._unwatch()
        self._waiting.pop(self, None)
        for timer in (self._stalled, self._looking):
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
