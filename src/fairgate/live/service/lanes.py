"""Lanes: threads for one kind of work each, so that much of one kind does not hold up the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request

from fairgate.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")


class BusyError(InputError):
    """Too many requests of one kind wait; this one was refused before it did anything."""


class Lane:
    """Threads for one kind of work; requests wait for them, and when too many do, more are refused.

    Parameters
    ----------
    kind
        The work, in the plural.
    threads
        How many are worked on at a time.
    waiting
        How many may wait.
    """

    def __init__(self, kind: str, threads: int, waiting: int) -> None:
        self._kind = kind
        self._limiter = CapacityLimiter(threads)
        self.most = waiting

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._limiter.statistics().tasks_waiting

    async def run(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Return the result of the work, or refuse it."""
        if self.waiting >= self.most:
            raise BusyError(f"more than {self.most} {self._kind} are waiting: send the request again later")
        return await to_thread.run_sync(lambda: work(*given, **named), limiter=self._limiter)


class Lanes:
    """The lanes of an app.

    Bodies are parsed one at a time: a parse holds the interpreter, and the event loop waits for one, not for many.
    """

    def __init__(self) -> None:
        self.bodies = Lane("large bodies", threads=1, waiting=50)
        self.keys = Lane("keys that were not seen of late", threads=4, waiting=200)
        self.figures = Lane("requests for figures", threads=4, waiting=50)
        self.audits = Lane("audits", threads=1, waiting=3)


def lanes_of(request: Request) -> Lanes:
    """Return the lanes of the app that a request is for."""
    found: Lanes = request.app.state.lanes
    return found
