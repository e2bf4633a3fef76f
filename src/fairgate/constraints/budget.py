"""Budget: no more people are accepted than there are places for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.confidence import Box
from fairgate.constraints.base import Constraint, Limit, Needs, Words, rounded
from fairgate.constraints.pieces import Pieces, everybody
from fairgate.counts import Counts
from fairgate.settings import Array, Number, Share


@dataclass(frozen=True)
class Budget(Constraint):
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

    name: ClassVar[str] = "budget"
    help: ClassVar[str] = "Largest share of everybody that can be accepted."
    needs: ClassVar[Needs] = "decisions"
    bounded: ClassVar[bool] = True
    names: ClassVar[Sequence[str]] = ("budget",)
    words: ClassVar[Sequence[Words]] = (Words("The budget", "the acceptance rate is {} above the budget"),)

    share: Share

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return the acceptance rate minus `share`."""
        return (counts.overall - np.asarray(self.share),)

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residual in the box."""
        return (box.overall_low - np.asarray(self.share),)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residual in the box."""
        return (box.overall_high - np.asarray(self.share),)

    def uniform_window(self) -> tuple[Number, Number]:
        """Return 0 and the budget."""
        return 0.0, self.share

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the overall rate."""
        return (Pieces(everybody(groups), float(np.asarray(self.share))),)

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        return f"At most {self.share:.4g} of everybody can be accepted."

    def limits(self) -> Sequence[Limit]:
        """Return the highest share."""
        return (Limit("acceptance", None, float(np.asarray(self.share))),)

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return a budget for those accepted."""
        return replace(self, share=rounded(counts.overall, 3, up=True))

    def allows(self, place: int) -> str:
        """Say which share."""
        return f"acceptance up to {self.share:.1%}"
