"""Service rate: everybody's acceptance rate lies in a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.confidence import Box
from fairgate.constraints.base import Constraint, Limit, Needs, Words, check_window, rounded
from fairgate.constraints.pieces import Pieces, everybody
from fairgate.counts import Counts
from fairgate.settings import Array, Number, Share


@dataclass(frozen=True)
class ServiceRate(Constraint):
    r"""The overall acceptance rate lies in a window.

    .. math:: g_{low} = \alpha_{min} - acc \le 0, \quad g_{high} = acc - \alpha_{max} \le 0

    Parameters
    ----------
    low, high
        Ends of the window; `low` must be below `high`.

    Examples
    --------
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]     # 75% accepted
    >>> [residual.round(2) for residual in ServiceRate(low=0.3, high=0.7).residuals(Counts(cells))]
    [array([-0.45]), array([0.05])]
    """

    name: ClassVar[str] = "service"
    help: ClassVar[str] = "Window of the acceptance rate, such as 0.3:0.8."
    needs: ClassVar[Needs] = "decisions"
    bounded: ClassVar[bool] = True
    names: ClassVar[Sequence[str]] = ("service-low", "service-high")
    words: ClassVar[Sequence[Words]] = (
        Words("The lowest acceptance rate", "the acceptance rate is {} too low"),
        Words("The highest acceptance rate", "the acceptance rate is {} too high"),
    )

    low: Share
    high: Share

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self, self.low, self.high)

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return how far the acceptance rate is below and above the window."""
        return (np.asarray(self.low) - counts.overall, counts.overall - np.asarray(self.high))

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residuals in the box."""
        return (np.asarray(self.low) - box.overall_high, box.overall_low - np.asarray(self.high))

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residuals in the box."""
        return (np.asarray(self.low) - box.overall_low, box.overall_high - np.asarray(self.high))

    def _ends(self) -> tuple[float, float]:
        return float(np.asarray(self.low)), float(np.asarray(self.high))

    def uniform_window(self) -> tuple[Number, Number]:
        """Return the window itself."""
        return self.low, self.high

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the overall rate, from either side."""
        low, high = self._ends()
        return Pieces(-everybody(groups), -low), Pieces(everybody(groups), high)

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        low, high = self._ends()
        return f"Between {100 * low:.4g}% and {100 * high:.4g}% of everybody must be accepted."

    def limits(self) -> Sequence[Limit]:
        """Return the window."""
        return (Limit("acceptance", *self._ends()),)

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return a window that reaches to the rate that there is."""
        rate = counts.overall
        if place == 0:
            return replace(self, low=rounded(rate, 3, up=False))
        return replace(self, high=rounded(rate, 3, up=True))

    def allows(self, place: int) -> str:
        """Say which end."""
        return f"acceptance from {self.low:.1%}" if place == 0 else f"acceptance up to {self.high:.1%}"
