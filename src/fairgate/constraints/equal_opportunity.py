"""Equal opportunity: people with a positive label are accepted at nearly the same rate in every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgate.constraints.base import compare_groups, gap_of, share_of
from fairgate.counts import Counts
from fairgate.settings import Array, Settings, Share


@dataclass(frozen=True)
class EqualOpportunity(Settings):
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

    labels: ClassVar[bool] = True

    epsilon: Share

    @property
    def names(self) -> Sequence[str]:
        """Name of the residual."""
        return ("equal-opportunity",)

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return the gap of true positive rates minus `epsilon`."""
        compare_groups(self, counts.group_count)
        positives = counts.cells[..., 1, :]
        return (gap_of(share_of(positives[..., 1], positives.sum(axis=-1))) - np.asarray(self.epsilon),)
