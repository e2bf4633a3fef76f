"""Equal opportunity: people with a positive label are accepted at nearly the same rate in every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fairgate.constraints.base import Needs
from fairgate.constraints.gap import Gap


@dataclass(frozen=True)
class EqualOpportunity(Gap):
    r"""People with a positive label are accepted at nearly the same rate in every group [1]_.

    .. math:: g = \max_g tpr_g - \min_g tpr_g - \varepsilon \le 0, \qquad tpr_g = P(d = 1 \mid y = 1, g)

    A group with nobody of a positive label in the batch has no rate and is left out; with fewer than two groups left
    the gap is 0.

    The rate counts rejected people by their label, which must be known; this class estimates nothing. Where only labels
    of accepted people are seen, learners of level `selective-labels` estimate it if labels are missing at random given
    score and group, and some people are accepted at every score.

    Parameters
    ----------
    epsilon
        Largest gap allowed.

    References
    ----------
    .. [1] M. Hardt, E. Price, N. Srebro. Equality of opportunity in supervised learning. NeurIPS, 2016.

    Examples
    --------
    >>> from fairgate import Counts
    >>> cells = [[[[3, 1], [1, 4]], [[1, 2], [0, 7]]]]     # 4 of 5 and 7 of 7 with a positive label accepted
    >>> EqualOpportunity(epsilon=0.1).residuals(Counts(cells))[0].round(3)
    array([0.1])
    """

    name: ClassVar[str] = "opportunity"
    help: ClassVar[str] = "Largest gap between the groups' acceptance rates among people with a good label."
    needs: ClassVar[Needs] = "all-labels"
    labels: ClassVar[Sequence[int | None]] = (1,)
    among: ClassVar[str] = " among people with a good label"
    names: ClassVar[Sequence[str]] = ("opportunity",)
