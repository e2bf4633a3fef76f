"""Group service: every group's acceptance rate lies in a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fairgate.confidence import Box
from fairgate.constraints.base import Words
from fairgate.constraints.pieces import each_group
from fairgate.constraints.window import Window
from fairgate.counts import Counts
from fairgate.settings import Array, Share


@dataclass(frozen=True)
class GroupService(Window):
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
    figure: ClassVar[str] = "rates"
    whom: ClassVar[str] = "every group"
    rate: ClassVar[str] = "acceptance of a group"
    names: ClassVar[Sequence[str]] = ("group-low", "group-high")
    words: ClassVar[Sequence[Words]] = (
        Words("The lowest acceptance rate of a group", "the lowest acceptance rate of a group is {} too low"),
        Words("The highest acceptance rate of a group", "the highest acceptance rate of a group is {} too high"),
    )

    low: Share
    high: Share

    def lines(self, groups: int) -> Array:
        """Return every group's rate."""
        return each_group(groups)

    def rates(self, counts: Counts) -> Array:
        """Return every group's rate."""
        return counts.rates

    def bounds(self, box: Box) -> tuple[Array, Array]:
        """Return the bounds of every group's rate."""
        return box.rates_low, box.rates_high
