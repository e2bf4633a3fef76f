"""Window: what constraints that keep acceptance rates between two ends have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.confidence import Box
from fairgate.constraints.base import Constraint, Limit, Needs, rounded
from fairgate.constraints.pieces import Pieces
from fairgate.counts import Counts, across_groups
from fairgate.errors import InputError
from fairgate.settings import Array, Number, Share


@dataclass(frozen=True)
class Window(Constraint):
    """Some acceptance rates lie between `low` and `high`.

    A subclass says which: `figure` of a report, `whom` and `rate` in words, `lines` that read them, the `rates`
    themselves and their `bounds`.
    """

    needs: ClassVar[Needs] = "decisions"
    bounded: ClassVar[bool] = True
    figure: ClassVar[str]
    whom: ClassVar[str]
    rate: ClassVar[str]

    low: Share
    high: Share

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(np.asarray(self.low) < np.asarray(self.high)):
            kind, ends = type(self).__name__, f"{self.low}:{self.high}"
            raise InputError(f"{kind}: the window is empty, low must be below high, got {ends}")

    @abstractmethod
    def lines(self, groups: int) -> Array:
        """Return the rows that read the rates, as in :mod:`fairgate.constraints.pieces`."""

    @abstractmethod
    def rates(self, counts: Counts) -> Array:
        """Return the rates, the last axis."""

    @abstractmethod
    def bounds(self, box: Box) -> tuple[Array, Array]:
        """Return the lowest and the highest that the rates can be in the box."""

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return how far the smallest rate is below the window and the largest above."""
        return self._beyond(self.rates(counts), self.rates(counts))

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residuals in the box."""
        low, high = self.bounds(box)
        return self._beyond(high, low)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residuals in the box."""
        return self._beyond(*self.bounds(box))

    def _beyond(self, for_low: Array, for_high: Array) -> Sequence[Array]:
        smallest, largest = across_groups(np.fmin, for_low), across_groups(np.fmax, for_high)
        return (np.asarray(self.low) - smallest, largest - np.asarray(self.high))

    def _ends(self) -> tuple[float, float]:
        return float(np.asarray(self.low)), float(np.asarray(self.high))

    def uniform_window(self) -> tuple[Number, Number]:
        """Return the window itself."""
        return self.low, self.high

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the rates, from either side."""
        (low, high), lines = self._ends(), self.lines(groups)
        return Pieces(-lines, -low), Pieces(lines, high)

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        low, high = self._ends()
        return f"Between {100 * low:.4g}% and {100 * high:.4g}% of {self.whom} must be accepted."

    def limits(self) -> Sequence[Limit]:
        """Return the window."""
        return (Limit(self.figure, *self._ends()),)

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return a window that reaches to the rate that there is."""
        if place == 0:
            return replace(self, low=rounded(across_groups(np.fmin, self.rates(counts)), 3, up=False))
        return replace(self, high=rounded(across_groups(np.fmax, self.rates(counts)), 3, up=True))

    def allows(self, place: int) -> str:
        """Say which end."""
        return f"{self.rate} from {self.low:.1%}" if place == 0 else f"{self.rate} up to {self.high:.1%}"
