"""Writers: a few threads that write for all gates of a database; a gate is never with two of them at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

THREADS = 8
"""Most threads that write to a database: more would only wait for each other's commits."""

Work = Callable[[], bool]
"""Does the next piece of work of a gate; true if there is more of it."""


class Writers:
    """Threads that are started as they are needed, and take gates in the order in which they got something to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0  # gates that wait for a thread or are with one

    def put(self, work: Work) -> None:
        """Have a thread do what a gate has to do."""
        with self._lock:
            self._busy += 1
            if len(self._threads) < min(self._busy, THREADS):
                self._threads.append(threading.Thread(target=self._run, name="gate-writer", daemon=True))
                self._threads[-1].start()
            self._ready.put(work)

    def end(self) -> None:
        """End the threads once they have done what waits; the next work starts others."""
        with self._lock:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._ready.put(None)
        for each in threads:
            each.join()

    def _run(self) -> None:
        while (work := self._ready.get()) is not None:
            while work():
                if not self._ready.empty():  # other gates come first
                    self._ready.put(work)
                    break
            else:
                with self._lock:
                    self._busy -= 1
