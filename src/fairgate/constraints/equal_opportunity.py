"""Equal opportunity: people with a positive label are accepted at nearly the same rate in every group."""

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
class EqualOpportunity(Constraint):
    r"""People with a positive label are accepted at nearly the same rate in every group [1]_.

    .. math:: g = \max_g tpr_g - \min_g tpr_g - \varepsilon \le 0, \qquad tpr_g = P(d = 1 \mid y = 1, g)

    A group with nobody of a positive label in the batch has no rate and is left out; with fewer than two groups left
    the gap is 0.

    Notes
    -----
    The rate counts rejected people by their label. That label must be known: in a simulation, where it is to judge
    a policy or for a learner of level `full-labels`, or in records that hold it for everybody.

    Where only the labels of accepted people are seen, the rate can be estimated if labels are missing at random given
    score and group: y is independent of d given (s, g), as when decisions look at nothing but score and group, by
    thresholds or lotteries. Then P(y = 1 | s, g) is the same among accepted and rejected, and is learnt from the
    accepted at every score where some are accepted. Where nobody is, as below a threshold, nothing tells P(y = 1 |
    s, g) without a lottery that accepts a few or a model that extrapolates. This class estimates nothing.

    Parameters
    ----------
    epsilon
        Largest gap allowed.

    References
    ----------
    .. [1] M. Hardt, E. Price, N. Srebro. Equality of opportunity in supervised learning. NeurIPS, 2016.

    Examples
    --------
    >>> cells = [[[[3, 1], [1, 4]], [[1, 2], [0, 7]]]]     # 4 of 5 and 7 of 7 with a positive label accepted
    >>> EqualOpportunity(epsilon=0.1).residuals(Counts(cells))[0].round(3)
    array([0.1])
    """

    name: ClassVar[str] = "equal-opportunity"
    help: ClassVar[str] = "Largest gap between the groups' acceptance rates among people of label 1."
    needs: ClassVar[Needs] = "all-labels"
    compares_groups: ClassVar[bool] = True
    names: ClassVar[Sequence[str]] = ("equal-opportunity",)
    words: ClassVar[Sequence[Words]] = (
        Words("The gap among people of label 1", "the gap between groups among people of label 1 is {} too large"),
    )

    epsilon: Share

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return the gap of true positive rates minus `epsilon`."""
        compare_groups(self, counts.group_count)
        positives = counts.cells[..., 1, :]
        return (gap_of(share_of(positives[..., 1], positives.sum(axis=-1))) - np.asarray(self.epsilon),)

    def span(self, groups: int) -> list[tuple[float, float]]:
        """Return ends that no gap minus `epsilon` goes beyond."""
        return [(-1.0, 1.0)]

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return the signed differences of all pairs of groups, among people of label 1."""
        epsilon = float(np.asarray(self.epsilon))
        return (Pieces(differences(groups, label=1), epsilon),)

    @property
    def requirement(self) -> str:
        """What is required, in a sentence."""
        return f"The groups’ acceptance rates among people of label 1 may differ by {self.epsilon:.4g} at most."

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return the same up to the gap that there is."""
        gap = np.asarray(self.epsilon) + self.residuals(counts)[place]
        return replace(self, epsilon=rounded(gap, 4, up=True))

    def allows(self, place: int) -> str:
        """Say which gap."""
        return f"a gap of {self.epsilon:.4f} among people of label 1"
