"""Outcome improvement: lending raises the mean score of every group, by what repayment gains and default loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairgate.arrays import as_array, namespace
from fairgate.constraints.base import Constraint, Measure, Needs, Words
from fairgate.counts import Counts, across_groups, per_person
from fairgate.errors import InputError
from fairgate.settings import Array, NonNegative, Number, Positive, Real


def mean_score_change(counts: Counts, rise: Number = 75.0, fall: Number = 150.0) -> Array:
    r"""Return the mean change of score of each group, (…, groups), that decisions bring about in one step.

    Per person of the group, whether accepted or not, and NaN for a group with nobody in the batch: Liu et al.'s
    :math:`\Delta\mu_g` without the ends of the scale [1]_,

    .. math:: \Delta_g = rise \cdot P(y = 1, d = 1 \mid g) - fall \cdot P(y = 0, d = 1 \mid g).

    References
    ----------
    .. [1] L. T. Liu, S. Dean, E. Rolf, M. Simchowitz, M. Hardt. Delayed impact of fair machine learning. ICML, 2018.

    Examples
    --------
    Two groups of 10; of the accepted 5 repay and 1 does not, and 7 repay and 2 do not.

    >>> mean_score_change(Counts([[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]))
    array([[22.5, 22.5]])
    """
    up, down = (as_array(points)[..., None] for points in (rise, fall))
    return per_person(up * counts.cells[..., 1, 1] - down * counts.cells[..., 0, 1], counts.people)


@dataclass(frozen=True)
class OutcomeImprovement(Constraint):
    r"""Every group's mean score changes by at least so much: no group is harmed by what is meant to serve it [1]_.

    With the mean change of score :math:`\Delta_g` of :func:`mean_score_change`,

    .. math:: g = \frac{minimum - \min_g \Delta_g}{rise + fall} \le 0.

    The change lies between −`fall` and `rise`; divided by the width of that range, the residual is a number as those
    of other constraints are, which limit rates. It looks at the labels of accepted people only, which a lender sees. A
    group with nobody in the batch is left out.

    Parameters
    ----------
    rise, fall
        Points that an accepted person gains with label 1 and loses with label 0.
    minimum
        Smallest mean change allowed, in points per person of the group; 0 if no group may lose.

    References
    ----------
    .. [1] L. T. Liu, S. Dean, E. Rolf, M. Simchowitz, M. Hardt. Delayed impact of fair machine learning. ICML, 2018.

    Examples
    --------
    >>> cells = [[[[3, 1], [1, 5]], [[1, 3], [0, 6]]]]     # +22.5 and 0 points per person
    >>> OutcomeImprovement(minimum=4.5).residuals(Counts(cells))[0].round(3)
    array([0.02])
    """

    name: ClassVar[str] = "improvement"
    help: ClassVar[str] = "Points gained with a good label, lost with a bad one, and least mean gain, such as 75:150:0."
    needs: ClassVar[Needs] = "accepted-labels"
    names: ClassVar[Sequence[str]] = ("improvement",)
    words: ClassVar[Sequence[Words]] = (
        Words(
            "The mean score change of a group",
            "the mean score change of a group is {} of the points between a default and a repayment too low",
        ),
    )
    must: ClassVar[str] = (
        "Every group’s mean score must change by {0.minimum:+.4g} points or better, if an accepted person gains "
        "{0.rise:.4g} with a good label and loses {0.fall:.4g} with a bad one."
    )
    may: ClassVar[str] = "a mean score change of {0.minimum:+.2f} points in a group"

    rise: Positive = 75.0
    fall: NonNegative = 150.0
    minimum: Real = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not np.all(np.less(self.minimum, self.rise)):
            raise InputError(
                "OutcomeImprovement: minimum must be below rise, what everybody gains if all repay, "
                f"got {self.minimum} and rise {self.rise}"
            )

    @property
    def _width(self) -> Array:
        return as_array(as_array(self.rise) + as_array(self.fall))

    def _lowest_change(self, counts: Counts) -> Array:
        return across_groups(np.fmin, mean_score_change(counts, self.rise, self.fall))

    def residuals(self, counts: Counts) -> Sequence[Array]:
        """Return how far the smallest change is below the minimum, in units of rise + fall."""
        return ((as_array(self.minimum) - self._lowest_change(counts)) / self._width,)

    def span(self, groups: int) -> list[tuple[float, float]]:
        """Return the ends if all are accepted and repay, and if all are accepted and none does."""
        best, worst = np.subtract(self.minimum, self.rise), np.add(self.minimum, self.fall)
        return [(float(np.min(best / self._width)), float(np.max(worst / self._width)))]

    def uniform_window(self) -> tuple[Number, Number]:
        """Return the probabilities at which it could be met: whether it is depends on labels that nobody knows yet."""
        least = as_array(as_array(self.minimum) / as_array(self.rise))
        return namespace(least).maximum(least, 0.0), 1.0

    def measures(self, counts: Counts) -> Sequence[Measure]:
        """Return the smallest mean change, in points."""
        about = "Lowest mean score change of a group"
        return (Measure(about, self._lowest_change(counts), "at least", float(np.asarray(self.minimum))),)

    def relaxed(self, place: int, counts: Counts) -> Self:
        """Return the same down to the change that there is."""
        return replace(self, minimum=float(np.floor(self._lowest_change(counts) * 100.0 + 1e-9) / 100.0))
