"""What an engine is: it carries out independent calls, somewhere, and returns their results as they come."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Call = Callable[[], Any]
"""Work without arguments whose code and result can be sent to another process."""


@dataclass(frozen=True)
class Crashed:
    """What stands for the result of a call whose process died, again and again, and why."""

    text: str


class Engine(Protocol):
    """Carries out calls, with as many at a time as it has workers; results do not depend on which engine it is."""

    @property
    def workers(self) -> int:
        """How many calls it carries out at a time."""

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        """Yield the place of each call and its result, or :class:`Crashed`, as they finish, in any order.

        What a call raises is raised here. Closing the generator gives up the calls that have not finished.
        """


def alone(call: Call) -> Any:
    """Carry out a call with linear algebra on one thread: sums of several depend on how many cores there are."""
    from threadpoolctl import threadpool_limits  # which takes a while to import

    with threadpool_limits(1):
        return call()
