r"""Exact tests of a straight line in acceptance rates: one rate, or two of different people.

A constraint on decisions is a set of lines :math:`a p - b q \le limit` (:mod:`fairgate.constraints.pieces`). Each test
here has the null hypothesis that the line is broken, and its p-value is at least the probability, under any rates that
break the line, of data that speak for it as strongly as those seen. That holds for any number of people.

* One rate: the binomial tail at the limit (Clopper and Pearson).
* Two rates: the statistic is :math:`d = a x / n - b y / m`, and the p-value the largest :math:`P(D \le d)` on the
  boundary :math:`a p - b q = limit`, over the rates in an interval that holds the true ones with probability
  1 − γ, plus γ [1]_. The largest is looked for on a grid of :data:`NUISANCE` rates.
  Where there are many people, the theorem of Berry and Esseen bounds that probability in closed form [2]_, so that
  the sum over all outcomes is only worked out near the border.

References
----------
.. [1] R. L. Berger, D. D. Boos. P values maximized over a confidence set for the nuisance parameter. Journal of the
   American Statistical Association, 1994.
.. [2] I. G. Shevtsova. An improvement of convergence rate estimates in the Lyapunov theorem. Doklady Mathematics, 2010.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, betaincinv, gammaln, ndtr, xlog1py, xlogy

from fairgate.settings import Array

NUISANCE = 25
"""Rates on the boundary at which the probability of two rates is worked out."""

GAMMA = 1e-5
"""Probability that the interval of the rates on the boundary may miss."""

BERRY_ESSEEN = 0.56
"""Constant of the theorem for sums of independent terms that are not alike [2]_."""

REACH = 7.0
"""Standard deviations of outcomes that are summed; beyond lie fewer than one in 10¹¹."""


class Line(NamedTuple):
    """The requirement a · p − b · q ≤ limit; `plus` and `minus` say whose rates p and q are, None if there is none."""

    plus: int | None
    minus: int | None
    a: float
    b: float
    limit: float

    @property
    def vacuous(self) -> bool:
        """Whether any rates at all meet it."""
        return self.a <= self.limit


def one_rate(hits: ArrayLike, people: float, limit: float, *, most: bool) -> Array:
    """Return the p-value for a rate that is at `most` the limit, or at least, after so many hits.

    >>> one_rate([30, 40], 100, 0.4, most=True).round(4)
    array([0.0248, 0.5433])
    >>> one_rate([50, 0], 100, 0.4, most=False).round(4)
    array([0.0271, 1.    ])
    """
    found = np.asarray(hits, dtype=np.float64)
    if not most:
        found, limit = people - found, 1.0 - limit
    if people <= 0 or limit < 0.0:
        return np.ones(found.shape)
    return np.asarray(bdtr(np.rint(found), round(people), min(limit, 1.0)))


class Ends(NamedTuple):
    """Hits (K,) of a number of people, and the ends of an interval of their rate, see :func:`rate_ends`."""

    hits: Array
    people: float
    low: Array
    high: Array


def rate_ends(hits: ArrayLike, people: float) -> Ends:
    """Return Clopper and Pearson's interval of a rate, of which either end misses with a quarter of :data:`GAMMA`."""
    found, each = np.rint(np.asarray(hits, dtype=np.float64)), GAMMA / 4.0
    low = betaincinv(np.maximum(found, 1.0), people - np.minimum(found, people) + 1.0, each)
    high = betaincinv(found + 1.0, np.maximum(people - found, 1.0), 1.0 - each)
    return Ends(found, people, np.where(found > 0, low, 0.0), np.where(found < people, high, 1.0))


class Pair(NamedTuple):
    """A line in two rates and what was counted of either, at K thresholds."""

    line: Line
    first: Ends
    second: Ends

    @property
    def distance(self) -> Array:
        """How far the line is from being broken on these people; negative if it is kept, (K,)."""
        one, other = self.first.hits / self.first.people, self.second.hits / self.second.people
        return np.asarray(self.line.a * one - self.line.b * other - self.line.limit)

    @property
    def boundary(self) -> tuple[Array, Array]:
        """Ends of the interval of q on the boundary, (K,); empty if the first is larger.

        Rates (p, q) beyond the boundary make D ≤ d less likely than a point of it with the same p, or the same q. So
        the one of which more people tell is kept, in its interval, and the other can only be shifted to one side.
        """
        line, (_, _, p_low, p_high), (_, _, q_low, q_high) = self.line, self.first, self.second
        low, high = ((line.a * p - line.limit) / line.b for p in (p_low, p_high))
        if self.first.people > self.second.people:
            low, high = np.maximum(low, q_low), high
        else:
            low, high = q_low, np.minimum(high, q_high)
        return np.clip(low, 0.0, None), np.minimum(high, min((line.a - line.limit) / line.b, 1.0))

    def bound(self) -> Array:
        """Bound the p-values in closed form, (K,)."""
        low, high = self.boundary
        found = berry_esseen(self.distance, self.first.people, self.second.people, self.line, low, high)
        return np.where(self.distance < 0.0, np.minimum(np.where(low > high, 0.0, found) + GAMMA, 1.0), 1.0)

    def shown(self, k: int, level: float) -> bool:
        """Say whether the p-value of one threshold is at most the level, by sums over all outcomes."""
        distance = float(self.distance[k])
        low, high = (float(end[k]) for end in self.boundary)
        if distance >= 0.0 or low > high:
            return distance < 0.0
        rates = np.linspace(low, high, NUISANCE)
        tried = (rates[NUISANCE // 2 : NUISANCE // 2 + 1], rates)  # one rate is mostly enough to say no
        people = (self.first.people, self.second.people)
        return all(tail(distance, *people, self.line, each).max() + GAMMA <= level for each in tried)


def _boundary(line: Line, q: Array) -> Array:
    """Return the rate p on the boundary beside q."""
    return np.clip((line.limit + line.b * q) / line.a, 0.0, 1.0)


def berry_esseen(distance: Array, n: float, m: float, line: Line, low: Array, high: Array) -> Array:
    """Bound P(D ≤ d) for all q between `low` and `high`: the variance is concave in q, so its ends are known."""
    first, second = line.a**2 / n, line.b**2 / m
    ratio = line.b / line.a
    top = (first * ratio * (1.0 - 2.0 * line.limit / line.a) + second) / (2.0 * (first * ratio**2 + second))
    spreads, plain = [], []
    for q in (low, high, np.clip(top, low, np.maximum(low, high))):
        p = _boundary(line, q)
        plain.append(np.minimum(p * (1.0 - p), q * (1.0 - q)))
        spreads.append(first * p * (1.0 - p) + second * q * (1.0 - q))
    largest, smallest = np.maximum.reduce(spreads), np.maximum(np.minimum(spreads[0], spreads[1]), 0.0)
    third = max(line.a / n, line.b / m) * (1.0 - 2.0 * np.minimum(plain[0], plain[1]))
    with np.errstate(divide="ignore"):
        bound = ndtr(distance / np.sqrt(np.maximum(largest, 1e-300))) + BERRY_ESSEEN * third / np.sqrt(smallest)
    return np.asarray(np.where(distance < 0.0, bound, 1.0))


def tail(distance: float, n: float, m: float, line: Line, q: Array) -> Array:
    """Return P(a X / n − b Y / m ≤ limit + distance) at rates on the boundary, (N,) as `q`: the sum over X."""
    n, m = round(n), round(m)
    x, chance = _outcomes(n, _boundary(line, q))
    least = np.ceil((line.a * x / n - line.limit - distance) * m / line.b - 1e-9)
    y, other = _outcomes(m, q)
    above = np.concatenate((other[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((len(q), 1))), axis=1)  # P(Y ≥ y)
    place = np.clip(least - y[:, :1], 0, y.shape[1]).astype(np.int64)
    return np.asarray((chance * np.take_along_axis(above, place, axis=1)).sum(axis=1))


def _outcomes(trials: int, rates: Array) -> tuple[Array, Array]:
    """Return outcomes near each mean and their probabilities, (N, M)."""
    reach = np.sqrt(trials * rates * (1.0 - rates)).max() * REACH + REACH
    width = int(min(2.0 * reach + 1.0, trials + 1.0))
    first = np.clip(np.floor(trials * rates - reach), 0, trials + 1 - width)
    x = first[:, None] + np.arange(width)
    chance = gammaln(trials + 1.0) - gammaln(x + 1.0) - gammaln(trials - x + 1.0)
    return x, np.exp(chance + xlogy(x, rates[:, None]) + xlog1py(trials - x, -rates[:, None]))
