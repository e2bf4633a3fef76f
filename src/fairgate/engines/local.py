"""Engines of this machine: the process itself, or several."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from fairgate.engines.base import Call


@dataclass(frozen=True)
class InProcess:
    """Carries out one call after the other, here."""

    workers: int = 1

    def __str__(self) -> str:
        return "this process"

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        """Yield the place of each call and its result."""
        for place, call in enumerate(calls):
            yield place, call()


@dataclass(frozen=True)
class Processes:
    """Carries out calls in so many processes of this machine."""

    workers: int

    def __str__(self) -> str:
        return f"{self.workers} processes"

    def run(self, calls: Sequence[Call]) -> Generator[tuple[int, Any]]:
        """Yield the place of each call and its result as they finish."""
        from joblib import Parallel, delayed

        yield from Parallel(n_jobs=self.workers, return_as="generator_unordered")(
            delayed(_placed)(place, call) for place, call in enumerate(calls)
        )


def _placed(place: int, call: Call) -> tuple[int, Any]:
    return place, call()
