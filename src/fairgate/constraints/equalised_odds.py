"""Equalised odds: people of the same label are accepted at nearly the same rate in every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.constraints.base import Constraint, Needs, Words, compare_groups, gap_of, rounded, share_of
from fairgate.constraints.pieces import Pieces, differences
from fairgate.counts import Counts
from fairgate.settings import Array, Share


@dataclass(frozen=True)
class EqualisedOdds(Constraint):
    r"""People of the same label, positive or negative, are accepted at nearly the same rate in every group [1]_.

    .. math:: g_{tpr} = \max_g tpr_g - \min_g tpr_g - \varepsilon \le 0, \quad
              g_{fpr} = \max_g fpr_g - \min_g fpr_g - \varepsilon \le 0

    with :math:`tpr_g = P(d = 1 \mid y = 1, g)` and :math:`fpr_g = P(d = 1 \mid y = 0, g)`. Both residuals are met
    exactly when the larger gap is at most ε. A group with nobody of that label in the batch is left out of that gap;
    with fewer than two groups left it is 0.

    It needs the labels of rejected people: see :class:`EqualOpportunity` for when they can be had.

    Parameters
    ----------
    epsilon
        Largest gap allowed, for either label.

    References
    ----------
    .. [1] M. Hardt, E. Price, N. Srebro. Equality of opportunity in supervised learning. NeurIPS, 2016.

    Examples
    --------
    >>> cells = [[[[3, 1], [1, 4]], [[1, 2], [0, 7]]]]     # tpr 4/5 and 7/7, fpr 1/4 and 2/3
    >>> [residual.round(3) for residual in EqualisedOdds(epsilon=0.1).residuals(Counts(cells))]
    [array([0.1]), array([0.317])]
    """

    name: ClassVar[str] = "equalised-odds"
    help: ClassVar[str] = "Largest gap between the groups' acceptance rates among people of either label."
    needs: ClassVar[Needs] = "all-labels"
    compares_groups: ClassVar[bool] = True
    names: ClassVar[Sequence[str]] = ("tpr", "fpr")
    words: ClassVar[Sequence[Words]] = (
        Words("The gap among people of label 1", "the gap between groups among people of label 1 is {} too large"),
        Words("The gap among people of label 0", "the gap between groups among people of label 0 is {} too large"),
    )

    epsilon: Share

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return the gaps of true and of false positive rates minus `epsilon`."""
        compare_groups(self, counts.group_count)
        rates = share_of(counts.cells[..., 1], counts.cells.sum(axis=-1))  # P(d = 1 | g, y), (…, groups, 2)
        return tuple(gap_of(rates[..., label]) - np.asarray(self.epsilon) for label in (1, 0))

    def span(self, groups: int) -> list[tuple[float, float]]:
        """Return ends that no gap minus `epsilon` goes beyond."""
        return [(-1.0, 1.0)] * 2

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the signed differences of all pairs of groups, among people of each label."""
        epsilon = float(np.asarray(self.epsilon))
        return tuple(Pieces(differences(groups, label), epsilon) for label in (1, 0))

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        return f"The groups’ acceptance rates among people of the same label may differ by {self.epsilon:.4g} at most."

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return the same up to the gap that there is."""
        gap = np.asarray(self.epsilon) + self.residuals(counts)[place]
        return replace(self, epsilon=rounded(gap, 4, up=True))

    def allows(self, place: int) -> str:
        """Say which gap."""
        return f"a gap of {self.epsilon:.4f} among people of the same label"
