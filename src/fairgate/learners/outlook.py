"""Outlook: what is believed of every threshold's decisions, and what reward and residuals follow, with their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairgate.problem import Problem
from fairgate.settings import Array


class Worth(NamedTuple):
    """What every threshold is believed to be worth: reward and largest residual with their standard errors, (K, R)."""

    reward: Array
    residual: Array
    reward_error: Array
    residual_error: Array


class Outlook(NamedTuple):
    """What every threshold is believed to do, for R replicates, G groups and K thresholds.

    Attributes
    ----------
    shares
        Share of each group, (R, G).
    rates, positives
        P(d=1 | g) and P(y=1, d=1 | g), (R, G, K).
    all_positives
        P(y=1 | g), (R, G, K); no more than `positives` if nothing is known of the rejected.
    error, label_error
        Standard errors of `rates` and of `positives`, (R, G, K).
    """

    shares: Array
    rates: Array
    positives: Array
    all_positives: Array
    error: Array
    label_error: Array

    def cells(self) -> Array:
        """Return P(group, label, decision) under every shared threshold, (K, R, G, 2, 2)."""
        rejected = np.clip(self.all_positives - self.positives, 0.0, 1.0 - self.rates)
        cells = np.empty((*self.rates.shape, 2, 2))
        cells[..., 1, 1] = self.positives
        cells[..., 0, 1] = self.rates - self.positives
        cells[..., 1, 0] = rejected
        cells[..., 0, 0] = 1.0 - self.rates - rejected
        return np.moveaxis(cells * self.shares[..., None, None, None], 2, 0)

    def worth(self, problem: Problem) -> Worth:
        """Read reward and largest residual off the cells, and how far errors of rates and positives could move them.

        Each group's rates, and then its positives, are moved up and down by their standard error in turn; the larger
        effect counts, and the effects add up as independent errors do. So any utility and any constraint will do, a
        user's own too.
        """
        reward, residual = _read(problem, self.cells())
        reward_variance, residual_variance = np.zeros_like(reward), np.zeros_like(residual)
        precision = self.positives / np.maximum(self.rates, 1e-9)
        for group in range(self.rates.shape[1]):
            step = np.zeros_like(self.rates)
            step[:, group] = self.error[:, group]
            moves = [(step, precision * step)]
            if self.label_error.any():
                step = np.zeros_like(self.rates)
                step[:, group] = self.label_error[:, group]
                moves.append((np.zeros_like(step), step))
            for up, more in moves:
                ends = [self._moved(sign * up, sign * more) for sign in (-1.0, 1.0)]
                read = [_read(problem, end.cells()) for end in ends]
                reward_variance += np.maximum(*(np.abs(other - reward) for other, _ in read)) ** 2
                residual_variance += np.maximum(*(np.abs(other - residual) for _, other in read)) ** 2
        return Worth(reward, residual, np.sqrt(reward_variance), np.sqrt(residual_variance))

    def _moved(self, rates: Array, positives: Array) -> Outlook:
        moved = np.clip(self.rates + rates, 0.0, 1.0)
        return self._replace(rates=moved, positives=np.clip(self.positives + positives, 0.0, moved))


def _read(problem: Problem, cells: Array) -> tuple[Array, Array]:
    signals = problem.assess(cells)
    return signals.reward, signals.residuals.max(axis=0, initial=-1.0)
