"""Disparate impact: the smallest acceptance rate is at least four fifths of the largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.arrays import as_array, namespace
from fairgate.confidence import Box, largest_difference
from fairgate.constraints.base import Constraint, Measure, Needs, Words, compare_groups, rounded
from fairgate.constraints.pieces import Pieces, differences
from fairgate.counts import Counts, across_groups
from fairgate.settings import Array, PositiveShare


@dataclass(frozen=True)
class DisparateImpact(Constraint):
    r"""No group's acceptance rate is below a fraction of another's: the four-fifths rule [1]_ [2]_.

    .. math:: g = ratio \cdot \max_g acc_g - \min_g acc_g \le 0

    which is :math:`\min_g acc_g / \max_g acc_g \ge ratio` without the division, so that it is defined, and met, when
    nobody is accepted. A group with nobody in the batch has no rate and is left out.

    Parameters
    ----------
    ratio
        Smallest ratio of two groups' acceptance rates allowed, above 0.

    References
    ----------
    .. [1] Uniform guidelines on employee selection procedures, 29 CFR 1607.4 D. 1978.
    .. [2] M. Feldman, S. Friedler, J. Moeller, C. Scheidegger, S. Venkatasubramanian. Certifying and removing
       disparate impact. KDD, 2015.

    Examples
    --------
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]     # 60% and 90% accepted: two thirds
    >>> DisparateImpact(ratio=0.8).residuals(Counts(cells))[0].round(3)
    array([0.12])
    """

    name: ClassVar[str] = "ratio"
    help: ClassVar[str] = "Smallest ratio of the groups' acceptance rates, such as 0.8."
    needs: ClassVar[Needs] = "decisions"
    compares_groups: ClassVar[bool] = True
    names: ClassVar[Sequence[str]] = ("ratio",)
    words: ClassVar[Sequence[Words]] = (
        Words("The ratio of the groups' acceptance rates", "the lowest acceptance rate of a group is {} too low"),
    )
    must: ClassVar[str] = "Every group’s acceptance rate must be at least {0.ratio:.4g} of any other’s."
    may: ClassVar[str] = "a ratio of {0.ratio:.3f}"

    ratio: PositiveShare = 0.8

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return `ratio` times the largest rate minus the smallest."""
        compare_groups(self, counts.group_count)
        largest, smallest = across_groups(np.fmax, counts.rates), across_groups(np.fmin, counts.rates)
        return (as_array(self.ratio) * largest - smallest,)

    def lowest(self, box: Box) -> Sequence[Array]:
        """Return the smallest residual in the box, where all rates are as near the smallest U as they can be."""
        compare_groups(self, box.rates_low.shape[-1])
        smallest = across_groups(np.minimum, box.rates_high)
        largest = namespace(smallest).maximum(across_groups(np.maximum, box.rates_low), smallest)
        return (as_array(self.ratio) * largest - smallest,)

    def highest(self, box: Box) -> Sequence[Array]:
        """Return the largest residual in the box, `ratio` times a group's U minus another's L."""
        compare_groups(self, box.rates_low.shape[-1])
        ratio = as_array(self.ratio)[..., None]
        return (largest_difference(ratio * box.rates_high, box.rates_low),)

    def pieces(self, groups: int) -> Sequence[Pieces]:
        """Return `ratio` times one group's rate minus another's, for all pairs."""
        return (Pieces(differences(groups, ratio=float(np.asarray(self.ratio))), 0.0),)

    def measures(self, counts: Counts) -> Sequence[Measure]:
        """Return the ratio of the smallest rate to the largest; 1 where nobody is accepted."""
        largest, smallest = across_groups(np.fmax, counts.rates), across_groups(np.fmin, counts.rates)
        ratio = np.divide(smallest, largest, out=np.ones(np.shape(largest)), where=np.asarray(largest) > 0.0)
        return (Measure("Ratio of acceptance rates", ratio, "at least", float(np.asarray(self.ratio))),)

    def relaxed(self, place: int, counts: Counts) -> Self | None:
        """Return the ratio that there is; there is none above 0 if a group is shut out."""
        ratio = rounded(np.nanmin(counts.rates) / np.nanmax(counts.rates), 3, up=False)
        return replace(self, ratio=ratio) if ratio > 0.0 else None
