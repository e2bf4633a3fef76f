"""Which workers of a Dask cluster are there, and which of them may be given work: those with the same code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairgate.engines.identity import difference, identity
from fairgate.engines.parcel import memory_limit
from fairgate.errors import InputError
from fairgate.progress import Say, clock

LOOK = 2.0
"""Seconds between looks at which workers are there; in doubt, a tenth of it."""

STILL, MOST = 2.0, 30.0
"""Seconds for which the number of workers must not have changed before work is packed, and how long that may take."""

Ask = Callable[[Callable[[Any], Any]], Any]
"""Asks a Dask client something."""


class Roster:
    """The workers of a cluster, as they were at the last look.

    Attributes
    ----------
    threads
        Of each worker with the same versions and code as this process.
    differing
        Of each other worker, a sentence that says what differs. They are named once, and given nothing to do.
    """

    def __init__(self, name: str, ask: Ask, say: Say, patience: float) -> None:
        self._name, self._ask, self._say, self._patience = name, ask, say, patience
        self.threads: dict[str, int] = {}
        self.differing: dict[str, str] = {}
        self._told: set[str] = set()
        self._doubted = False
        self._looked = self._next = 0.0
        self._deserted: float | None = None

    @property
    def only(self) -> frozenset[str]:
        """Workers to which calls must be restricted; none if anybody may have them, which costs a scheduler less."""
        return frozenset(self.threads if self.differing else ())

    @property
    def due(self) -> float:
        """Seconds until the next look."""
        return max(0.02, self._next - time.monotonic())

    def doubt(self) -> None:
        """Compare all workers again, soon: one of them refused a call."""
        self._doubted = True
        self._next = min(self._next, self._looked + 0.1 * LOOK)

    def forget(self) -> None:
        """Begin again, with another scheduler."""
        self.threads, self.differing = {}, {}
        self._next = 0.0
        self._deserted = None

    def settle(self, expected: int | None) -> None:
        """Wait for workers, until they are as many as `expected` or their number no longer changes.

        An InputError says what differs if none of them can be given work.
        """
        count, since, end = 0, 0.0, 0.0
        while count == 0 or (count != expected and time.monotonic() < min(since + STILL, end)):
            self._see()
            now = time.monotonic()
            found = len(self.threads) + len(self.differing)
            if found == 0:
                self._wait(now)
            elif not end:
                end = now + MOST
            elif found > count:
                self._once(f"Workers are still coming to cluster {self._name}: waiting for them, at most {clock(MOST)}")
            if found != count:
                count, since = found, now
            time.sleep(0.1 * LOOK if count != expected else 0.0)
        if not self.threads:
            raise InputError(next(iter(self.differing.values())))
        self._deserted = None
        self._tell()

    def look(self) -> bool:
        """See which workers are there, from time to time: whether it is that time now."""
        if time.monotonic() < self._next:
            return False
        self._see()
        self._tell()
        if self.threads:
            self._deserted = None
        else:
            self._wait(time.monotonic())
        return True

    def roomiest(self) -> str:
        """Return the worker that may use the most memory; an empty text if there is none."""
        if not self.threads:
            return ""
        some = list(self.threads)
        found = self._ask(lambda client: client.run(memory_limit, workers=some, on_error="return"))
        limits = {worker: limit for worker, limit in found.items() if isinstance(limit, int)}
        return max(limits, key=lambda worker: limits[worker], default="")

    def _see(self) -> None:
        """Ask who is there, and compare those that are new."""
        there: dict[str, int] = self._ask(lambda client: client.nthreads())
        known = set() if self._doubted else self.threads.keys() | self.differing.keys()
        found = self._compare(there.keys() - known)
        kept = {worker: self.differing.get(worker) for worker in there.keys() & known}
        verdicts = kept | found
        self.threads = {worker: there[worker] for worker, sentence in verdicts.items() if sentence is None}
        self.differing = {worker: sentence for worker, sentence in verdicts.items() if sentence is not None}
        self._doubted = False
        self._looked = time.monotonic()
        self._next = self._looked + LOOK

    def _compare(self, workers: Iterable[str]) -> dict[str, str | None]:
        """Return what differs on some workers, None if nothing does; those that do not answer are left out."""
        some = list(workers)
        if not some:
            return {}
        answers = self._ask(lambda client: client.run(identity, workers=some, on_error="return"))
        return {
            worker: _verdict(f"worker {worker}", theirs)
            for worker, theirs in answers.items()
            if not isinstance(theirs, OSError)
        }

    def _tell(self) -> None:
        """Name the workers that get no work, a line for all that differ in the same."""
        alike: dict[str, list[str]] = {}
        for worker in self.differing.keys() - self._told:
            alike.setdefault(self.differing[worker].removeprefix(f"worker {worker} "), []).append(worker)
        for text, workers in alike.items():
            named = f"worker {workers[0]}" if len(workers) == 1 else f"{len(workers)} workers such as {min(workers)}"
            self._say(f"No work for {named}, which {text}")
        self._told |= self.differing.keys()

    def _wait(self, now: float) -> None:
        """Say once that nobody is there, and lose patience in the end."""
        what = "no workers but such as differ" if self.differing else "no workers"
        if self._deserted is None:
            self._deserted = now
            self._say(f"Cluster {self._name} has {what}: waiting up to {clock(self._patience)} for one")
        elif now - self._deserted > self._patience:
            raise InputError(
                f"cluster {self._name!r} has had {what} for {clock(self._patience)}: start some, and "
                "give the same command again, which goes on with what is left"
            )

    def _once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._say(text)


def _verdict(worker: str, theirs: Mapping[str, str] | Exception) -> str | None:
    """Say what differs on a worker, by what it answered."""
    if isinstance(theirs, (ImportError, AttributeError)):
        return f"{worker} has no fairgate, or another version than {identity()['fairgate']}: {theirs}"
    if isinstance(theirs, Exception):
        return f"{worker} has a fairgate that does not start: {type(theirs).__name__}: {theirs}"
    return difference(worker, theirs)
