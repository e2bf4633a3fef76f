"""Equalised odds: people of the same label are accepted at nearly the same rate in every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from fairgate.constraints.base import Needs
from fairgate.constraints.gap import Gap


@dataclass(frozen=True)
class EqualisedOdds(Gap):
    r"""People of the same label, positive or negative, are accepted at nearly the same rate in every group.

    .. math:: g_{tpr} = \max_g tpr_g - \min_g tpr_g - \varepsilon \le 0, \quad
              g_{fpr} = \max_g fpr_g - \min_g fpr_g - \varepsilon \le 0

    with :math:`tpr_g = P(d = 1 \mid y = 1, g)` and :math:`fpr_g = P(d = 1 \mid y = 0, g)`. Both residuals are met
    exactly when the larger gap is at most ε. A group with nobody of that label in the batch is left out of that gap;
    with fewer than two groups left it is 0.

    It needs the labels of rejected people: see :class:`EqualOpportunity` for when they can be had, and for the paper
    that both come from.

    Parameters
    ----------
    epsilon
        Largest gap allowed, for either label.

    Examples
    --------
    >>> from fairgate import Counts
    >>> cells = [[[[3, 1], [1, 4]], [[1, 2], [0, 7]]]]     # tpr 4/5 and 7/7, fpr 1/4 and 2/3
    >>> [residual.round(3) for residual in EqualisedOdds(epsilon=0.1).residuals(Counts(cells))]
    [array([0.1]), array([0.317])]
    """

    name: ClassVar[str] = "equalised-odds"
    help: ClassVar[str] = "Largest gap between the groups' acceptance rates among people of either label."
    needs: ClassVar[Needs] = "all-labels"
    labels: ClassVar[Sequence[int | None]] = (1, 0)
    among: ClassVar[str] = " among people of the same label"
    names: ClassVar[Sequence[str]] = ("tpr", "fpr")
