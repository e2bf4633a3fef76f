"""Budget: no more people are accepted than there are places for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fairgate.constraints.base import Words
from fairgate.constraints.window import Window
from fairgate.settings import Share


@dataclass(frozen=True)
class Budget(Window):
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

    >>> from fairgate import Counts
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]
    >>> Budget(share=10 / 20).residuals(Counts(cells))[0]
    array([0.25])
    """

    name: ClassVar[str] = "budget"
    help: ClassVar[str] = "Largest share of everybody that can be accepted."
    ends: ClassVar[Sequence[str]] = ("share",)
    names: ClassVar[Sequence[str]] = ("budget",)
    words: ClassVar[Sequence[Words]] = (Words("The budget", "the acceptance rate is {} above the budget"),)

    share: Share

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        return f"At most {self.share:.4g} of everybody can be accepted."
