"""Which engine is meant by a number of workers and the name of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairgate.engines.base import Engine
from fairgate.engines.local import InProcess, Processes
from fairgate.errors import InputError
from fairgate.progress import Say
from fairgate.settings import whole_number


@contextmanager
def open_engine(
    workers: int | None = None, cluster: str | None = None, say: Say = lambda text: None
) -> Iterator[Engine]:
    """Open an engine, and close it at the end with all the processes it started."""
    if cluster is not None:
        raise InputError("not yet")
    if workers is None:
        from joblib import cpu_count

        workers = cpu_count()
    if whole_number("workers", workers, 1) == 1:
        yield InProcess()
        return
    yield Processes(workers)
