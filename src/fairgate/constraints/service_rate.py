"""Service rate: everybody's acceptance rate lies in a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgate.confidence import Box
from fairgate.constraints.base import check_window
from fairgate.counts import Counts
from fairgate.settings import Array, Settings, Share


@dataclass(frozen=True)
class ServiceRate(Settings):
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

    labels: ClassVar[bool] = False

    low: Share
    high: Share

    def __post_init__(self) -> None:
        super().__post_init__()
        check_window(self, self.low, self.high)

    @property
    def names(self) -> Sequence[str]:
        """Names of the two residuals."""
        return ("service-low", "service-high")

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return how far the acceptance rate is below and above the window."""
        return (np.asarray(self.low) - counts.overall, counts.overall - np.asarray(self.high))

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residuals in the box."""
        return (np.asarray(self.low) - box.overall_high, box.overall_low - np.asarray(self.high))

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residuals in the box."""
        return (np.asarray(self.low) - box.overall_low, box.overall_high - np.asarray(self.high))
