"""Period counts: people by period, group, score, label and decision, where a table says when each was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError

CELLS = 30_000_000
"""Most cells of a history: periods × groups × bins × labels × decisions."""


@dataclass(frozen=True, eq=False, repr=False)
class PeriodCounts:
    """People counted by period, group, candidate bin, label and decision.

    Attributes
    ----------
    periods
        Names of the periods, such as "2024-01", in order and without gaps.
    counts
        People by period, group, candidate bin, label (0, 1, missing) and decision (rejected, accepted),
        (T, G, K, 3, 2). The bins are those of :meth:`~fairgate.people.Applicants.coarsened`. Without a column of
        decisions everybody is counted as rejected.
    period
        How long a period is.
    left_out
        Rows whose date or decision is not known.
    """

    periods: tuple[str, ...]
    counts: NDArray[Any]
    period: str = "month"
    left_out: int = 0

    def __repr__(self) -> str:
        first, last = self.periods[0], self.periods[-1]
        return f"PeriodCounts({len(self.periods)} periods from {first} to {last}, {self.counts.sum():.0f} people)"

    @property
    def decided(self) -> bool:
        """Whether decisions are known."""
        return bool(self.counts[..., 1].any())

    def joined(self, starts: NDArray[np.int64]) -> PeriodCounts:
        """Return the same with runs of neighbouring bins joined, which begin at `starts`."""
        counts = np.add.reduceat(self.counts, starts, axis=2)
        return PeriodCounts(self.periods, counts, self.period, self.left_out)


def period_shape(periods: int, groups: int, bins: int) -> tuple[int, int, int, int, int]:
    """Return the shape of the counts; refuse what does not fit into memory."""
    shape = (periods, groups, bins, 3, 2)
    if np.prod(shape, dtype=np.float64) > CELLS:
        raise InputError(
            f"a history of {periods} periods and {groups} groups is too large: choose a longer period (--period) or "
            "fewer groups"
        )
    return shape
