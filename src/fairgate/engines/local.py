"""Engines of this machine: the process itself, or several."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fairgate.engines.base import Call, Crashed, alone

ATTEMPTS = 3
"""How often a call is begun before it counts as crashed; the last time, nothing else is done on the machine."""

KILLED = "killed or out of memory"


@dataclass(frozen=True)
class InProcess:
    """Carries out one call after the other, here.

    >>> dict(InProcess().run([lambda: 2 + 2, lambda: "two"]))
    {0: 4, 1: 'two'}
    """

    workers: int = 1

    def __str__(self) -> str:
        return "this process"

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        """Yield the place of each call and its result, in order."""
        for place, call in enumerate(calls):
            try:
                result = alone(call)
            except MemoryError as error:
                result = Crashed(f"out of memory {error}".strip())
            yield place, result


@dataclass(frozen=True)
class Processes:
    """Carries out calls in so many processes of this machine; one that is killed costs no more than its last call.

    Calls may come from a notebook or a script as it is. A call whose process died is begun again in a new one.
    """

    workers: int
    _pool: list[Any] = field(default_factory=list, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.workers} processes"

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        """Yield the place of each call and its result as they finish."""
        left, last = deque(range(len(calls))), deque[int]()
        begun = [0] * len(calls)
        running: dict[Future[Any], tuple[int, Any]] = {}
        idle = list(self._pool)
        self._pool.clear()

        def begin() -> None:
            while (left and len(running) < self.workers) or (last and not running):
                place = (left or last).popleft()
                process = idle.pop() if idle else _process()
                begun[place] += 1
                with _deaf():
                    running[process.submit(alone, calls[place])] = place, process

        try:
            begin()
            while running:
                done = next(iter(wait(running, return_when=FIRST_COMPLETED).done))
                place, process = running.pop(done)
                died = _death(done)
                if died != KILLED:
                    idle.append(process)
                if died is None:
                    begin()  # before the result is looked at, which takes a while
                    yield place, done.result()
                    continue
                if begun[place] >= ATTEMPTS:
                    yield place, Crashed(f"its process died {ATTEMPTS} times, {died}")
                else:
                    (last if begun[place] == ATTEMPTS - 1 else left).append(place)
                begin()
        finally:
            for _, process in running.values():
                process.shutdown(kill_workers=True)
            self._pool.extend(idle)

    def close(self) -> None:
        """Let the processes end; without it, they end with this one."""
        while self._pool:
            self._pool.pop().shutdown()


def _process() -> Any:
    """Return an executor of a single process, so that nobody else's call is lost with it."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(max_workers=1, initializer=_end_with, initargs=(os.getpid(),))


def _end_with(parent: int) -> None:
    """End this process, whatever it is doing, once its parent is gone without a word."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _deaf() -> Iterator[None]:
    """Let processes begun here not hear Ctrl-C, which a terminal sends to all: this one ends them, and says so."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # else the first process would start it, and many Pythons unblock signals then (CPython #127586)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _death(done: Future[Any]) -> str | None:
    """Say why a call did not get to its end; None if it did, whatever it came to."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    error = done.exception()
    if isinstance(error, MemoryError):
        return f"out of memory {error}".strip()
    return KILLED if isinstance(error, TerminatedWorkerError) else None
