"""Prediction: acceptance and positives of every option, and the reward and residuals that follow, with their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.statement import STRONG
from fairgate.problem import Problem, best_feasible, is_feasible
from fairgate.settings import Array


class Value(NamedTuple):
    """Reward and largest residual of every option, with their standard errors, (K, R) each."""

    reward: Array
    residual: Array
    reward_error: Array
    residual_error: Array

    def best(self, width: Array | float) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the option of highest reward in the safe set, else the nearest to it; and whether it is safe, (R,).

        The safe set holds the options whose upper bound, residual plus `width` (R,) standard errors, is at most 0.
        """
        upper = (self.residual + width * self.residual_error).round(12)  # of what differs by rounding alone, the first
        best = best_feasible(self.reward.T.round(12), upper.T[None])
        return best, is_feasible(upper[None, best, np.arange(best.size)])

    def lowest_residual(self) -> Array:
        """Return each option's residual less :data:`STRONG` standard errors, (K, R)."""
        return np.asarray(self.residual - STRONG * self.residual_error)

    def strongly_infeasible(self) -> NDArray[np.bool_]:
        """Whether every option is infeasible by :data:`STRONG` standard errors, (R,)."""
        return np.asarray(self.lowest_residual().min(axis=0) > 0.0)


class Prediction(NamedTuple):
    """What every option does, for R replicates, G groups and K options: thresholds, or whatever is compared."""

    shares: Array  # of each group, (R, G)
    rates: Array  # P(d=1 | g), (R, G, K)
    positives: Array  # P(y=1, d=1 | g), (R, G, K)
    all_positives: Array  # P(y=1 | g), (R, G, K); no more than `positives` if nothing is known of the rejected
    error: Array  # standard errors of `rates`, (R, G, K)
    label_error: Array  # and of `positives`, (R, G, K)

    def cells(self) -> Array:
        """Return P(group, label, decision) under every option, (K, R, G, 2, 2)."""
        return np.moveaxis(_cells(*self._by_group()[:4]), (3, 4), (0, 1))

    def read(self, problem: Problem) -> tuple[Array, Array]:
        """Return reward and largest residual of every option, (K, R) each."""
        return _read(problem, _cells(*self._by_group()[:4]))

    def value(self, problem: Problem) -> Value:
        """Read reward and largest residual off the cells, and how far errors of rates and positives could move them.

        Each group's rates, and then its positives, are moved up and down by their standard error in turn; the larger
        effect counts, and the effects add up as independent errors do. So any utility and any constraint will do, a
        user's own too.
        """
        shares, rates, positives, everybody, error, label_error = self._by_group()
        found = np.stack(_read(problem, _cells(shares, rates, positives, everybody)))
        variance = np.zeros_like(found)
        within = np.clip(rates, 0.0, 1.0)
        cells = _cells(shares, within, np.clip(positives, 0.0, within), everybody)
        uncertain_labels = self.label_error.any()
        for group in range(len(rates)):
            kept, rate, good, whole = cells[group].copy(), rates[group], positives[group], everybody[group]
            moves = [(error[group], good / np.maximum(rate, 1e-9) * error[group])]
            if uncertain_labels:
                moves.append((np.zeros_like(rate), label_error[group]))
            for up, more in moves:
                effects = []
                for sign in (-1.0, 1.0):
                    moved = np.clip(rate + sign * up, 0.0, 1.0)
                    cells[group] = _cells(shares[group], moved, np.clip(good + sign * more, 0.0, moved), whole)
                    effects.append(np.abs(np.stack(_read(problem, cells)) - found))
                variance += np.maximum(*effects) ** 2
            cells[group] = kept
        return Value(*found, *np.sqrt(variance))

    def _by_group(self) -> tuple[Array, ...]:
        """Return the fields as (G, K, R), groups first: what is read off them lies together then."""
        fields = (np.ascontiguousarray(values.transpose(1, 2, 0)) for values in self[1:])
        return (self.shares.T[:, None], *fields)


def _cells(shares: Array, rates: Array, positives: Array, everybody: Array) -> Array:
    """Return P(group, label, decision), (…, 2, 2, K, R), of fields (…, K, R)."""
    rejected = np.clip(everybody - positives, 0.0, 1.0 - rates)
    cells = np.empty((*rates.shape[:-2], 2, 2, *rates.shape[-2:]))
    cells[..., 1, 1, :, :] = positives
    cells[..., 0, 1, :, :] = rates - positives
    cells[..., 1, 0, :, :] = rejected
    cells[..., 0, 0, :, :] = 1.0 - rates - rejected
    cells *= shares[..., None, None, :, :]
    return cells


def _read(problem: Problem, cells: Array) -> tuple[Array, Array]:
    """Return reward and largest residual, (K, R) each, of cells (G, 2, 2, K, R)."""
    feedback = problem.assess(np.moveaxis(cells, (3, 4), (0, 1)))
    return feedback.reward, feedback.residuals.max(axis=0, initial=-1.0)
