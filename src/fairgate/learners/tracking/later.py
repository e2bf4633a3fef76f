"""Later: what lotteries lead to once people have answered to them, where their answers have proved to be known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    positives: Array  # P(y=1, s ≥ option | g) as terms of acceptance, (N, G, 3, K + 2)
    hoped: Array  # the same with the benefit of the doubt

    @classmethod
    def of(cls, problem: Problem, shares: Array, foresight: Foresight, labels: Labels) -> Later:
        """Put answers together with `labels` of the replicates where they have proved."""
        proved = foresight.proved
        known = foresight.rows(proved)
        bins = known.terms[..., :-1] - known.terms[..., 1:]
        positives, hoped = (summed(bins * each[:, :, None]) for each in (labels.share, labels.hoped))
        places = np.flatnonzero(proved)
        return cls(places, problem.rows(places), shares[proved], known, positives, hoped)

    def aim(self, options: NDArray[np.int64], weight: Array, rates: Array, error: Array, spread: Array) -> Array:
        """Return the reward that lotteries lead to, (C, N); a predicted violation costs :data:`PRICE` as much reward.

        `options` (2, N, C) and `weight` (N, C) are the lotteries; `rates`, their errors and their `spread`, (N, G, C)
        each, what they do now.
        """
        first, share = options[:, :, None], weight[:, None]
        found = self.foresight.leads_to(first, share, rates, error, spread)
        away = found - 0.5

        def at(terms: Array) -> tuple[Array, Array]:
            low, high = (np.take_along_axis(terms, place[:, None], axis=-1) for place in first)
            level, slope, curve = np.moveaxis(high + share[:, :, None] * (low - high), 2, 0)
            whole = terms[:, :, :, :1]
            everybody = whole[:, :, 0] + away * (whole[:, :, 1] + away * whole[:, :, 2])
            return np.clip(level + away * (slope + away * curve), 0.0, found), everybody

        (positives, everybody), (hoped, _) = at(self.positives), at(self.hoped)
        missed = np.clip(everybody - positives, 0.0, 1.0 - found)
        reward = self.problem.assess(by_lottery(cells_of(self.shares, found, hoped, missed))).reward
        residuals = self.problem.assess(by_lottery(cells_of(self.shares, found, positives, missed))).residuals
        return np.asarray(reward - PRICE * np.maximum(residuals.max(axis=0, initial=-1.0), 0.0))


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
