"""Budget: no more people are accepted than there are places for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgate.confidence import Box
from fairgate.counts import Counts
from fairgate.settings import Array, Settings, Share


@dataclass(frozen=True)
class Budget(Settings):
    r"""There are places for a share of the applicants only.

    .. math:: g = acc - share \le 0

    Written as a share, the budget means the same for a batch of any size and for exact probabilities. With `places`
    for each batch of `people`, share = places / people; the residual of a batch times its people is the number of
    people accepted beyond the places, and that of exact probabilities speaks of the expected number.

    Parameters
    ----------
    share
        Share of the applicants who can be served.

    Examples
    --------
    10 places for each batch of 20, and 15 people accepted: 5 too many, a quarter of the batch.

    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]
    >>> Budget(share=10 / 20).residuals(Counts(cells))[0]
    array([0.25])
    """

    labels: ClassVar[bool] = False

    share: Share

    @property
    def names(self) -> Sequence[str]:
        """Name of the residual."""
        return ("budget",)

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return the acceptance rate minus `share`."""
        return (counts.overall - np.asarray(self.share),)

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residual in the box."""
        return (box.overall_low - np.asarray(self.share),)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residual in the box."""
        return (box.overall_high - np.asarray(self.share),)
