"""Beliefs: what environments have in common whose people go by the threshold that they believe in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairgate.counts import Counts
from fairgate.environments.base import Environment, slowest_approach
from fairgate.settings import Array, PositiveShare, Real


@dataclass(frozen=True)
class Beliefs(Environment):
    """Groups that believe in thresholds, started at `expected`, which follow those published at `rate`."""

    rate: PositiveShare
    expected: Real

    def start(self, replicates: int = 1) -> Array:
        """Return `expected` for every group in every replicate."""
        return np.broadcast_to(self._by_replicate["expected"], (replicates, self.group_count)).copy()

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        """Return the beliefs after a batch; a group with nobody in it learns nothing, nor does anybody of NaN."""
        rate, learns = self._by_replicate["rate"], (counts.people > 0) & ~np.isnan(thresholds)
        return np.where(learns, (1.0 - rate) * state + rate * thresholds, state)  # exact if the rate is 1

    def steady_state(self, thresholds: Array) -> Array:
        """Return the thresholds: in the end people believe what is done; of infinite ones nobody hears."""
        given = np.asarray(thresholds, dtype=np.float64)
        return np.where(np.isfinite(given), given, self._by_replicate["expected"])

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart."""
        return slowest_approach(self._by_replicate["rate"], 0.0)
