"""Monitoring of predictions, epoch by epoch: a misfit test and a change-point test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.shapes import filled
from fairgate.settings import Array, Number


@dataclass
class MisfitTest:
    """Tells when predictions fail by more than `limit` times their variance, on average over epochs.

    A few may do so by chance: a single epoch must be four times as far off.
    """

    # mean squared error, in units of its variance, beyond which predictions have failed
    limit: Annotated[Array, "R"]
    squared: Annotated[Array, "R"]  # sum of squared errors in units of their variance, since the last failure
    trials: Annotated[Array, "R"]  # how many they are
    failures: Annotated[NDArray[np.int64], "R"]  # how often predictions have failed, and no more than `most`
    most: int = 1
    discount: float = 1.0  # what an epoch leaves of the weight of earlier ones: 1 sums them all
    # how many times as large errors must be for corrected predictions to fail again: a slow drift is no failure
    again: float = 4.0

    @classmethod
    def start(cls, replicates: int, limit: Number, most: int = 1, discount: float = 1.0) -> MisfitTest:
        """Make a test that has seen no epoch."""
        return filled(cls, {"R": replicates}, limit=limit, most=most, discount=discount)

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


def apart(now: Array, people: Array, then: Array, earlier: Array, noise: Array) -> Array:
    """Return how far apart rates of a policy now and then are, in squared standard errors, at most over groups, (R,).

    The rates, or errors of prediction, are those of `people` now and of `earlier` people then, (R, G), of whom there
    may be none; `noise` is the variance of one person's acceptance. If they are far apart, people have changed.
    """
    squared = (now - then) ** 2 / (noise * (1.0 / people + 1.0 / np.maximum(earlier, 1.0)))
    return np.asarray(np.where(earlier > 0.0, squared, 0.0).max(axis=1))
