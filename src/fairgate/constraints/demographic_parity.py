"""Demographic parity: groups are accepted at nearly the same rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.confidence import Box, gap_range
from fairgate.constraints.base import Constraint, Limit, Needs, Words, compare_groups, rounded
from fairgate.constraints.pieces import Pieces, differences
from fairgate.counts import Counts
from fairgate.settings import Array, Share


@dataclass(frozen=True)
class DemographicParity(Constraint):
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
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]     # 60% and 90% accepted
    >>> DemographicParity(epsilon=0.1).residuals(Counts(cells))[0].round(3)
    array([0.2])
    """

    name: ClassVar[str] = "parity"
    help: ClassVar[str] = "Largest gap between the groups' acceptance rates."
    needs: ClassVar[Needs] = "decisions"
    bounded: ClassVar[bool] = True
    compares_groups: ClassVar[bool] = True
    names: ClassVar[Sequence[str]] = ("parity",)
    words: ClassVar[Sequence[Words]] = (Words("The gap between groups", "the gap between groups is {} too large"),)

    epsilon: Share

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return the gap minus `epsilon`."""
        compare_groups(self, counts.group_count)
        return (counts.gap - np.asarray(self.epsilon),)

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residual in the box: the largest L of a group minus the smallest U, or 0, minus ε."""
        compare_groups(self, box.rates_low.shape[-1])
        return (gap_range(box.rates_low, box.rates_high)[0] - np.asarray(self.epsilon),)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residual in the box: the largest U of a group minus the smallest L of another, minus ε."""
        compare_groups(self, box.rates_low.shape[-1])
        return (gap_range(box.rates_low, box.rates_high)[1] - np.asarray(self.epsilon),)

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the signed differences of all pairs of groups."""
        return (Pieces(differences(groups), float(np.asarray(self.epsilon))),)

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        return f"The groups’ acceptance rates may differ by {self.epsilon:.4g} at most."

    def limits(self) -> Sequence[Limit]:
        """Return the largest gap."""
        return (Limit("gap", None, float(np.asarray(self.epsilon))),)

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return parity up to the gap that there is."""
        return replace(self, epsilon=rounded(counts.gap, 4, up=True))

    def allows(self, place: int) -> str:
        """Say which gap."""
        return f"a gap of {self.epsilon:.4f}"
