"""Which engine is meant by a number of workers and the name of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fairgate.engines.base import Engine
from fairgate.engines.local import InProcess, Processes
from fairgate.progress import Say
from fairgate.settings import whole_number

PATIENCE = 300.0
"""Seconds for which a lost scheduler, or the first worker, is waited for."""


@contextmanager
def open_engine(
    workers: int | None = None,
    cluster: str | None = None,
    say: Say = lambda text: None,
    patience: float = PATIENCE,
) -> Iterator[Engine]:
    """Open an engine, and close it at the end with all the processes it started.

    Parameters
    ----------
    workers
        Processes of this machine, as many as cores if not given; 1 is this process itself. Of no account on a cluster.
    cluster
        A Dask cluster instead: the address of its scheduler, such as ``"tcp://10.0.0.1:8786"`` or ``"tls://…"``, the
        scheduler's file, or ``"local:4"`` for 4 workers of this machine with Dask's dashboard. Workers should have
        one thread each (``dask worker --nthreads 1``): a simulation keeps one core busy. They need no files in common
        with this process, but the same versions of Python, fairgate and the libraries it computes with.
    say
        Told which cluster it is, where its dashboard is, and what becomes of its scheduler.
    patience
        Seconds for which a scheduler that is lost, or the first worker of a cluster, is waited for.

    Examples
    --------
    >>> with open_engine(1) as engine:
    ...     print(engine, sorted(engine.run([lambda: "a", lambda: "b"])))
    this process [(0, 'a'), (1, 'b')]
    """
    if cluster is not None:
        from fairgate.engines.cluster import open_cluster

        with open_cluster(cluster, say, patience) as found:
            yield found
        return
    if workers is None:
        from joblib import cpu_count

        workers = cpu_count()
    if whole_number("workers", workers, 1) == 1:
        yield InProcess()
        return
    local = Processes(workers)
    try:
        yield local
    finally:
        local.close()
