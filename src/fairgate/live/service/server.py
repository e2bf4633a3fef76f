"""Server: uvicorn with the settings of a gate, and no patience for clients that never finish a request."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.config import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from fairgate.live.config import ServiceSettings
from fairgate.live.service.app import make_app

HEAD_SECONDS = 10.0
"""How long a client may take to send the head of a request."""

STOP_SECONDS = 30
"""How long requests that are under way may take to finish when the server is stopped."""

CONFIG = "FAIRGATE_LIVE_CONFIG"
"""Variable of the environment that tells workers where the settings are."""


class ImpatientProtocol(asyncio.Protocol):
    """Uvicorn's protocol, but a client that has not sent the head of a request in time is cut off."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self._inner: Any = AutoHTTPProtocol(config, server_state, app_state, _loop)  # type: ignore[call-arg]
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        self._inner.connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Go on; wait no longer once the head is there."""
        self._inner.data_received(data)
        self._watch()

    def _watch(self) -> None:
        cycle = self._inner.cycle
        if cycle is not None and not cycle.response_complete:
            self._unwatch()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(HEAD_SECONDS, self._inner.transport.close)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self._unwatch()
        self._inner.connection_lost(error)

    def eof_received(self) -> None:
        """Note that the client sends no more."""
        self._inner.eof_received()

    def pause_writing(self) -> None:
        """Wait for a client that reads slowly."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Go on writing."""
        self._inner.resume_writing()


def options(settings: ServiceSettings) -> dict[str, Any]:
    """Return uvicorn's options for these settings."""
    return {
        "http": ImpatientProtocol,
        "ws": "none",
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "date_header": False,
        "proxy_headers": settings.behind_proxy,
        "forwarded_allow_ips": "*" if settings.behind_proxy else "",
        "timeout_keep_alive": 20,
        "timeout_graceful_shutdown": STOP_SECONDS,
    }


def make_worker() -> FastAPI:
    """Return the app of one of several workers, from the file that the environment names."""
    return make_app(ServiceSettings.read(os.environ[CONFIG]))


def run(settings: ServiceSettings, **more: Any) -> None:
    """Serve until the process is told to stop; what was acknowledged is on disk by then."""
    uvicorn.run(make_app(settings), host=settings.host, port=settings.port, **options(settings), **more)
