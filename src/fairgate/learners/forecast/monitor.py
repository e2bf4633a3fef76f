"""Monitoring of predictions, epoch by epoch: a misfit test and a change-point test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.settings import Array, Number


class Comparison(NamedTuple):
    """What an epoch showed, against its prediction and against earlier epochs on the same policy, for R replicates.

    Attributes
    ----------
    squared
        Mean squared error of the prediction in units of its variance, (R,).
    tested
        Whether this epoch is a test of the prediction, (R,).
    now, people
        Acceptance rate of this epoch, or its error of prediction, and the people it is from, (R, G).
    then, earlier
        The same of earlier epochs on the same policy, (R, G); nobody if there are none.
    noise
        Variance of one person's acceptance, (R, G).
    """

    squared: Array
    tested: NDArray[np.bool_]
    now: Array
    people: Array
    then: Array
    earlier: Array
    noise: Array


@dataclass
class MisfitTest:
    """Tells when predictions fail by more than `limit` times their variance, on average over epochs.

    A few may do so by chance: a single epoch must be four times as far off.

    Attributes
    ----------
    limit
        Mean squared error, in units of its variance, beyond which predictions have failed, (R,).
    squared, trials
        Sum of squared errors in units of their variance, and how many, since the last failure, (R,).
    failures
        How often predictions have failed, (R,), and no more than `most`.
    discount
        What an epoch leaves of the weight of earlier ones: 1 sums them all.
    again
        How many times as large errors must be for corrected predictions to fail once more: a slow drift is no failure.
    """

    limit: Array
    squared: Array
    trials: Array
    failures: NDArray[np.int64]
    most: int = 1
    discount: float = 1.0
    again: float = 4.0

    @classmethod
    def start(cls, replicates: int, limit: Number, most: int = 1, discount: float = 1.0) -> MisfitTest:
        """Make a test that has seen no epoch."""
        squared, trials, failures = np.zeros(replicates), np.zeros(replicates), np.zeros(replicates, dtype=np.int64)
        return cls(per_replicate(limit, replicates), squared, trials, failures, most, discount)

    def update(self, rows: NDArray[np.int64], squared: Array, tested: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Take in the epochs of replicates `rows` where they are a test, and return where predictions now fail."""
        self.squared[rows] = self.discount * self.squared[rows] + np.where(tested, squared, 0.0)
        self.trials[rows] = self.discount * self.trials[rows] + tested
        limit = self.limit[rows] * np.where(self.failures[rows] > 0, self.again, 1.0)
        trials = np.maximum(self.trials[rows], 1.0)
        failed = np.asarray(self.squared[rows] > limit * (trials + 3.0 / trials))
        self.failures[rows] = np.minimum(self.failures[rows] + failed, self.most)
        self.squared[rows[failed]] = self.trials[rows[failed]] = 0.0
        return failed

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Trust predictions again in some replicates, as if nothing had been seen."""
        self.squared[rows] = self.trials[rows] = 0.0
        self.failures[rows] = 0


def changed(epoch: Comparison, limit: Array) -> NDArray[np.bool_]:
    """Whether the same policy suddenly does otherwise than before, (R,): people have changed.

    So it is if a group's rates now and then are more than `limit` (R,) squared standard errors apart.
    """
    variance = epoch.noise * (1.0 / epoch.people + 1.0 / np.maximum(epoch.earlier, 1.0))
    apart = (epoch.now - epoch.then) ** 2 / variance
    return np.asarray(np.where(epoch.earlier > 0.0, apart, 0.0).max(axis=1) > limit)


def per_replicate(value: Number, replicates: int) -> Array:
    """Return a setting as one number per replicate, (R,)."""
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), replicates))
