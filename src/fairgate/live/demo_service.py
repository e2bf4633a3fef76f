"""A service for the demo: the real one, on a database of its own, in a thread of this process."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import uvicorn

from fairgate.errors import InputError
from fairgate.live.config import ServiceSettings
from fairgate.live.gate import Gate
from fairgate.live.keys import create_key
from fairgate.live.service.app import make_app
from fairgate.live.service.server import options
from fairgate.live.spec import Spec


class Place(NamedTuple):
    """Where a gate is served: its address and name, the lender's key, and one for the page."""

    url: str
    gate: str
    key: str
    page_key: str = ""
    folder: Path = Path()


@contextmanager
def own_service(spec: Spec, port: int = 0, keep: bool = False) -> Iterator[Place]:
    """Serve a new gate on a port of this machine, any free one if it is 0; its database is deleted unless kept."""
    folder = Path(tempfile.mkdtemp(prefix="fairgate-demo-"))
    try:
        settings = ServiceSettings(database=str(folder / "gate.db"), gates=[spec], port=port)
        gate = Gate(settings.database, spec.name, spec=spec, actor="demo")
        key = create_key(gate, "lender", ("decide", "rounds", "outcomes", "read"))
        page_key = create_key(gate, "you", ("read", "admin", "audit"))
        gate.shut()
        with listening(settings.host, port) as bound, serving(settings, bound) as url:
            yield Place(url, spec.name, key, page_key, folder)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on a port, or say that it is taken."""
    try:
        bound = socket.create_server((host, port))
    except OSError as error:
        raise InputError(f"--port {port} cannot be used: {error.strerror}; 0 is any that is free") from None
    with bound:
        yield bound


@contextmanager
def serving(settings: ServiceSettings, bound: socket.socket) -> Iterator[str]:
    """Serve in a thread until the end of the block; yield the address."""
    server = uvicorn.Server(uvicorn.Config(make_app(settings), **options(settings)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="service")
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        host, port = bound.getsockname()[:2]
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()
