"""A service for tests: the real app under uvicorn, in a thread of its own, on a free port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from fairgate.live.client import Client
from fairgate.live.config import ServiceSettings
from fairgate.live.keys import create_key
from fairgate.live.service.app import make_app
from fairgate.live.service.server import options
from fairgate.live.spec import Spec

SCOPES = ("decide", "rounds", "outcomes", "read", "admin", "audit")


def make_spec(name: str = "credit", **more: Any) -> Spec:
    """A gate that holds at 0.5; its rounds close when told to."""
    plain: dict[str, Any] = {
        "name": name,
        "groups": ["a", "b"],
        "grid": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
        "constraints": {"parity": 0.2},
        "start": {"mode": "hold", "threshold": 0.5},
        "rounds": {"people": None},
    }
    return Spec(**{**plain, **more})


@dataclass
class Served:
    """A running service; keys of each scope, and one of all scopes, for each gate."""

    url: str
    app: FastAPI
    http: httpx.Client
    keys: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rpartition(":")[2])

    def client(self, gate: str = "credit", scope: str = "all", **more: Any) -> Client:
        """A client with a key of one scope, or of all."""
        return Client(self.url, gate, self.keys[gate, scope], **more)

    def ask(self, method: str, path: str, scope: str = "all", **more: Any) -> httpx.Response:
        """Plain HTTP below the path of the gate, with a key of one scope."""
        headers = {"Authorization": f"Bearer {self.keys['credit', scope]}", **more.pop("headers", {})}
        return self.http.request(method, f"{self.url}/v1/gates/credit{path}", headers=headers, **more)


@contextmanager
def serving(settings: ServiceSettings, **more: Any) -> Iterator[Served]:
    """Serve until the end of the block."""
    app = make_app(settings, **more)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, **options(settings)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                if not thread.is_alive():
                    raise RuntimeError("the service did not start")
                time.sleep(0.005)
            with httpx.Client(timeout=30) as http:
                yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}", app, http)
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def service(
    database: str, *specs: Spec, keys: Mapping[tuple[str, str], str] | None = None, **more: Any
) -> Iterator[Served]:
    """Serve gates of a database, with a key of each scope and one of all for each, unless there are some."""
    specs = specs or (make_spec(),)
    with serving(ServiceSettings(database=database, gates=list(specs)), **more) as served:
        served.keys.update(keys or made_keys(served))
        yield served


def made_keys(served: Served) -> dict[tuple[str, str], str]:
    """Make a key of each scope and one of all, for each gate."""
    found: dict[tuple[str, str], str] = {}
    for name, gate in served.app.state.gates.items():
        found |= {(name, scope): create_key(gate, scope, [scope]) for scope in SCOPES}
        found[name, "all"] = create_key(gate, "all", SCOPES)
    return found
