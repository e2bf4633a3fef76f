"""Outlook: what any lottery of two thresholds would do to the people who come now, and how well that is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.tracking.answers import Foresight
from fairgate.learners.tracking.label_curve import Labels
from fairgate.learners.tracking.people_now import Now
from fairgate.problem import Problem
from fairgate.settings import Array

PRICE = 10.0
"""Reward that a unit of predicted violation costs: 0.01 costs 0.1, more than most policies differ by."""


class Mixed(NamedTuple):
    """What lotteries do, (R, G, C) each: rates, accepted and rejected positives, and their standard errors.

    Labels of those who are always accepted, sometimes or never are wrong independently of each other.
    """

    rates: Array
    positives: Array
    hoped: Array  # positives with the benefit of the doubt, by which rewards are compared
    missed: Array  # P(y=1, d=0 | g)
    error: Array  # of `rates`
    always: Array  # error of positives who are always accepted
    sometimes: Array  # of those who are with the lottery's weight
    never: Array
    weight: Array  # the lottery's, (R, 1, C)


class Outlook(NamedTuple):
    """People and labels now as sums over the scores above each option: -inf, the grid and inf."""

    problem: Problem
    shares: Array  # of the groups, (R, G)
    above: Array  # P(s ≥ option | g), (R, G, K + 2), as the next three
    positives: Array  # P(y=1, s ≥ option | g)
    hoped: Array  # the same with the benefit of the doubt
    doubt: Array  # variance of `positives` that labels are to blame for
    variance: Array  # of rates, per unit of spread, (R, G)
    needs_labels: bool  # whether some constraint does
    foresight: Foresight | None  # what people will answer, where that is known
    later: tuple[Array, Array]  # `positives` and `hoped` as terms of acceptance, (R, G, 3, K + 2)

    @classmethod
    def of(cls, problem: Problem, now: Now, moving: Array, labels: Labels) -> Outlook:
        """Put people and labels together; `moving` (R,) is how much people change meanwhile."""
        mass = now.above[..., :-1] - now.above[..., 1:]
        parts = np.stack((mass * labels.share, mass * labels.hoped, mass**2 * labels.variance))
        positives, hoped, doubt = summed(parts)
        needs = any(each.needs != "decisions" for each in problem.constraints)
        later = (positives, hoped)
        if now.foresight is not None:
            bins = now.foresight.terms[..., :-1] - now.foresight.terms[..., 1:]
            later = (summed(bins * labels.share[:, :, None]), summed(bins * labels.hoped[:, :, None]))
        variance = now.variance + moving[:, None]
        return cls(problem, now.shares, now.above, positives, hoped, doubt, variance, needs, now.foresight, later)

    def rows(self, which: NDArray[np.bool_]) -> Outlook:
        """Return the outlook of some replicates."""
        return self._replace(
            problem=self.problem.rows(np.flatnonzero(which)),
            shares=self.shares[which],
            above=self.above[which],
            positives=self.positives[which],
            hoped=self.hoped[which],
            doubt=self.doubt[which],
            variance=self.variance[which],
            foresight=None if self.foresight is None else self.foresight.rows(which),
            later=(self.later[0][which], self.later[1][which]),
        )

    def mix(self, lotteries: Array) -> Mixed:
        """Mix options: the lower with its weight, else the higher one. Lotteries are (3, R, C).

        The spread of a lottery is the variance of the probability of acceptance over a group's scores: p(1 − p) for a
        threshold, and 0 for a uniform lottery, whose rate is certain.
        """
        replicates, groups, options = self.above.shape
        first = (np.arange(replicates * groups) * options).reshape(replicates, groups, 1)
        low, high = (first + lotteries[side].astype(np.int64)[:, None] for side in (0, 1))
        weight = lotteries[2][:, None]

        def both(values: Array) -> tuple[Array, Array]:
            flat = values.ravel()
            return flat.take(low), flat.take(high)

        some, always = both(self.above)
        rates = always + weight * (some - always)
        spread = np.maximum(always + weight**2 * (some - always) - rates**2, 0.0)
        error = np.sqrt(spread * self.variance[..., None])
        good_some, good = both(self.positives)
        positives = good + weight * (good_some - good)
        hoped_some, hoped = both(self.hoped)
        missed = np.clip(self.positives[..., :1] - positives, 0.0, 1.0 - rates)
        doubts = (error, error, error)  # not looked at
        if self.needs_labels:
            doubt_some, doubt = both(self.doubt)
            between, below = np.maximum(doubt_some - doubt, 0.0), np.maximum(self.doubt[..., :1] - doubt_some, 0.0)
            doubts = (np.sqrt(doubt), np.sqrt(between), np.sqrt(below))
        hopes = hoped + weight * (hoped_some - hoped)
        return Mixed(rates, positives, hopes, missed, error, *doubts, weight)

    def aim(self, mixed: Mixed, lotteries: Array, reward: Array) -> Array:
        """Return by what lotteries are compared, (C, R): their reward, or what they lead to where that is known.

        There, a predicted violation costs :data:`PRICE` as much reward.
        """
        if self.foresight is None or not self.foresight.proved.any():
            return reward
        first = lotteries[:2].astype(np.int64)[:, :, None]
        weight = lotteries[2][:, None]
        always = np.take_along_axis(self.above, first[1], axis=-1)
        some = np.take_along_axis(self.above, first[0], axis=-1)
        spread = np.maximum(always + weight**2 * (some - always) - mixed.rates**2, 0.0)
        rates = self.foresight.leads_to(first, weight, mixed.rates, mixed.error, spread)
        away = rates - 0.5

        def at(terms: Array) -> tuple[Array, Array]:
            low, high = (np.take_along_axis(terms, place[:, None], axis=-1) for place in first)
            level, slope, curve = np.moveaxis(high + weight[:, :, None] * (low - high), 2, 0)
            whole = terms[:, :, :, :1]
            everybody = whole[:, :, 0] + away * (whole[:, :, 1] + away * whole[:, :, 2])
            return np.clip(level + away * (slope + away * curve), 0.0, rates), everybody

        (positives, everybody), (hoped, _) = at(self.later[0]), at(self.later[1])
        missed = np.clip(everybody - positives, 0.0, 1.0 - rates)
        later, residuals = self._read(self._cells(rates, hoped, missed))
        if self.needs_labels:
            residuals = self._read(self._cells(rates, positives, missed))[1]
        broken = np.maximum(residuals.max(axis=0, initial=-1.0), 0.0)
        return np.where(self.foresight.proved, later - PRICE * broken, reward)

    def read(self, mixed: Mixed) -> tuple[Array, Array]:
        """Return the reward, with the benefit of the doubt, (C, R), and the residuals, (J, C, R)."""
        reward, residual = self._read(self._cells(mixed.rates, mixed.hoped, mixed.missed))
        if self.needs_labels:
            residual = self._read(self._cells(mixed.rates, mixed.positives, mixed.missed))[1]
        return reward, residual

    def value(self, mixed: Mixed, width: float) -> tuple[Array, Array, Array]:
        """Return the reward (C, R), the residuals and how far `width` standard errors could move them, (J, C, R) each.

        Each group's rates, and if a constraint needs labels its positives, are moved up and down by so many standard
        errors in turn; the larger effect counts, and the effects add up as independent errors do.
        """
        reward, residual = self.read(mixed)
        means = (mixed.rates, mixed.positives, mixed.missed)
        rates, positives, missed = (values.transpose(1, 2, 0) for values in means)
        errors = [width * values.transpose(1, 2, 0) for values in mixed[4:8]]
        weight = mixed.weight[:, 0].T
        cells = self._cells(*means)
        squared = np.zeros_like(residual)
        for group, share in enumerate(self.shares.T):
            rate, good, bad = rates[group], positives[group], missed[group]
            error, always, sometimes, never = (values[group] for values in errors)
            accepted, rejected = good / np.maximum(rate, 1e-9), bad / np.maximum(1.0 - rate, 1e-9)
            moves: list[tuple[Array | float, Array | float, Array | float]]
            moves = [(error, accepted * error, -rejected * error)]
            if self.needs_labels:
                moves += [(0.0, always, 0.0), (0.0, weight * sometimes, (1.0 - weight) * sometimes), (0.0, 0.0, never)]
            kept = cells[group].copy()
            for more, better, worse in moves:
                effects = []
                for sign in (-1.0, 1.0):
                    moved = np.minimum(np.maximum(rate + sign * more, 0.0), 1.0)
                    right = np.minimum(np.maximum(good + sign * better, 0.0), moved)
                    wrong = np.minimum(np.maximum(bad + sign * worse, 0.0), 1.0 - moved)
                    _fill(cells[group], moved, right, wrong, share)
                    effects.append(np.abs(self._read(cells)[1] - residual))
                squared += np.maximum(*effects) ** 2
            cells[group] = kept
        return reward, residual, np.sqrt(squared)

    def _cells(self, rates: Array, positives: Array, missed: Array) -> Array:
        """Return P(group, label, decision), (G, 2, 2, C, R)."""
        cells = np.empty((rates.shape[1], 2, 2, rates.shape[2], rates.shape[0]))
        for group, share in enumerate(self.shares.T):
            _fill(cells[group], rates[:, group].T, positives[:, group].T, missed[:, group].T, share)
        return cells

    def _read(self, cells: Array) -> tuple[Array, Array]:
        found = self.problem.assess(np.moveaxis(cells, (3, 4), (0, 1)))
        return found.reward, found.residuals


def summed(bins: Array) -> Array:
    """Sum score bins (…, K + 1) from each option up, (…, K + 2)."""
    return np.concatenate((bins[..., ::-1].cumsum(axis=-1)[..., ::-1], np.zeros((*bins.shape[:-1], 1))), axis=-1)


def _fill(cells: NDArray[np.float64], rates: Array, positives: Array, missed: Array, share: Array) -> None:
    """Write P(label, decision) of one group, (2, 2, C, R), in place."""
    cells[1, 1] = positives
    cells[0, 1] = rates - positives
    cells[1, 0] = missed
    cells[0, 0] = 1.0 - rates - missed
    cells *= share
