"""CreditScores: tables of scores and repayment by group; the last loan raises or lowers a score (Liu et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fairgate.counts import Counts
from fairgate.environments.base import Environment, approach, slowest_approach
from fairgate.errors import InputError
from fairgate.settings import Array, PositiveShare, Share, as_floats


class _Tables(NamedTuple):
    """Distinct scores, and P(group, label, decision) at every distinct score as threshold.

    `none` holds if nobody has a record, (distinct scores + 1, groups, 2, 2); `raised` and `lowered` are what people
    add whose last loan was repaid, and was not. `means` are the mean scores of the three, (3, groups).
    """

    distinct: Array
    none: Array
    raised: Array
    lowered: Array
    means: Array


@dataclass(frozen=True, eq=False, repr=False)
class CreditScores(Environment):
    r"""Borrowers from tables of scores, whose last loan stays on their record for a while.

    A person of group g has a score x of the table, drawn by `pdf`, and a record: the last loan was repaid, with
    probability :math:`a_g`, was not, with probability :math:`b_g`, or there is none. The record moves the score by
    `rise` points up or `fall` points down, to `low` or `high` at most, and the moved score s is what is decided on and
    what tells how likely the loan is repaid:

    .. math:: s = \mathrm{clip}(x + \{0, rise, -fall\},\ low,\ high), \qquad P(y = 1 \mid s, g) = repay_g(s),

    interpolated between the scores of the table. Whoever gets a loan gets the record of how it went, and whoever is
    refused ends up with none. After a batch

    .. math:: (a_g, b_g) \leftarrow (a_g, b_g) + rate \cdot \bigl(carry \cdot
              (P_{batch}(y = 1, d = 1 \mid g),\ P_{batch}(y = 0, d = 1 \mid g)) - (a_g, b_g)\bigr).

    So a group's mean score tends to its old mean plus `carry` times the mean change of score that its loans bring
    about, but for the ends of the scale: with `rate` and `carry` 1, one round is the one step of Liu et al. [1]_. Given
    thresholds, the target is linear in the state and there is one steady state, the solution of two equations per
    group.

    The state is :math:`(a, b)`, (replicates, groups, 2), started at 0: the table's own scores.

    Parameters
    ----------
    scores
        Increasing scores of the table, (S,).
    pdf
        Share of each group that has each score, (groups, S).
    repay
        Probability that a person of a group with each score repays, (groups, S).
    shares
        Share of each group among applicants.
    rate
        Share of the way to its target that the state moves per round; may vary by replicate.
    carry
        Share of the records that stay until people apply again; may vary by replicate. If it is so large that two
        states could fail to come closer, it is refused.
    rise, fall
        Points gained on repayment and lost on default.
    low, high
        Ends of the scale.

    References
    ----------
    .. [1] L. T. Liu, S. Dean, E. Rolf, M. Simchowitz, M. Hardt. Delayed impact of fair machine learning. ICML, 2018.

    Examples
    --------
    Loans to everybody lower a group's mean score in the end, loans to those who score 600 raise it.

    >>> env = CreditScores(scores=[400.0, 500.0, 600.0, 700.0], pdf=[[0.25] * 4], repay=[[0.2, 0.4, 0.8, 0.9]],
    ...                    shares=[1.0], rate=0.1, carry=0.5)
    >>> env
    CreditScores(4 scores, 1 groups, rate=0.1, carry=0.5, rise=75, fall=150)
    >>> steady = env.steady_state(np.array([[300.0], [600.0]]))
    >>> env.mean_scores(steady).round(1)                 # 550 in the table
    array([[540.3],
           [560.8]])
    """

    scores: ArrayLike
    pdf: ArrayLike
    repay: ArrayLike
    shares: ArrayLike
    rate: PositiveShare
    carry: Share
    rise: float = 75.0
    fall: float = 150.0
    low: float = 300.0
    high: float = 850.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rise", "fall"):
            points = as_floats(f"CreditScores: {name}", getattr(self, name), ndim=0)
            if points < 0.0:
                raise InputError(f"CreditScores: {name} must be a finite number of at least 0, got {points}")
        feedback = self._feedback()
        if feedback >= 1.0:
            raise InputError(
                f"CreditScores: carry must be below {float(np.max(self.carry)) / feedback:.4g} for these scores (else "
                f"states may not come closer), got {self.carry}"
            )

    def __repr__(self) -> str:
        return (
            f"CreditScores({np.size(self.scores)} scores, {self.group_count} groups, rate={self.rate}, "
            f"carry={self.carry}, rise={self.rise:g}, fall={self.fall:g})"
        )

    @cached_property
    def _given(self) -> tuple[Array, Array, Array, Array]:
        """Scores, pdf, repay and shares as arrays that fit together."""
        scores = as_floats("CreditScores: scores", self.scores, ndim=1)
        shares = as_floats("CreditScores: shares", self.shares, ndim=1)
        pdf, repay = (as_floats(f"CreditScores: {name}", getattr(self, name), ndim=2) for name in ("pdf", "repay"))
        if (np.diff(scores) <= 0.0).any():
            raise InputError(f"CreditScores: scores must increase, got {scores.tolist()}")
        if scores[0] < self.low or scores[-1] > self.high:
            raise InputError(
                f"CreditScores: scores must lie between low and high, {self.low:g} and {self.high:g}, "
                f"got {scores[0]:g} to {scores[-1]:g}"
            )
        for name, table in (("pdf", pdf), ("repay", repay)):
            if table.shape != (len(shares), len(scores)):
                raise InputError(
                    f"CreditScores: {name} must have one row per group and one number per score, "
                    f"{(len(shares), len(scores))}, got {table.shape}"
                )
            if (table < 0.0).any() or (table > 1.0).any():
                raise InputError(f"CreditScores: {name} must be in [0, 1], got {table.min():g} to {table.max():g}")
        for name, sums in (("pdf", pdf.sum(axis=1)), ("shares", shares.sum(keepdims=True))):
            if (np.abs(sums - 1.0) > 1e-9).any():
                raise InputError(f"CreditScores: {name} must sum to 1, got {sums.tolist()}")
        if (shares <= 0.0).any():
            raise InputError(f"CreditScores: shares must be positive, got {shares.tolist()}")
        return scores, pdf, repay, shares

    @cached_property
    def tables(self) -> _Tables:
        """What every distinct score as threshold does, for each record."""
        scores, pdf, repay, shares = self._given
        moved = [np.clip(scores + points, self.low, self.high) for points in (0.0, self.rise, -self.fall)]
        distinct = np.unique(moved)
        cells = np.zeros((3, len(distinct) + 1, len(shares), 2, 2))  # the last row of scores is above everybody
        for record, at in enumerate(moved):
            place = distinct.searchsorted(at)
            for group, share in enumerate(shares):
                repaid = np.interp(at, scores, repay[group])
                for label, part in enumerate((1.0 - repaid, repaid)):
                    people = np.bincount(place, share * pdf[group] * part, minlength=len(distinct))
                    below = np.concatenate(([0.0], people.cumsum()))
                    cells[record, :, group, label, 0] = below
                    cells[record, :, group, label, 1] = below[-1] - below
        means = np.stack([pdf @ at for at in moved])
        return _Tables(distinct, cells[0], cells[1] - cells[0], cells[2] - cells[0], means)

    @property
    def group_count(self) -> int:
        """Number of groups."""
        return len(self._given[-1])

    def _slopes(self, place: Array | slice = slice(None)) -> Array:
        """Return how shares repaid and not repaid change with the state, (…, groups, 2, 2), at some thresholds."""
        _, _, raised, lowered, _ = self.tables
        by_group = self._given[-1][:, None]
        accepted = [each[place][..., ::-1, 1] / by_group for each in (raised, lowered)]  # label 1 before label 0
        return np.stack(accepted, axis=-1)

    def _feedback(self) -> float:
        """Largest sum, over a row, of the slopes of the target: by how much it can follow the state."""
        return float(np.max(self.carry) * np.abs(self._slopes()).sum(axis=-1).max())

    def contraction(self) -> float:
        """Return a factor above which one round never keeps two states apart."""
        return slowest_approach(self._by_replicate["rate"], self._feedback())

    def start(self, replicates: int = 1) -> Array:
        """Return 0 in every replicate: nobody has a record."""
        return np.zeros((replicates, self.group_count, 2))

    def mean_scores(self, state: Array) -> Array:
        """Return the groups' mean scores, (replicates, groups), in a state."""
        none, raised, lowered = self.tables.means
        return np.asarray(none + state[..., 0] * (raised - none) + state[..., 1] * (lowered - none))

    def probabilities(self, state: Array, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2): one look-up into all scores."""
        distinct, *tables, _ = self.tables
        groups = self.group_count
        place = distinct.searchsorted(thresholds) * groups + np.arange(groups)
        none, raised, lowered = (table.reshape(-1, 4).take(place, axis=0) for table in tables)
        return self._mixed(none, raised, lowered, state[..., None]).reshape(*place.shape, 2, 2)

    def histogram(self, state: Array, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores that `edges` (K,) part."""
        edges = np.asarray(edges, dtype=np.float64)
        key = edges.tobytes()
        if key not in self._kept:
            pure = np.zeros((3, self.group_count, 2))  # nobody has a record, all repaid, nobody did
            pure[1, :, 0], pure[2, :, 1] = 1.0, 1.0
            none, raised, lowered = np.ascontiguousarray(super().histogram(pure, edges).swapaxes(2, 3))
            self._kept[key] = np.stack((raised - none, lowered - none)), none
        (raised, lowered), none = self._kept[key]  # label before bin, which is faster
        return self._mixed(none, raised, lowered, state[..., None, None]).swapaxes(2, 3)

    @staticmethod
    def _mixed(none: Array, raised: Array, lowered: Array, state: Array) -> Array:
        """Add up what people without a record and those of either record make; `state` (…, groups, 2, 1, …)."""
        found = raised * state[:, :, 0]
        found += lowered * state[:, :, 1]
        found += none
        return np.maximum(found, 0.0, out=found)  # sums of rounded numbers

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        """Return the records after a batch."""
        people = np.where(counts.people > 0, counts.people, np.nan)
        target = counts.cells[..., ::-1, 1] / people[..., None]  # repaid, then not repaid
        known = self._by_replicate
        return approach(state, known["carry"][..., None] * target, known["rate"][..., None])

    def steady_state(self, thresholds: Array) -> Array:
        """Return the records that solve (a, b) = carry · (repaid, not repaid)(a, b), which is linear."""
        thresholds = np.asarray(thresholds, dtype=np.float64)
        place, groups = self.tables.distinct.searchsorted(thresholds), np.arange(self.group_count)
        carry = self._by_replicate["carry"][..., None]
        slopes = self._slopes()[place, groups]
        none = (self.tables.none[..., ::-1, 1] / self._given[-1][:, None])[place, groups]
        system = np.eye(2) - carry[..., None] * slopes
        return np.asarray(np.linalg.solve(system, (carry * none)[..., None])[..., 0])

    def candidates(self, low: float, high: float) -> Array:
        """Return every distinct score between `low` and `high`: nothing changes in between."""
        inside = self.tables.distinct[(self.tables.distinct > low) & (self.tables.distinct < high)]
        return np.concatenate(([low], inside, [high]))
