"""Window: what constraints that keep acceptance rates between two ends have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from fairgate.arrays import as_array
from fairgate.confidence import Box
from fairgate.constraints.base import Constraint, Limit, Measure, Needs, rounded
from fairgate.constraints.pieces import Pieces, everybody
from fairgate.counts import Counts, across_groups
from fairgate.errors import InputError
from fairgate.settings import Array, Number


class Window(Constraint):
    """Some acceptance rates, by default everybody's, lie between ends, settings named in `ends`: only `low` is a floor.

    A subclass has a `figure` of a report, a `rate` and `whom` it is of in words; of other rates, the `lines` that read
    them, the `rates` themselves and their `bounds`.
    """

    needs: ClassVar[Needs] = "decisions"
    ends: ClassVar[Sequence[str]] = ("low", "high")
    whom: ClassVar[str] = "everybody"
    figure: ClassVar[str] = "acceptance"
    rate: ClassVar[str] = "acceptance"

    def __post_init__(self) -> None:
        super().__post_init__()
        low, *high = (end for _, end in self._ends())
        if high and not np.all(low < high[0]):
            got = ":".join(str(getattr(self, name)) for name in self.ends)
            raise InputError(f"{type(self).__name__}: the window is empty, low must be below high, got {got}")

    def lines(self, groups: int) -> Array:
        """Return the rows that read the rates, as in :mod:`fairgate.constraints.pieces`."""
        return everybody(groups)

    def rates(self, counts: Counts) -> Array:
        """Return the rates, the last axis."""
        return counts.overall[..., None]

    def bounds(self, box: Box) -> tuple[Array, Array]:
        """Return the lowest and the highest that the rates can be in the box."""
        return box.overall_low[..., None], box.overall_high[..., None]

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return how far the smallest rate is below the lower end and the largest above the upper."""
        rates = self.rates(counts)
        return self._beyond(rates, rates)

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residuals in the box."""
        low, high = self.bounds(box)
        return self._beyond(high, low)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residuals in the box."""
        return self._beyond(*self.bounds(box))

    def _beyond(self, for_low: Array, for_high: Array) -> Sequence[Array]:
        return [
            end - across_groups(np.fmin, for_low) if name == "low" else across_groups(np.fmax, for_high) - end
            for name, end in self._ends()
        ]

    def _ends(self) -> list[tuple[str, Array]]:
        return [(name, as_array(getattr(self, name))) for name in self.ends]

    def uniform_window(self) -> tuple[Number, Number]:
        """Return the ends themselves."""
        return dict(self._ends()).get("low", 0.0), self._ends()[-1][1]

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the rates, from either side."""
        lines = self.lines(groups)
        return [
            Pieces(-lines, -float(end)) if name == "low" else Pieces(lines, float(end)) for name, end in self._ends()
        ]

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        ends = [f"{100 * float(end):.4g}%" for _, end in self._ends()]
        return f"Between {ends[0]} and {ends[1]} of {self.whom} must be accepted."

    def limits(self) -> Sequence[Limit]:
        """Return the ends."""
        ends = {name: float(end) for name, end in self._ends()}
        return (Limit(self.figure, ends.get("low"), ends[self.ends[-1]]),)

    def measures(self, counts: Counts) -> Sequence[Measure]:
        """Return the smallest rate where it has a floor, the largest where it has a ceiling."""
        rates = self.rates(counts)
        found = []
        for name, end in self._ends():
            low = name == "low"
            value = across_groups(np.fmin if low else np.fmax, rates)
            about = self.rate if rates.shape[-1] == 1 else f"{'lowest' if low else 'highest'} {self.rate}"
            found.append(Measure(about.capitalize(), value, "at least" if low else "at most", float(end), percent=True))
        return found

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return ends that reach to the rate that there is."""
        up = self.ends[place] != "low"
        rate = across_groups(np.fmax if up else np.fmin, self.rates(counts))
        return replace(self, **{self.ends[place]: rounded(rate, 3, up=up)})

    def allows(self, place: int) -> str:
        """Say which end."""
        name = self.ends[place]
        return f"{self.rate} {'from' if name == 'low' else 'up to'} {getattr(self, name):.1%}"
