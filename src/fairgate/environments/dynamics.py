"""How states move: the few rules that several environments share."""

from __future__ import annotations

import numpy as np

from fairgate.counts import Counts
from fairgate.settings import Array


def approach(state: Array, target: Array, rate: Array) -> Array:
    """Move `state` the share `rate` of the way to `target`; where that is NaN, nobody came and nothing moves.

    >>> approach(np.array([1.0, 1.0]), np.array([2.0, np.nan]), np.array([0.5]))
    array([1.5, 1. ])
    """
    moved = state + rate * (target - state)
    return np.where(np.isnan(moved), state, moved)


def believe(beliefs: Array, counts: Counts, thresholds: Array, rate: Array) -> Array:
    """Move the thresholds that groups believe in towards those that are published.

    A group with nobody in the batch learns nothing, nor does anybody of a threshold that is not published (NaN).
    """
    learns = (counts.people > 0) & ~np.isnan(thresholds)
    return np.where(learns, (1.0 - rate) * beliefs + rate * thresholds, beliefs)  # exact if the rate is 1


def slowest_approach(rate: Array, feedback: float) -> float:
    """Largest factor by which x ← x + rate · (f(x) − x) keeps two states apart, if f's slope is within ± `feedback`."""
    slow, fast = float(np.min(rate)), float(np.max(rate))
    return max(1.0 - slow * (1.0 - feedback), abs(1.0 - fast * (1.0 + feedback)))
