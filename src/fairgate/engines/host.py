"""A Dask cluster on this machine, in a process of its own that ends with the one that started it.

``python -m fairgate.engines.host 4`` starts a scheduler and 4 workers of one thread each, prints the scheduler's
address, and ends them once its standard input is closed. So neither an unguarded script is run again by its own
workers, nor is anything left behind by a program that was killed.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairgate.errors import InputError


class Host:
    """The process with a local cluster of so many workers; begun again if it is gone."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._process: subprocess.Popen[str] | None = None
        self._address = ""

    def address(self) -> str:
        """Return the address of its scheduler, which is started if it is not there."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            path = os.pathsep.join(each or str(Path.cwd()) for each in sys.path)
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self._workers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
            if self._process.stdout is not None:
                self._address = self._process.stdout.readline().strip()
            if not self._address:
                raise InputError(f"cluster 'local:{self._workers}' could not be started on this machine")
        return self._address

    def close(self) -> None:
        """End all its processes."""
        if self._process is None:
            return
        with suppress(OSError):
            self._process.communicate(timeout=30)
        self._process = None


def main(workers: int) -> None:
    """Hold a cluster as long as standard input is open."""
    import distributed
    from distributed.system import MEMORY_LIMIT

    start: Any = distributed.LocalCluster
    with start(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=MEMORY_LIMIT // workers,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(int(sys.argv[1]))
