"""Demographic parity: groups are accepted at nearly the same rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgate.arrays import as_array
from fairgate.confidence import Box, gap_range
from fairgate.constraints.base import Limit, Needs, compare_groups
from fairgate.constraints.gap import Gap
from fairgate.settings import Array


@dataclass(frozen=True)
class DemographicParity(Gap):
    r"""Groups are accepted at nearly the same rate [1]_.

    .. math:: g = \max_g acc_g - \min_g acc_g - \varepsilon \le 0

    For two groups this is the paper's :math:`|acc_0 - acc_1| - \varepsilon`. A group with nobody in
    the batch has no rate and is left out; with one group left the gap is 0.

    Parameters
    ----------
    epsilon
        Largest gap allowed.

    References
    ----------
    .. [1] C. Dwork, M. Hardt, T. Pitassi, O. Reingold, R. Zemel. Fairness through awareness. ITCS, 2012.

    Examples
    --------
    >>> from fairgate import Counts
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]     # 60% and 90% accepted
    >>> DemographicParity(epsilon=0.1).residuals(Counts(cells))[0].round(3)
    array([0.2])
    """

    name: ClassVar[str] = "parity"
    help: ClassVar[str] = "Largest gap between the groups' acceptance rates."
    needs: ClassVar[Needs] = "decisions"
    labels: ClassVar[Sequence[int | None]] = (None,)
    names: ClassVar[Sequence[str]] = ("parity",)

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residual in the box: the largest L of a group minus the smallest U, or 0, minus ε."""
        compare_groups(self, box.rates_low.shape[-1])
        return (gap_range(box.rates_low, box.rates_high)[0] - as_array(self.epsilon),)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residual in the box: the largest U of a group minus the smallest L of another, minus ε."""
        compare_groups(self, box.rates_low.shape[-1])
        return (gap_range(box.rates_low, box.rates_high)[1] - as_array(self.epsilon),)

    def limits(self) -> Sequence[Limit]:
        """Return the largest gap."""
        return (Limit("gap", None, float(np.asarray(self.epsilon))),)
