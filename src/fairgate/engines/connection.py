"""The way to a Dask scheduler: its address, a client of it, and quiet while either is lost."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fairgate.engines.host import Host
from fairgate.errors import InputError

REACH = 6.0
"""Seconds within which a scheduler must answer."""

DASHBOARD = 2.0
"""Seconds within which a dashboard must answer."""

LOGGERS = ("distributed", "distributed.client", "distributed.comm", "distributed.core", "distributed.scheduler")

SETTINGS = {
    "distributed.comm.timeouts.connect": f"{REACH}s",
    "distributed.admin.large-graph-warning-threshold": "1GB",
}

FORMS = "tcp://host:port, tls://host:port, a scheduler file, or local:4 for 4 workers of this machine"


class Connection:
    """What is meant by `cluster`: a scheduler elsewhere, by address or file, or a cluster of this machine."""

    def __init__(self, cluster: str) -> None:
        try:
            import distributed  # noqa: F401
        except ImportError:
            raise InputError(
                f"cluster {cluster!r} needs Dask, which is not installed: pip install 'fairgate[scale]'"
            ) from None
        self.name = cluster
        self.expected: int | None = None  # workers, if it is known how many there will be
        self._host: Host | None = None
        local = re.fullmatch(r"local:(\d+)", cluster)
        if local and int(local[1]) > 0:
            self.expected = int(local[1])
            self._host = Host(self.expected)
        elif not re.fullmatch(r"[a-z]+://.+", cluster) and not Path(cluster).is_file():
            raise InputError(f"cluster {cluster!r} must be {FORMS}")

    def client(self, timeout: float = REACH) -> Any:
        """Connect, or raise an OSError within `timeout` seconds."""
        import distributed

        connect: Any = distributed.Client
        address = self.address()
        with warnings.catch_warnings(), ThreadPoolExecutor(1) as aside:  # a notebook has a loop of its own
            warnings.simplefilter("ignore")  # of other versions, which are compared when there are workers
            try:
                aside.submit(asyncio.run, _greet(address, timeout)).result()
                return connect(address, timeout=timeout, set_as_default=False, name="fairgate")
            except ValueError as error:
                raise InputError(f"cluster {self.name!r} must be {FORMS}: {error}") from None
            except TypeError:
                raise InputError(
                    f"cluster {self.name!r} needs certificates: name them in Dask's settings, distributed.comm.tls"
                ) from None
            except MemoryError:
                raise ConnectionError("what answers is no Dask scheduler") from None

    def address(self) -> str:
        """Return the scheduler's address, as it is now."""
        if self._host is not None:
            return self._host.address()
        if "://" in self.name:
            return self.name
        try:
            return str(json.loads(Path(self.name).read_text(encoding="utf-8"))["address"])
        except (ValueError, KeyError, TypeError):
            raise InputError(f"cluster {self.name!r} is no scheduler file: it has no address") from None

    def close(self) -> None:
        """End what was started here."""
        if self._host is not None:
            self._host.close()


async def _greet(address: str, timeout: float) -> None:
    """Ask the scheduler who it is, as a client waits without end for one that listens but never answers."""
    from distributed import core, security

    settings: Any = security.Security
    ask: Any = core.rpc
    arguments = settings().get_connection_args("client")
    async with asyncio.timeout(timeout), ask(address, connection_args=arguments) as scheduler:
        await scheduler.identity()


def dashboard(client: Any) -> str:
    """Return the address of the scheduler's dashboard; nothing if there is none, or none that answers from here."""
    import urllib.request
    from http.client import HTTPException

    link = ""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with suppress(KeyError, OSError, ValueError, HTTPException):  # a scheduler without one answers 404, an OSError
        found = client.dashboard_link or ""
        direct.open(found, timeout=DASHBOARD).close()
        link = str(found)
    return link


def leave(client: Any) -> None:
    """Close a client, whether or not its scheduler is still there."""
    with suppress(Exception):
        client.close(timeout=3)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence what Dask logs about connections and workers that are lost: the engine says it in its own words.

    Dask is told not to wait for long, and that calls may be large.
    """
    import dask

    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with dask.config.set(SETTINGS):
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
