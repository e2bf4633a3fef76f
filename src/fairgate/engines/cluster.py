"""The engine of many machines: any Dask cluster, whose workers share nothing with this process but their versions."""

from __future__ import annotations

import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from fairgate.engines.base import Call, Crashed
from fairgate.engines.connection import REACH, Connection, dashboard, leave, quiet
from fairgate.engines.identity import identity
from fairgate.engines.parcel import Packer, carry_out
from fairgate.engines.roster import Roster
from fairgate.errors import InputError
from fairgate.progress import Say, clock

AHEAD, LEAST = 3, 8
"""Calls that are sent ahead: so many per thread of the workers that none waits for the next, and at least so many."""

GATHER = 60.0
"""Seconds within which a finished result must arrive."""

REFUSALS = 5
"""How often a call may be refused by workers of other versions or code."""

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


@dataclass(frozen=True)
class Refused:
    """What stands for the result of a call that came to a worker with other versions or code, which did nothing."""

    text: str


class LostError(Exception):
    """The scheduler is gone, and with it all calls that were sent."""


class Cluster:
    """Carries out calls on a Dask cluster.

    Of many calls only a few per worker are sent at a time, and results are released when they are taken, so that no
    process' memory grows with their number. A call whose worker died is carried out by another; after it has killed
    several, once more by itself on the worker with the most memory. A scheduler that is lost is looked for again, and
    what it had not finished is sent again. Calls are carried out only by workers with the same versions and code;
    others are named and given nothing to do.
    """

    def __init__(self, connection: Connection, say: Say, patience: float) -> None:
        self._connection = connection
        self._say = say
        self._patience = patience
        self._roster = Roster(connection.name, self._ask, say, patience)
        try:
            self._client = connection.client()
        except OSError:
            raise InputError(
                f"cluster {connection.name!r} cannot be reached: no Dask scheduler answers there within {REACH:.0f} s"
            ) from None
        try:
            self._settle()
            link = dashboard(self._client)
        except BaseException:
            self.close()
            raise
        say(f"On {self} at {self._client.scheduler.address}" + (f", dashboard {link}" if link else ""))

    def __str__(self) -> str:
        threads = sum(self._roster.threads.values())
        return f"a Dask cluster of {threads} worker{'s' if threads != 1 else ''}"

    @property
    def workers(self) -> int:
        """Threads of all workers with the same code, at the last look; one if they have all gone."""
        return max(1, sum(self._roster.threads.values()))

    def close(self) -> None:
        """Leave the cluster."""
        leave(self._client)

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        """Yield the place of each call and its result as they finish."""
        pack, roster = Packer(), self._roster
        left, last = deque(range(len(calls))), deque[int]()  # those in `last` are sent one at a time
        sent: dict[Any, tuple[int, frozenset[str]]] = {}  # the place of each, and who alone may carry it out
        held: list[int] = []  # refused, until all workers have been compared again
        finished: SimpleQueue[Any] = SimpleQueue()
        suspects: set[int] = set()
        refused, deserted = Counter[int](), Counter[int]()

        def send(queue: deque[int], only: frozenset[str]) -> None:
            future = self._submit(pack(calls[queue[0]]), only)
            sent[future] = queue.popleft(), only
            future.add_done_callback(finished.put)

        def take(future: Any) -> int:
            place, _ = sent.pop(future)
            future.release()
            return place

        def put_back(*places: int) -> None:
            for place in places:
                (last if place in suspects else left).appendleft(place)

        def suspect(place: int) -> None:
            suspects.add(place)
            last.append(place)

        try:
            while left or last or held or sent:
                try:
                    if roster.look():
                        put_back(*held)
                        held.clear()
                        for future in _orphans(sent, roster.threads):
                            place = take(future)
                            deserted[place] += 1
                            if place in suspects:  # it was by itself there, so it is to blame
                                yield place, DIED
                            elif deserted[place] > 1:
                                suspect(place)
                            else:
                                put_back(place)
                    while left and roster.threads and len(sent) + len(held) < max(LEAST, AHEAD * self.workers):
                        send(left, roster.only)
                    if last and not (left or held or sent) and (chosen := roster.roomiest()):
                        send(last, frozenset([chosen]))
                    future = self._first(finished, sent)
                    if future is None:
                        continue
                    answer = self._answer(future)
                    if answer is AGAIN:
                        future.add_done_callback(finished.put)
                        continue
                except LostError:
                    put_back(*(place for place, _ in sent.values()))
                    sent.clear()
                    self._reconnect()
                    continue
                place = take(future)
                if isinstance(answer, Refused):
                    refused[place] += 1
                    if refused[place] > REFUSALS:
                        raise InputError(answer.text)
                    held.append(place)
                    roster.doubt()
                elif not isinstance(answer, Crashed) or place in suspects:
                    yield place, answer
                else:
                    suspect(place)
        finally:
            if sent and self._client.status == "running":
                with suppress(Exception):
                    self._client.cancel(list(sent), force=True)

    def _submit(self, packed: bytes, only: frozenset[str]) -> Any:
        options = {"key": f"fairgate-{uuid.uuid4().hex}", "pure": False, "workers": sorted(only) or None}
        return self._ask(lambda client: client.submit(carry_out, packed, identity(), **options))

    def _first(self, finished: SimpleQueue[Any], sent: Container[Any]) -> Any:
        """Wait a moment for a future that is finished; None if there is none."""
        try:
            future = finished.get(timeout=self._roster.due)
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
        except (ImportError, AttributeError, SyntaxError) as error:
            return Refused(f"a worker of cluster {self._connection.name!r} cannot carry out calls: {error}")
        if kind == "done":
            return found
        if kind == "memory":
            return Crashed(found)
        if kind == "raised":
            raised, told = found
            raise raised from RuntimeError(told)
        if kind == "differs":
            return Refused(f"a worker of cluster {self._connection.name!r} has other versions or code: {found}")
        raise InputError(
            f"a worker of cluster {self._connection.name!r} has no module {found!r}, which is needed: install it there"
        )

    def _settle(self) -> None:
        """Wait for the first workers, so that it is known how many there are."""
        while True:
            try:
                self._roster.settle(self._connection.expected)
                return
            except LostError:
                self._reconnect()

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        """Ask the scheduler something; a LostError if it is gone."""
        if self._client.status != "running":
            raise LostError
        try:
            return question(self._client)
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
        self._roster.forget()
        self._say(f"The scheduler of cluster {name} is back")


def _orphans(sent: Mapping[Any, tuple[int, frozenset[str]]], there: Mapping[str, int]) -> list[Any]:
    """Return the futures that nobody may carry out any more: all workers they were meant for have gone."""
    return [future for future, (_, only) in sent.items() if only and not only & there.keys()]
