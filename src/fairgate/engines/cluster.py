"""The engine of many machines: any Dask cluster, whose workers share nothing with this process but their versions."""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any

from fairgate.engines.base import Call, Crashed
from fairgate.engines.connection import REACH, Connection, leave, quiet
from fairgate.engines.identity import difference, identity
from fairgate.engines.parcel import Packer, carry_out, memory_limit
from fairgate.errors import InputError
from fairgate.progress import Say, clock

AHEAD, LEAST = 3, 8
"""Calls that are sent ahead: so many per thread of the workers that none waits for the next, and at least so many."""

LOOK = 2.0
"""Seconds between looks at which workers are there."""

GATHER = 60.0
"""Seconds within which a finished result must arrive."""

AGAIN = object()
DIED = Crashed("its workers died again and again, killed or out of memory")


@contextmanager
def open_cluster(name: str, say: Say, patience: float) -> Iterator[Cluster]:
    """Connect to a cluster, and leave it at the end; one that was started for it is ended."""
    connection = Connection(name)
    with quiet():
        try:
            cluster = Cluster(connection, say, patience)
            try:
                yield cluster
            finally:
                cluster.close()
        finally:
            connection.close()


class LostError(Exception):
    """The scheduler is gone, and with it all calls that were sent."""


class Cluster:
    """Carries out calls on a Dask cluster.

    Of many calls only a few per worker are sent at a time, and results are released when they are taken, so that no
    process' memory grows with their number. A call whose worker died is carried out by another; after it has killed
    several, once more by itself on the worker with the most memory. A scheduler that is lost is looked for again, and
    what it had not finished is sent again. Calls are carried out only by workers with the same versions and code.
    """

    def __init__(self, connection: Connection, say: Say, patience: float) -> None:
        self._connection = connection
        self._say = say
        self._patience = patience
        self._checked: set[str] = set()
        self._threads = 0
        self._next_look = 0.0
        self._deserted: float | None = None
        try:
            self._client = connection.client()
        except OSError:
            raise InputError(
                f"cluster {connection.name!r} cannot be reached: no Dask scheduler answers there within {REACH:.0f} s"
            ) from None
        try:
            self._look()
        except BaseException:
            self.close()
            raise
        dashboard = self._client.dashboard_link
        say(f"On {self} at {self._client.scheduler.address}" + (f", dashboard {dashboard}" if dashboard else ""))

    def __str__(self) -> str:
        return f"a Dask cluster of {self._threads} worker{'s' if self._threads != 1 else ''}"

    @property
    def workers(self) -> int:
        """Threads of all workers, at the last look; one if none has come yet."""
        return max(1, self._threads)

    def close(self) -> None:
        """Leave the cluster."""
        leave(self._client)

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        """Yield the place of each call and its result as they finish."""
        pack = Packer()
        left, last = deque(range(len(calls))), deque[int]()
        sent: dict[Any, int] = {}
        finished: SimpleQueue[Any] = SimpleQueue()
        suspects: set[int] = set()
        chosen = ""

        def send(queue: deque[int]) -> None:
            future = self._submit(pack(calls[queue[0]]), chosen)
            sent[future] = queue.popleft()
            future.add_done_callback(finished.put)

        try:
            while left or last or sent:
                try:
                    self._look()
                    while left and len(sent) < max(LEAST, AHEAD * self._threads):
                        send(left)
                    if last and not sent:
                        chosen = self._roomiest()
                        if chosen:
                            send(last)
                    future = self._first(finished, sent)
                    if future is not None:
                        answer = self._answer(future)
                    elif chosen and chosen not in self._checked:  # it was by itself there, so it is to blame
                        (future,) = sent
                        answer = DIED
                    else:
                        continue
                    if answer is AGAIN:
                        future.add_done_callback(finished.put)
                        continue
                except LostError:
                    (last if chosen else left).extendleft(sent.values())
                    sent.clear()
                    chosen = ""
                    self._reconnect()
                    continue
                place = sent.pop(future)
                chosen = ""
                future.release()
                if not isinstance(answer, Crashed) or place in suspects:
                    yield place, answer
                else:
                    suspects.add(place)
                    last.append(place)
        finally:
            if sent and self._client.status == "running":
                with suppress(Exception):
                    self._client.cancel(list(sent), force=True)

    def _submit(self, packed: bytes, worker: str) -> Any:
        options = {"key": f"fairgate-{uuid.uuid4().hex}", "pure": False, "workers": [worker] if worker else None}
        return self._ask(lambda: self._client.submit(carry_out, packed, identity(), **options))

    def _first(self, finished: SimpleQueue[Any], sent: dict[Any, int]) -> Any:
        """Wait a moment for a future that is finished; None if there is none."""
        try:
            future = finished.get(timeout=LOOK)
        except Empty:
            return None
        return future if future in sent else None

    def _answer(self, future: Any) -> Any:
        """Return what a call came to; AGAIN if its result was lost with a worker and is computed once more."""
        from distributed import CancelledError, KilledWorker

        if future.status == "cancelled":
            raise LostError
        try:
            kind, found = future.result(timeout=GATHER)
        except KilledWorker:
            return DIED
        except TimeoutError:
            return AGAIN
        except (CancelledError, OSError):
            raise LostError from None
        except ImportError as error:
            raise InputError(f"a worker of {self._connection.name} cannot carry out calls: {error}") from None
        if kind == "done":
            return found
        if kind == "memory":
            return Crashed(found)
        if kind == "raised":
            raised, told = found
            raise raised from RuntimeError(told)
        if kind == "differs":
            raise InputError(difference(f"a worker of cluster {self._connection.name!r}", found))
        raise InputError(
            f"a worker of cluster {self._connection.name!r} has no module {found!r}, which is needed: install it there"
        )

    def _look(self) -> None:
        """See which workers are there, from time to time, and compare versions with those that are new."""
        now = time.monotonic()
        if now < self._next_look:
            return
        threads: dict[str, int] = self._ask(self._client.nthreads)
        self._compare(threads.keys() - self._checked)
        self._checked = set(threads)
        self._threads = sum(threads.values())
        self._next_look = time.monotonic() + LOOK
        if threads:
            self._deserted = None
        elif self._deserted is None:
            self._deserted = now
            self._say(f"Cluster {self._connection.name} has no workers: waiting up to {clock(self._patience)} for one")
        elif now - self._deserted > self._patience:
            raise InputError(
                f"cluster {self._connection.name!r} has had no workers for {clock(self._patience)}: start some, and "
                "give the same command again, which goes on with what is left"
            )

    def _compare(self, workers: Iterable[str]) -> None:
        if not workers:
            return
        found = self._ask(lambda: self._client.run(identity, workers=list(workers), on_error="return"))
        for worker, theirs in found.items():
            if isinstance(theirs, (ImportError, AttributeError)):
                raise InputError(
                    f"worker {worker} has no fairgate, or another version than {identity()['fairgate']}: {theirs}"
                )
            if isinstance(theirs, dict) and (sentence := difference(f"worker {worker}", theirs)):
                raise InputError(sentence)

    def _roomiest(self) -> str:
        """Return the worker, of those seen at the last look, that may use the most memory; an empty text if none."""
        found = self._ask(lambda: self._client.run(memory_limit, on_error="return"))
        limits = {each: limit for each, limit in found.items() if isinstance(limit, int) and each in self._checked}
        return max(limits, key=lambda worker: limits[worker], default="")

    def _ask(self, question: Callable[[], Any]) -> Any:
        """Ask the scheduler something; a LostError if it is gone."""
        if self._client.status != "running":
            raise LostError
        try:
            return question()
        except OSError:
            raise LostError from None

    def _reconnect(self) -> None:
        """Look for the scheduler as long as patience lasts."""
        name = self._connection.name
        self._say(f"The scheduler of cluster {name} is lost: looking for it for up to {clock(self._patience)}")
        leave(self._client)
        end = time.monotonic() + self._patience
        while True:
            began = time.monotonic()
            try:
                self._client = self._connection.client(min(REACH, max(1.0, end - began)))
                break
            except OSError:
                if time.monotonic() > end:
                    raise InputError(
                        f"the scheduler of cluster {name!r} was lost and not there again within "
                        f"{clock(self._patience)}: what is done is kept, the same command goes on with the rest"
                    ) from None
                time.sleep(max(0.0, began + 1.0 - time.monotonic()))
        self._checked = set()
        self._next_look = 0.0
        self._deserted = None
        self._say(f"The scheduler of cluster {name} is back")
