"""Intervals for one look at a table: rates, gaps between groups, rewards.

They hold with the stated probability for one threshold chosen beforehand; ``fairgate.confidence`` has bounds for
learners that look again and again.

References
----------
.. [1] E. B. Wilson. Probable inference, the law of succession, and statistical inference. Journal of the American
   Statistical Association, 1927.
.. [2] R. G. Newcombe. Interval estimation for the difference between independent proportions: comparison of eleven
   methods. Statistics in Medicine, 1998.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from fairgate.settings import Array

LEVEL = 0.95
"""Probability the intervals are meant to hold the truth with."""


def quantile_of(level: float = LEVEL) -> float:
    """Return how many standard errors an interval reaches to either side."""
    return float(ndtri(0.5 + level / 2.0))


def wilson(successes: ArrayLike, trials: ArrayLike, level: float = LEVEL) -> tuple[Array, Array]:
    """Return Wilson's interval of a rate [1]_; with no trials, 0 and 1.

    >>> low, high = wilson([0, 30], [10, 100])
    >>> low.round(3), high.round(3)
    (array([0.   , 0.219]), array([0.278, 0.396]))
    """
    hits, tries = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    z = quantile_of(level)
    some = np.maximum(tries, 1.0)
    share = hits / some
    centre = (share + z**2 / (2.0 * some)) / (1.0 + z**2 / some)
    reach = z / (1.0 + z**2 / some) * np.sqrt(share * (1.0 - share) / some + z**2 / (4.0 * some**2))
    low = np.where(hits <= 0.0, 0.0, np.maximum(centre - reach, 0.0))
    high = np.where(hits >= tries, 1.0, np.minimum(centre + reach, 1.0))
    return np.where(tries > 0, low, 0.0), np.where(tries > 0, high, 1.0)


def gap_interval(accepted: ArrayLike, people: ArrayLike, level: float = LEVEL) -> tuple[Array, Array]:
    r"""Return an interval of the gap, largest minus smallest acceptance rate, from counts (…, groups).

    For two groups it is Newcombe's interval [2]_ of the *signed* difference, made of Wilson's for each rate,

    .. math:: d - \sqrt{(p_0 - l_0)^2 + (u_1 - p_1)^2} \le p_0 - p_1 \le d + \sqrt{(u_0 - p_0)^2 + (p_1 - l_1)^2},

    folded at 0. The sign is what keeps it honest: resampling the gap itself never sees a gap of 0. Among more
    groups, every pair has an interval at a level that makes all of them hold together.

    >>> low, high = gap_interval([300, 310], [500, 500])
    >>> low.round(3), high.round(3)
    (np.float64(0.0), np.float64(0.08))
    """
    taken, came = np.asarray(accepted, dtype=np.float64), np.asarray(people, dtype=np.float64)
    pairs = list(combinations(range(came.shape[-1]), 2))
    if not pairs:
        return np.zeros(taken.shape[:-1]), np.zeros(taken.shape[:-1])
    rate = taken / np.maximum(came, 1.0)
    low, high = wilson(taken, came, 1.0 - (1.0 - level) / len(pairs))
    ends = []
    for a, b in pairs:
        difference = rate[..., a] - rate[..., b]
        least = difference - np.hypot(rate[..., a] - low[..., a], high[..., b] - rate[..., b])
        most = difference + np.hypot(high[..., a] - rate[..., a], rate[..., b] - low[..., b])
        ends.append((np.maximum(np.maximum(least, -most), 0.0), np.maximum(-least, most)))
    lowest, highest = (np.stack(end).max(axis=0) for end in zip(*ends, strict=True))
    return lowest, np.minimum(highest, 1.0)
