"""Later: what lotteries lead to once people have answered to them, where their answers have proved to be known."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts
from fairgate.learners.tracking.answers import Foresight
from fairgate.learners.tracking.label_curve import Labels
from fairgate.problem import Problem
from fairgate.settings import Array

PRICE = 10.0
"""Reward that a unit of predicted violation costs: 0.01 costs 0.1, more than most policies differ by."""


class Later(NamedTuple):
    """People and labels as terms of acceptance, in the N replicates of an outlook where answers have proved."""

    places: NDArray[np.int64]  # which replicates these are, (N,)
    problem: Problem  # of these
    shares: Array  # of the groups, (N, G)
    foresight: Foresight
    rates: Array  # P(s ≥ option | g) as terms of acceptance, (3, G, N, K + 2)
    positives: Array  # P(y=1, s ≥ option | g) as such terms
    hoped: Array  # the same with the benefit of the doubt

    @classmethod
    def of(cls, problem: Problem, shares: Array, foresight: Foresight, labels: Labels) -> Later:
        """Put answers together with `labels` of the replicates where they have proved."""
        proved = foresight.proved
        known = foresight.rows(proved)
        rates = np.ascontiguousarray(known.terms.transpose(2, 1, 0, 3))
        bins = rates[..., :-1] - rates[..., 1:]
        positives, hoped = (summed(bins * each.swapaxes(0, 1)) for each in (labels.share, labels.hoped))
        places = np.flatnonzero(proved)
        return cls(places, problem.rows(places), shares[proved], known, rates, positives, hoped)

    def aim(self, pairs: NDArray[np.int64], weight: Array, rates: Array, error: Array, spread: Array) -> Array:
        """Return the reward that lotteries lead to, (C, N); a predicted violation costs :data:`PRICE` as much reward.

        Lotteries are P `pairs` of options (2, N, P) with W weights each, (N, W, P), so that C = W · P; `rates`, their
        errors and their `spread`, (G, N, C) each, are what they do now.
        """
        _, groups, replicates, options = self.rates.shape
        first = np.arange(0, groups * replicates * options, options).reshape(groups, replicates, 1)
        places = [first + side for side in pairs]

        def mixed(terms: Array) -> Array:
            low, high = (terms.reshape(3, -1).take(place, axis=1)[..., None, :] for place in places)
            return np.asarray(high + weight * (low - high)).reshape(3, groups, replicates, -1)

        found = self.foresight.leads_to(mixed(self.rates), rates, error, spread)
        away = found - 0.5

        def at(level: Array, slope: Array, curve: Array) -> Array:
            return level + away * (slope + away * curve)

        positives, hoped = (at(*mixed(terms)).clip(0.0, found) for terms in (self.positives, self.hoped))
        missed = (at(*self.positives[..., :1]) - positives).clip(0.0, 1.0 - found)
        reward = self.problem.utility.reward(self._counts(found, hoped, missed))
        return np.asarray(reward - PRICE * highest_of(self.problem, self._counts(found, positives, missed), 0.0))

    def _counts(self, rates: Array, positives: Array, missed: Array) -> Counts:
        return Counts(by_lottery(cells_of(self.shares, *(each.swapaxes(0, 1) for each in (rates, positives, missed)))))


def highest_of(problem: Problem, counts: Counts, least: float) -> Array:
    """Return the largest residual of counts, (…, C, R), or `least` if all are less."""
    found = [each for constraint in problem.constraints for each in constraint.residuals(counts)]
    if not found:
        return np.full(counts.shape, least)
    return np.asarray(reduce(np.maximum, found).clip(least, np.inf))


def summed(bins: Array) -> Array:
    """Sum score bins (…, K + 1) from each option up, (…, K + 2)."""
    return np.concatenate((bins[..., ::-1].cumsum(axis=-1)[..., ::-1], np.zeros((*bins.shape[:-1], 1))), axis=-1)


def cells_of(shares: Array, rates: Array, positives: Array, missed: Array) -> NDArray[np.float64]:
    """Return P(group, label, decision) of what lotteries do, (R, G, C) each: (G, 2, 2, R, C)."""
    cells = np.empty((rates.shape[1], 2, 2, rates.shape[0], rates.shape[2]))
    for group, share in enumerate(shares.T):
        fill(cells[group], rates[:, group], positives[:, group], missed[:, group], share[:, None])
    return cells


def fill(cells: NDArray[np.float64], rates: Array, positives: Array, missed: Array, share: Array) -> None:
    """Write P(label, decision) of one group, (2, 2, …, R, C), in place."""
    cells[1, 1] = positives
    cells[0, 1] = rates - positives
    cells[1, 0] = missed
    cells[0, 0] = 1.0 - rates - missed
    cells *= share


def by_lottery(cells: Array) -> Array:
    """Return cells (G, 2, 2, …, R, C) as counts are told: (…, C, R, G, 2, 2)."""
    return np.moveaxis(cells.swapaxes(-1, -2), (0, 1, 2), (-3, -2, -1))
