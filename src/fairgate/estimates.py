"""Estimate: a figure and what is known of its uncertainty, for one look at a sample whose size was fixed beforehand.

References
----------
.. [1] E. B. Wilson. Probable inference, the law of succession, and statistical inference. Journal of the American
   Statistical Association, 1927.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from fairgate.settings import Array

LEVEL = 0.95
"""Probability the intervals are meant to hold the truth with."""


class Estimate(NamedTuple):
    """A figure, the ends of its 95% interval, its standard deviation and the number of seeds; NaN or None if unknown.

    >>> print(Estimate.of(np.array([0.1, 0.2, 0.6])))
    0.3000 ± 0.2646
    >>> print(Estimate(0.3, 0.1, 0.5))
    0.3000 [0.1000, 0.5000]
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    sd: float = math.nan
    seeds: int | None = None

    @classmethod
    def of(cls, values: Array) -> Estimate:
        """Summarise one value per seed: mean, sd (n − 1) and the 95% t-interval of the mean; one seed has neither."""
        count = len(values)
        mean = float(np.mean(values))
        if count < 2:
            return cls(mean, seeds=count)
        sd = float(np.std(values, ddof=1))
        half = float(half_width(sd, count))
        return cls(mean, mean - half, mean + half, sd, count)

    @property
    def mean(self) -> float:
        """The value, by its name where it is a mean over seeds."""
        return self.value

    def text(self, digits: int) -> str:
        """Write value ± sd, or value [low, high] where there is an interval but no sd, or the value alone."""
        if not math.isnan(self.sd):
            return f"{self.value:.{digits}f} ± {self.sd:.{digits}f}"
        if not math.isnan(self.low + self.high):
            return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"
        return f"{self.value:.{digits}f}"

    def __str__(self) -> str:
        return self.text(4)

    def known(self) -> dict[str, float]:
        """Return what is known, for JSON."""
        found = self._asdict().items()
        return {name: value for name, value in found if name == "value" or not (value is None or math.isnan(value))}


def half_width(sd: ArrayLike, count: int) -> Array:
    """Return half the width of the 95% t-interval of a mean, from the sd (n − 1) of `count` values; NaN of one value.

    >>> half_width([1.0, 2.0], 9).round(3)
    array([0.769, 1.537])
    """
    if count < 2:
        return np.full(np.shape(sd), np.nan)
    return np.asarray(stdtrit(count - 1, 0.975) * np.asarray(sd) / math.sqrt(count))


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
