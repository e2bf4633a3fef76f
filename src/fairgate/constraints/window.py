"""Window: what constraints that keep acceptance rates between two ends have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.constraints.base import Constraint, Limit, Needs, rounded
from fairgate.constraints.pieces import Pieces
from fairgate.counts import Counts
from fairgate.errors import InputError
from fairgate.settings import Array, Number, Share


@dataclass(frozen=True)
class Window(Constraint):
    """Some acceptance rates lie between `low` and `high`.

    A subclass says which: `figure` of a report, `whom` and `rate` in words, `lines` that read them, and the
    `extremes` among given counts.
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
    def extremes(self, counts: Counts) -> tuple[Array, Array]:
        """Return the smallest and the largest of the rates."""

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
        smallest, largest = self.extremes(counts)
        if place == 0:
            return replace(self, low=rounded(smallest, 3, up=False))
        return replace(self, high=rounded(largest, 3, up=True))

    def allows(self, place: int) -> str:
        """Say which end."""
        return f"{self.rate} from {self.low:.1%}" if place == 0 else f"{self.rate} up to {self.high:.1%}"
