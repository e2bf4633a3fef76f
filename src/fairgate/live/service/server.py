"""Server: uvicorn with the settings of a gate."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from fairgate.errors import InputError
from fairgate.live.config import ServiceSettings
from fairgate.live.service import logs
from fairgate.live.service.app import make_app
from fairgate.live.service.gates import Gates
from fairgate.live.service.protocol import ImpatientProtocol
from fairgate.live.spec import Trust

STOP_SECONDS = 30
"""How long requests that are under way may take to finish when the server is stopped."""

START_SECONDS = 60
"""How long a worker may take to start before another one is started in its place."""

SETTINGS = "FAIRGATE_LIVE_SETTINGS"
"""Variable of the environment that hands the settings to workers."""


def options(settings: ServiceSettings) -> dict[str, Any]:
    """Return uvicorn's options for these settings."""
    return {
        "http": ImpatientProtocol,
        "ws": "none",
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "date_header": False,
        "proxy_headers": False,  # the app reads them, and believes less
        "timeout_keep_alive": 20,
        "timeout_graceful_shutdown": STOP_SECONDS,
        "timeout_worker_healthcheck": START_SECONDS,
    }


def run(
    settings: ServiceSettings,
    tell: Callable[[str], None],
    workers: int = 1,
    certificate: Path | None = None,
    key: Path | None = None,
) -> None:
    """Serve until the process is told to stop; what was acknowledged is on disk by then.

    Parameters
    ----------
    settings
        The gates, and where to listen.
    tell
        Called with the address once the gates are open and the port is taken.
    workers
        Processes that share the port.
    certificate, key
        Files for HTTPS.
    """
    if workers > 1 and settings.session_secret is None:
        raise InputError(
            "several workers must sign log-ins of the page with one secret: name a file for it, session_secret in "
            "[service]"
        )
    logs.begin(settings.log)
    chosen = {**options(settings), "log_config": None, "ssl_certfile": certificate, "ssl_keyfile": key}
    with bind(settings) as listening:
        app = make_app(settings)
        gates: Gates = app.state.gates
        gates.try_to_open()
        port = listening.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        tell(f"{'http' if certificate is None else 'https'}://{host}:{port}")
        if workers == 1:
            settle()
            uvicorn.Server(uvicorn.Config(app, **chosen)).run(sockets=[listening])
            return
        gates.shut()
    os.environ[SETTINGS] = settings.model_dump_json()
    worker = f"{make_worker.__module__}:{make_worker.__name__}"
    uvicorn.run(worker, factory=True, workers=workers, host=settings.host, port=port, **chosen)


def bind(settings: ServiceSettings) -> socket.socket:
    """Return a socket that listens at the address of the settings."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno).lower() if error.errno else str(error)
        raise InputError(f"{settings.host}:{settings.port} cannot be listened on: {why}") from None


def make_worker() -> FastAPI:
    """Return the app of a worker, whose settings are in the environment."""
    threading.Thread(target=end_with_parent, name="parent", daemon=True).start()
    plain = json.loads(os.environ[SETTINGS])
    trust = Trust(frozenset(plain["allow"]), Path(plain["folder"]) if plain["folder"] else None)
    settings = ServiceSettings.model_validate(plain, context=trust)
    logs.begin(settings.log)
    app = make_app(settings)
    settle()
    return app


def end_with_parent() -> None:
    """Stop this worker gracefully when the process that started it ends, even by a kill.

    Otherwise workers would keep the port, and no new server could take it.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()  # the end of a pipe whose other end only the parent holds
        signal.raise_signal(signal.SIGTERM)


def settle() -> None:
    """Have the garbage collector leave alone what is there now: a look through all modules takes 0.1 s."""
    gc.collect()
    gc.freeze()
