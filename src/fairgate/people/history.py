"""History: the people of a table by period, with what was decided about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """People counted by period × group × candidate bin × label × decision.

    Attributes
    ----------
    periods
        Names of the periods in order of time, such as "2024-03"; none is left out.
    counts
        People by period, group, candidate bin, label (0, 1, missing) and decision (0 rejected, 1 accepted),
        (T, G, K, 3, 2). The bins are those of :meth:`~fairgate.people.Applicants.coarsened`. Without a decision column
        everybody is in decision 0.
    """

    periods: tuple[str, ...]
    counts: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"History({len(self.periods)} periods, {int(self.counts.sum())} people)"

    @property
    def decided(self) -> bool:
        """Whether decisions are known."""
        return bool(self.counts[..., 1].any())
