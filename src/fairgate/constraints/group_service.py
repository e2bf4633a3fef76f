"""Group service: every group's acceptance rate lies in a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.confidence import Box
from fairgate.constraints.base import Constraint, Limit, Needs, Words, check_window, rounded
from fairgate.constraints.pieces import Pieces, each_group
from fairgate.counts import Counts, across_groups
from fairgate.settings import Array, Number, Share


@dataclass(frozen=True)
class GroupService(Constraint):
    r"""Every group is accepted at a rate in one window: a floor under the worst-off group, a ceiling over the best-off.

    .. math:: g_{low} = \alpha_{min} - \min_g acc_g \le 0, \quad g_{high} = \max_g acc_g - \alpha_{max} \le 0

    Unlike :class:`DemographicParity` it cannot be met by accepting nobody. A group with nobody in the batch has no
    rate and is left out.

    Parameters
    ----------
    low, high
        Ends of the window; `low` must be below `high`.

    Examples
    --------
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]     # 60% and 90% accepted
    >>> [residual.round(2) for residual in GroupService(low=0.7, high=0.95).residuals(Counts(cells))]
    [array([0.1]), array([-0.05])]
    """

    name: ClassVar[str] = "group-service"
    help: ClassVar[str] = "Window of every group's acceptance rate, such as 0.3:0.8."
    needs: ClassVar[Needs] = "decisions"
    bounded: ClassVar[bool] = True
    names: ClassVar[Sequence[str]] = ("group-low", "group-high")
    words: ClassVar[Sequence[Words]] = (
        Words("The lowest acceptance rate of a group", "the lowest acceptance rate of a group is {} too low"),
        Words("The highest acceptance rate of a group", "the highest acceptance rate of a group is {} too high"),
    )

    low: Share
    high: Share

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self, self.low, self.high)

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return how far the worst-off group is below the window and the best-off above."""
        return self._beyond(counts.rates, counts.rates)

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residuals in the box."""
        return self._beyond(box.rates_high, box.rates_low)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residuals in the box."""
        return self._beyond(box.rates_low, box.rates_high)

    def _beyond(self, for_low: Array, for_high: Array) -> Sequence[Array]:
        smallest, largest = across_groups(np.fmin, for_low), across_groups(np.fmax, for_high)
        return (np.asarray(self.low) - smallest, largest - np.asarray(self.high))

    def _ends(self) -> tuple[float, float]:
        return float(np.asarray(self.low)), float(np.asarray(self.high))

    def uniform_window(self) -> tuple[Number, Number]:
        """Return the window itself."""
        return self.low, self.high

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return every group's rate, from either side."""
        low, high = self._ends()
        return Pieces(-each_group(groups), -low), Pieces(each_group(groups), high)

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        low, high = self._ends()
        return f"Between {100 * low:.4g}% and {100 * high:.4g}% of every group must be accepted."

    def limits(self) -> Sequence[Limit]:
        """Return the window."""
        return (Limit("rates", *self._ends()),)

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return a window that reaches to the group furthest out."""
        rate = np.nanmin(counts.rates) if place == 0 else np.nanmax(counts.rates)
        if place == 0:
            return replace(self, low=rounded(rate, 3, up=False))
        return replace(self, high=rounded(rate, 3, up=True))

    def allows(self, place: int) -> str:
        """Say which end."""
        return (
            f"acceptance of a group from {self.low:.1%}"
            if place == 0
            else f"acceptance of a group up to {self.high:.1%}"
        )
