"""A real Dask scheduler and real workers for tests, each in a process of its own, that can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Machines:
    """A scheduler at an address that stays the same, and its workers; all are killed at the end."""

    def __init__(self, folder: Path, dashboard: bool = True) -> None:
        self._folder = folder
        self._dashboard = ("--dashboard-address", "127.0.0.1:0") if dashboard else ("--no-dashboard",)
        self._port = free_port()
        self.address = f"tcp://127.0.0.1:{self._port}"
        self._started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        """Start the scheduler, for the first time or again, and wait until it listens."""
        place = ("--host", "127.0.0.1", "--port", str(self._port))
        self.scheduler = self._start("dask", "scheduler", *place, *self._dashboard)
        for _ in range(600):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self._port)) == 0:
                    return self.scheduler
            time.sleep(0.05)
        raise TimeoutError(self.log())

    def start_worker(self, *options: str, path: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a worker of one thread; it imports from `path` first."""
        plain = ("--nthreads", "1", "--no-dashboard", "--death-timeout", "60", "--local-directory", str(self._folder))
        return self._start("dask", "worker", self.address, *plain, *options, path=path)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process with -9, and those it started if it leads a group of them."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def log(self) -> str:
        """Return what all processes have written."""
        return (self._folder / "log").read_text()

    def close(self) -> None:
        """Kill everything."""
        for process in self._started:
            if process.poll() is None:
                self.kill(process)

    def _start(self, *command: str, path: Path | None = None) -> subprocess.Popen[bytes]:
        paths = [str(path)] if path else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
        environment["DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"] = "1"  # a call may kill two workers, not four
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command], stdout=log, stderr=log, env=environment, start_new_session=True
            )
        self._started.append(process)
        return process


@contextmanager
def machines(folder: Path, dashboard: bool = True) -> Iterator[Machines]:
    """Start a scheduler; kill it and all workers at the end."""
    found = Machines(folder, dashboard)
    try:
        yield found
    finally:
        found.close()
