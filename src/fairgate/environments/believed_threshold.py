"""BelievedThreshold: people answer to the threshold they have come to believe in; what such environments share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairgate.counts import Counts
from fairgate.environments.base import State, slowest_approach
from fairgate.environments.normal_scores import NormalScores
from fairgate.settings import Array, PositiveShare, Real


@dataclass(frozen=True)
class BelievedThreshold(NormalScores):
    r"""Normal scores whose groups believe in thresholds :math:`b_g` and learn of those that are published.

    .. math:: b_g \leftarrow b_g + rate \cdot (\theta_g - b_g)

    The state is b (replicates, groups), started at `expected`. A group with nobody in the batch learns nothing, nor
    does anybody if no threshold is published. Fixed thresholds end up believed: the steady state is :math:`b = \theta`.

    Parameters
    ----------
    means, shares, sd, slope, midpoint
        See :class:`NormalScores`.
    rate
        Share of the way to the published threshold that a belief moves in a round; 1 believes in yesterday's
        threshold. May vary by replicate.
    expected
        Threshold that everybody expects before the first is published; may vary by replicate.
    """

    rate: PositiveShare
    expected: Real

    @cached_property
    def _rate(self) -> Array:
        return np.asarray(self.rate, dtype=np.float64)[..., None]

    def start(self, replicates: int = 1) -> State:
        """Return `expected` for every group in every replicate."""
        expected = np.asarray(self.expected, dtype=np.float64)[..., None]
        return np.broadcast_to(expected, (replicates, self.group_count)).copy()

    def update(self, state: State, counts: Counts, thresholds: Array) -> State:
        """Return the beliefs after a batch decided by `thresholds`; NaN stands for none that could be heard of."""
        learns = (counts.people > 0) & ~np.isnan(thresholds)
        return np.where(learns, (1.0 - self._rate) * state + self._rate * thresholds, state)  # exact if the rate is 1

    def steady_state(self, thresholds: Array) -> State:
        """Return the thresholds: in the end people believe what is done."""
        return np.array(thresholds, dtype=np.float64)

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart."""
        return slowest_approach(self._rate, 0.0)
