"""DelayedImpact: credit scores that repayment raises and default lowers, so that lending can harm (Liu et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from fairgate.counts import Counts
from fairgate.environments.base import State, slowest_approach
from fairgate.environments.normal_scores import PEAK, NormalScores, positive_mass
from fairgate.errors import InputError
from fairgate.settings import Array, NonNegative, PositiveShare


@dataclass(frozen=True)
class DelayedImpact(NormalScores):
    r"""Borrowers whose scores rise when they repay and fall when they default.

    Description
    -----------
    A person is of group g with probability :math:`\pi_g`, has credit score :math:`s \sim N(\mu_g, \sigma_g^2)` and
    repays (label 1) with probability :math:`\mathrm{sigmoid}(slope \cdot (s - midpoint))`. Whoever gets a loan gains
    `rise` points on repayment and loses `fall` points on default, and a part of that carries over to the group's next
    applicants. After a batch

    .. math:: \mu_g \leftarrow \mu_g + rate \cdot (means_g + carry \cdot \mathbb{E}_{batch}[
              (rise \cdot y - fall \cdot (1 - y)) \cdot d \mid g] - \mu_g).

    A loan harms the borrower on average below the score at which P(repay) = fall / (rise + fall). A lender who loses
    :math:`c_{fp}` times as much on a default as it earns on repayment breaks even at
    :math:`c_{fp} / (1 + c_{fp})`; where constraints make it lend below the former, it harms those it means to serve.

    Action
    ------
    Thresholds, one a replicate and group: lend if :math:`s \ge \theta_g`.

    Observation
    -----------
    Counts of the batch by group × label × decision.

    Reward
    ------
    None of its own: a :class:`~fairgate.Problem` reads reward and residuals off the counts.

    State, start and end
    --------------------
    :math:`\mu` (replicates, groups), started at `means`. The loop never ends by itself. A group with nobody in the
    batch keeps its mean.

    Parameters
    ----------
    means, shares, sd
        Mean score of each group without any loans, its share among applicants, and the standard deviation of its
        scores.
    slope, midpoint
        Label model.
    rate
        Share of the way to its target that a mean moves in a round; may vary by replicate.
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

    Version history
    ---------------
    v0: first version.
    """

    rate: PositiveShare
    carry: NonNegative
    rise: NonNegative = 75.0
    fall: NonNegative = 150.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._feedback() >= 1.0:
            largest = float(np.max(self._carry) / self._feedback())
            raise InputError(
                f"DelayedImpact: carry must be below {largest:.4g} for these scores (carry · (max(rise, fall) · max "
                "density + (rise + fall) · |slope| / 4) < 1, else there may be no unique steady state), "
                f"got {self.carry}"
            )

    @cached_property
    def _rate(self) -> Array:
        return np.asarray(self.rate, dtype=np.float64)[..., None]

    @cached_property
    def _carry(self) -> Array:
        return np.asarray(self.carry, dtype=np.float64)[..., None]

    @cached_property
    def _rise(self) -> Array:
        return np.asarray(self.rise, dtype=np.float64)[..., None]

    @cached_property
    def _fall(self) -> Array:
        return np.asarray(self.fall, dtype=np.float64)[..., None]

    @cached_property
    def reach(self) -> float:
        """How far a mean started at `means` can ever move."""
        return float(np.max(self._carry * np.maximum(self._rise, self._fall))) + 1e-6

    def _feedback(self) -> float:
        """Largest slope of the target in μ: of those at the threshold who come or go, and of the others' repayment."""
        marginal = np.maximum(self._rise, self._fall) * PEAK / self._sd.min()
        return float(np.max(self._carry * (marginal + (self._rise + self._fall) * abs(self.slope) / 4.0)))

    def contraction(self) -> float:
        """Return a factor above which one round never keeps two states apart."""
        return slowest_approach(self._rate, self._feedback())

    def start(self, replicates: int = 1) -> State:
        """Return `means` in every replicate."""
        return np.tile(self._means, (replicates, 1))

    def update(self, state: State, counts: Counts, thresholds: Array) -> State:
        """Return the means after a batch."""
        people = np.where(counts.people > 0, counts.people, np.nan)
        repaid, defaulted = (counts.cells[..., label, 1] / people for label in (1, 0))
        moved = state + self._rate * (self._target(repaid, defaulted) - state)
        return np.where(np.isnan(moved), state, moved)

    def _target(self, repaid: Array, defaulted: Array) -> Array:
        return np.asarray(self._means + self._carry * (self._rise * repaid - self._fall * defaulted))

    def steady_state(self, thresholds: Array) -> State:
        """Return the means that solve μ = means + carry · E[(rise · y − fall · (1 − y)) · d]."""
        from scipy.optimize import elementwise

        thresholds = np.asarray(thresholds, dtype=np.float64)
        shape = thresholds.shape
        up, down = (np.broadcast_to(self._carry * points, shape) for points in (self._rise, self._fall))

        def excess(mu: Array, theta: Array, mean: Array, sd: Array, up: Array, down: Array) -> Array:
            repaid = positive_mass(mu, theta, sd, self.slope, self.midpoint)
            defaulted = ndtr((mu - theta) / sd) - repaid
            return np.asarray(mu - mean - up * repaid + down * defaulted)

        bracket = (self._means - down - 1e-6, self._means + up + 1e-6)
        return np.asarray(elementwise.find_root(excess, bracket, args=(thresholds, self._means, self._sd, up, down)).x)
