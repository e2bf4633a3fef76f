"""Service rate: everybody's acceptance rate lies in a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fairgate.constraints.base import Words
from fairgate.constraints.window import Window
from fairgate.settings import Share


@dataclass(frozen=True)
class ServiceRate(Window):
    r"""The overall acceptance rate lies in a window.

    .. math:: g_{low} = \alpha_{min} - acc \le 0, \quad g_{high} = acc - \alpha_{max} \le 0

    Parameters
    ----------
    low, high
        Ends of the window; `low` must be below `high`.

    Examples
    --------
    >>> from fairgate import Counts
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]     # 75% accepted
    >>> [residual.round(2) for residual in ServiceRate(low=0.3, high=0.7).residuals(Counts(cells))]
    [array([-0.45]), array([0.05])]
    """

    name: ClassVar[str] = "service"
    help: ClassVar[str] = "Window of the acceptance rate, such as 0.3:0.8."
    names: ClassVar[Sequence[str]] = ("service-low", "service-high")
    words: ClassVar[Sequence[Words]] = (
        Words("The lowest acceptance rate", "the acceptance rate is {} too low"),
        Words("The highest acceptance rate", "the acceptance rate is {} too high"),
    )

    low: Share
    high: Share
