"""DelayedImpact: credit scores that repayment raises and default lowers, so that lending can harm (Liu et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from fairgate.counts import Counts
from fairgate.environments.base import approach, slowest_approach
from fairgate.environments.normal_scores import PEAK, NormalScores, positive_mass
from fairgate.errors import InputError
from fairgate.settings import Array, NonNegative, PositiveShare


@dataclass(frozen=True)
class DelayedImpact(NormalScores):
    r"""Borrowers whose scores rise when they repay and fall when they default.

    Credit scores and labels, 1 if a loan is repaid, are those of :class:`NormalScores`. Whoever gets a loan gains
    `rise` points on repayment and loses `fall` points on default, and a part of that carries over to the group's next
    applicants. After a batch

    .. math:: \mu_g \leftarrow \mu_g + rate \cdot (means_g + carry \cdot \mathbb{E}_{batch}[
              (rise \cdot y - fall \cdot (1 - y)) \cdot d \mid g] - \mu_g).

    A loan harms the borrower on average below the score at which P(repay) = fall / (rise + fall). A lender who loses
    :math:`c_{fp}` times as much on a default as it earns on repayment breaks even at
    :math:`c_{fp} / (1 + c_{fp})`; where constraints make it lend below the former, it harms those it means to serve.

    Parameters
    ----------
    means
        Mean score of each group without any loans.
    shares, sd, slope, midpoint
        See :class:`NormalScores`.
    rate
        Share of the way to its target that a mean moves per round; may vary by replicate.
    carry
        Share of the batch's mean change of score that carries over to the group's next applicants; may vary by
        replicate. ``carry · (max(rise, fall) · max density + (rise + fall) · |slope| / 4)`` must be below 1, else
        there may be no unique steady state.
    rise, fall
        Points gained on repayment and lost on default; may vary by replicate.

    Examples
    --------
    Lending to everybody lowers the scores in the end, lending to the upper half raises them.

    >>> env = DelayedImpact(means=[600.0], shares=[1.0], sd=[80.0], slope=0.02, midpoint=560.0, rate=0.1, carry=0.5)
    >>> env.steady_state(np.array([[300.0], [600.0]])).round(1)
    array([[594.3],
           [612.6]])
    """

    _tabled: ClassVar[frozenset[str]] = frozenset({"carry", "rise", "fall"})

    rate: PositiveShare
    carry: NonNegative
    rise: NonNegative = 75.0
    fall: NonNegative = 150.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._feedback() >= 1.0:
            largest = float(np.max(self.carry) / self._feedback())
            raise InputError(
                f"DelayedImpact: carry must be below {largest:.4g} for these scores (carry · (max(rise, fall) · max "
                "density + (rise + fall) · |slope| / 4) < 1, else there may be no unique steady state), "
                f"got {self.carry}"
            )

    @cached_property
    def reach(self) -> float:
        """How far a mean started at `means` can ever move."""
        return float(np.max(np.multiply(self.carry, np.maximum(self.rise, self.fall)))) + 1e-6

    def _feedback(self) -> float:
        """Largest slope of the target in μ: of those at the threshold who come or go, and of the others' repayment."""
        carry, rise, fall = (self._by_replicate[name] for name in ("carry", "rise", "fall"))
        marginal = np.maximum(rise, fall) * PEAK / self._by_group["sd"].min()
        return float(np.max(carry * (marginal + (rise + fall) * abs(self.slope) / 4.0)))

    def contraction(self) -> float:
        """Return a factor above which one round never keeps two states apart."""
        return slowest_approach(self._by_replicate["rate"], self._feedback())

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        """Return the means after a batch."""
        people = np.where(counts.people > 0, counts.people, np.nan)
        repaid, defaulted = (counts.cells[..., label, 1] / people for label in (1, 0))
        known = self._by_replicate
        change = known["carry"] * (known["rise"] * repaid - known["fall"] * defaulted)
        return approach(state, self._by_group["means"] + change, known["rate"])

    def steady_state(self, thresholds: Array) -> Array:
        """Return the means that solve μ = means + carry · E[(rise · y − fall · (1 − y)) · d]."""
        from scipy.optimize import elementwise

        thresholds, means, sd = np.asarray(thresholds, dtype=np.float64), self._by_group["means"], self._by_group["sd"]
        points = (self._by_replicate["carry"] * self._by_replicate[name] for name in ("rise", "fall"))
        up, down = (np.broadcast_to(each, thresholds.shape) for each in points)

        def excess(mu: Array, theta: Array, mean: Array, sd: Array, up: Array, down: Array) -> Array:
            repaid = positive_mass(mu, theta, sd, self.slope, self.midpoint)
            defaulted = ndtr((mu - theta) / sd) - repaid
            return np.asarray(mu - mean - up * repaid + down * defaulted)

        bracket = (means - down - 1e-6, means + up + 1e-6)
        return np.asarray(elementwise.find_root(excess, bracket, args=(thresholds, means, sd, up, down)).x)
