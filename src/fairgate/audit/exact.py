r"""Exact tests: whether decisions that are complete, and looked at once, break a constraint or meet it.

A residual is the largest of straight lines in acceptance rates (:mod:`fairgate.constraints.pieces`). For each line the
hypothesis is ``row @ rates <= limit``, and a small p-value says that it is wrong:

- **one rate**: the binomial distribution at the limit;
- **two rates p, q of different people**, :math:`a p - c q \le l`: an unconditional exact test [1]_. With the estimate
  w of a p − c q − l and its variance v at rates on the boundary that expect as many acceptances as there are, the
  p-value is

  .. math:: \gamma + \max_{(p, q) \in B,\ a p - c q \le l} \Pr_{p, q}(S \ge s), \qquad s = w / \sqrt v,

  where B is a box of exact intervals that misses the rates with probability at most γ, a fiftieth of the level [2]_.
  For every count of the first group, the outcomes with S ≥ s are all counts of the second up to the root of a quadratic
  inequality: one sum of binomial probabilities gives Pr. They are more likely the larger p and the smaller q, so the
  largest probability is that of rates on the boundary, or else of a corner of B [3]_. It is looked for at steps along
  the boundary, and at finer ones around the largest;
- **more**: the bounds of each rate, put together.

A residual is *broken* if any line is, by Bonferroni's correction. Two lines that are each other's mirror image, such as
p − q and q − p, have one statistic, the larger of both. The rates that meet both lie on either side of p = q. On the
side of the first line,

.. math:: \Pr(\max(S_1, S_2) \ge s) \le \max_{a p - c q \le l} \Pr(S_1 \ge s) + \max_{p \ge q} \Pr(S_2 \ge s),

and so on the other side. The p-value has the larger of the two sums: where the limit is some standard errors away from
p = q, nothing is lost against one line. A residual is *met* if every line is below its limit, each shown at the whole
level (an intersection-union test).

References
----------
.. [1] G. A. Barnard. Significance tests for 2 × 2 tables. Biometrika, 1947.
.. [2] R. L. Berger, D. D. Boos. P values maximized over a confidence set for the nuisance parameter. Journal of the
   American Statistical Association, 1994.
.. [3] J. Röhmel, U. Mansmann. Unconditional non-asymptotic one-sided tests for independent binomial proportions when
   the interest lies in showing non-inferiority and/or superiority. Biometrical Journal, 1999.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln, xlog1py, xlogy

from fairgate.confidence import clopper_pearson
from fairgate.constraints import Constraint
from fairgate.constraints.bounds import BROKEN, MET, UNDECIDED, RateBounds, residual_bounds
from fairgate.settings import Array

FAR = 40.0
"""Standard errors beyond which one result is as good as another."""

ROUNDING = 1e-12
"""Distance from a limit that may be rounding."""

SMALL = 0.001
"""P-values of less are not told apart."""

STEPS, FINER = 60, 12
"""Rates on a boundary that are tried first, and twice again around the best."""

SPARED = 0.02
"""Part of the level for the box of rates that are tried."""


@dataclass(frozen=True)
class OneLook:
    """What one look tells of a requirement: p-values of its being broken and met, each compared with the level."""

    broken: float
    met: float
    level: float
    exact: bool  # or by bounds of each rate

    @property
    def status(self) -> str:
        """The verdict."""
        return BROKEN if self.broken <= self.level else MET if self.met <= self.level else UNDECIDED


def judge_once(constraint: Constraint, hits: Array, people: Array, level: float) -> list[OneLook] | None:
    """Test each residual once, by the accepted among people of (1 + 3 G) populations; None if nothing can be told.

    >>> from fairgate.constraints import DisparateImpact
    >>> people = np.array([1000.0, 500.0, 500.0, 0.0, 0.0, 0.0, 0.0])
    >>> (found,) = judge_once(DisparateImpact(0.8), np.array([425.0, 250.0, 175.0, 0, 0, 0, 0]), people, 0.05)
    >>> found.status, round(found.broken, 4), found.met
    ('broken', 0.0386, 1.0)
    """
    pieces = constraint.pieces((len(people) - 1) // 3)
    if pieces is None:
        return _by_box(constraint, hits, people, level)
    found = []
    for rows, limit in pieces:
        lines = [Line(row, limit, hits, people) for row in rows]
        exact = all(line.exact for line in lines)
        found.append(OneLook(_broken(lines, level), _met(lines, level), level, exact))
    return found


def _by_box(constraint: Constraint, hits: Array, people: Array, level: float) -> list[OneLook] | None:
    """Test residuals that are no straight lines by bounds of all rates together."""
    rates = max(int((people > 0).sum()), 1)

    def bounds(at: float) -> tuple[Array, Array] | None:
        return residual_bounds(constraint, RateBounds(*clopper_pearson(hits, people, at / rates)))

    def shown(place: int, end: int) -> float:
        def shows(at: float) -> bool:
            known = bounds(at)
            return known is not None and bool(known[0][place] > 0.0 if end == 0 else known[1][place] <= 0.0)

        return _smallest(shows)

    if bounds(level) is None:
        return None
    return [OneLook(shown(place, 0), shown(place, 1), level, False) for place in range(len(constraint.names))]


class Line(NamedTuple):
    """The hypothesis ``row @ rates <= limit``, and the accepted among people of all populations."""

    row: Array
    limit: float
    hits: Array
    people: Array

    @property
    def used(self) -> list[int]:
        """The populations that it is about."""
        return np.flatnonzero(self.row).tolist()

    @property
    def against(self) -> Line:
        """The hypothesis that the row is at least the limit."""
        return self._replace(row=-self.row, limit=-self.limit)

    @property
    def exact(self) -> bool:
        """Whether there is an exact test of it: of one rate, or of the difference of two of different people."""
        groups, used = (len(self.row) - 1) // 3, self.used
        if len(used) != 2:
            return len(used) == 1
        apart = used[0] > groups or 0 < used[0] < used[1] <= groups  # of labels, or of groups, and not of everybody
        return apart and bool(np.prod(self.row[used]) < 0.0)

    def standing(self) -> float:
        """Return about how many standard errors the row is above the limit, to compare lines."""
        used = self.used
        came = self.people[used]
        rates = (self.hits[used] + 0.5) / (came + 1.0)
        spread = float((self.row[used] ** 2 * rates * (1.0 - rates) / (came + 1.0)).sum())
        return (float(self.row[used] @ rates) - self.limit) / math.sqrt(spread)

    @property
    def mirror(self) -> Line | None:
        """The same with both rates exchanged, if there is an exact test of two."""
        used, row = self.used, self.row.copy()
        row[used] = row[used[::-1]]
        return self._replace(row=row) if self.exact and len(used) == 2 else None

    def p_value(self, level: float) -> float:
        """Return the probability, at most, of as much above the limit as was found, if the row were not above it.

        It is compared with the level.
        """
        used = self.used
        if not used or not self.people[used].all():
            return 1.0
        if not self.exact:
            return _smallest(self.shows)
        if len(used) == 2:
            pair = _Pair.of(self)
            return min(1.0, SPARED * level + pair.tail(pair.standing(), (pair.a, pair.c, pair.limit), SPARED * level))
        hit, came, slope = self.hits[used[0]], self.people[used[0]], float(self.row[used[0]])
        rate = min(max(self.limit / slope, 0.0), 1.0)
        if slope < 0.0:
            return float(bdtr(hit, int(came), rate))
        return float(bdtrc(hit - 1.0, int(came), rate)) if hit else 1.0

    def shows(self, level: float) -> bool:
        """Whether bounds of each rate say that the row is above the limit, wrongly with at most this probability."""
        used = self.used
        low, high = clopper_pearson(self.hits[used], self.people[used], min(2.0 * level / len(used), 0.999))
        return bool(np.where(self.row[used] > 0.0, low, high) @ self.row[used] > self.limit)


def least_told(level: float) -> float:
    """Return the p-value below which none are told apart at a level."""
    return min(SMALL, level / 10.0)


def _broken(lines: list[Line], level: float) -> float:
    """Return the p-value of some line being above its limit: that of the line that seems to be, times their number."""
    there = {line.row.tobytes() for line in lines}
    twins = [each if (each := line.mirror) is not None and each.row.tobytes() in there else None for line in lines]
    several = sum(1.0 if twin is None else 0.5 for twin in twins)
    place = int(np.argmax([line.standing() for line in lines]))
    line, twin = lines[place], twins[place]
    found = line.p_value(level / several) if twin is None else _either(line, twin, level / several)
    return min(several * found, 1.0)


def _either(line: Line, twin: Line, level: float) -> float:
    """Return the p-value of a line or its mirror image being above its limit."""
    if not line.people[line.used].all():
        return 1.0
    pairs = _Pair.of(line), _Pair.of(twin)
    at, spared = max(pair.standing() for pair in pairs), SPARED * level
    near = [pair.tail(at, (pair.a, pair.c, pair.limit), spared) for pair in pairs]
    far = [pair.tail(at, (1.0, 1.0, 0.0), spared) for pair in pairs]
    return min(spared + max(near[0] + far[1], near[1] + far[0]), 1.0)


def _met(lines: list[Line], level: float) -> float:
    """Return the p-value of all lines being below their limits, that of the line that is least so.

    Lines of which bounds of each rate say as much need no test. It stops at a line that is not below its limit.
    """
    found = least_told(level)
    for place, line in enumerate(sorted((each.against for each in lines), key=Line.standing)):
        if place == 0 or not line.shows(found):
            found = max(found, line.p_value(level))
        if found > level:
            break
    return found


class _Pair(NamedTuple):
    """The hypothesis a p − c q ≤ limit about the rates p of n people, x accepted, and q of m others, y accepted."""

    a: float
    c: float
    limit: float
    x: float
    n: float
    y: float
    m: float

    @classmethod
    def of(cls, line: Line) -> Self:
        up, down = sorted(line.used, key=lambda place: -line.row[place])
        rates = (float(each) for place in (up, down) for each in (line.hits[place], line.people[place]))
        return cls(float(line.row[up]), -float(line.row[down]), line.limit, *rates)

    def standing(self) -> float:
        """Return the standard errors by which a p − c q is estimated to be above the limit; at most FAR."""
        w = self.a * self.x / self.n - self.c * self.y / self.m - self.limit
        if w <= ROUNDING:
            return 0.0 if w >= -ROUNDING else -1.0
        variance = float(self._variance(np.asarray(self.x), np.asarray(self.y)))
        return min(w / math.sqrt(variance), FAR) if variance > 0.0 else FAR

    def _variance(self, x: Array, y: Array) -> Array:
        """Return V, at rates on the boundary that expect x + y acceptances; these may be below 0 or above 1."""
        q = (x + y - self.n * self.limit / self.a) / (self.m + self.n * self.c / self.a)
        p = (self.limit + self.c * q) / self.a
        return np.asarray(self.a**2 * p * (1.0 - p) / self.n + self.c**2 * q * (1.0 - q) / self.m)

    def _last(self, x: Array, s: float) -> Array:
        """Return the largest y, a real number, that with each x in order is at least s standard errors from the limit.

        w² − s² V is a quadratic in y, and not above 0 where w = 0 unless V < 0 there.
        """
        top = (self.a * x / self.n - self.limit) * self.m / self.c  # where w = 0
        w, v = self.c / self.m, self._variance
        at, bend = v(x, top), v(x, top + 1.0) + v(x, top - 1.0)  # V(top + t) = at + rise t + (bend / 2 - at) t²
        rise = (v(x, top + 1.0) - v(x, top - 1.0)) / 2.0
        square, linear = w**2 - s**2 * (bend / 2.0 - at), -(s**2) * rise  # of t = y − top
        away = (linear + np.sqrt(np.maximum(linear**2 + 4.0 * square * s**2 * at, 0.0))) / (2.0 * square)
        away = np.where(away > 0.0, away, float(s > 0.0))  # where w and V are 0 at once, it is not
        return np.maximum.accumulate(np.where(at < 0.0, top, top - away))

    def tail(self, s: float, line: tuple[float, float, float], spared: float) -> float:
        """Return the largest probability of at least s standard errors at rates with a p − c q ≤ limit, given as line.

        Of these rates those are tried that exact intervals leave, which both hold but with the probability spared.
        """
        if s < 0.0:
            return 1.0
        low, high = clopper_pearson([self.x, self.y], [self.n, self.m], spared / 2.0)
        a, c, limit = line
        if a * high[0] - c * low[1] <= limit:
            return self._chance(s, high[0], low[1])
        first, last = max(low[1], (a * low[0] - limit) / c), min(high[1], (a * high[0] - limit) / c)
        if first > last:  # there are no such rates
            return 0.0
        best, tried = 0.0, np.linspace(first, last, STEPS)
        for _ in range(3):
            found = [self._chance(s, min(max((limit + c * q) / a, 0.0), 1.0), q) for q in tried.tolist()]
            place = int(np.argmax(found))
            best = max(best, found[place])
            tried = np.linspace(tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)], FINER)
        return best

    def _chance(self, s: float, p: float, q: float) -> float:
        """Return the probability of at least s standard errors at the rates p and q."""
        x, first = _binomial(self.n, p)
        y, second = _binomial(self.m, q)
        last = self._last(x, s)
        count = np.floor(last + 1e-7 * (1.0 + np.abs(last))) - y[0] + 1.0  # of y that are at least as far
        below = np.append(0.0, second.cumsum())
        return float(first @ below[np.clip(count, 0, len(second)).astype(np.int64)])


def _binomial(size: float, rate: float) -> tuple[Array, Array]:
    """Return the counts that are not all but impossible, and their probabilities."""
    reach = 8.0 * np.sqrt(size * rate * (1.0 - rate)) + 30.0
    counts = np.arange(max(np.floor(size * rate - reach), 0.0), min(np.ceil(size * rate + reach), size) + 1.0)
    ways = gammaln(size + 1.0) - gammaln(counts + 1.0) - gammaln(size - counts + 1.0)
    return counts, np.exp(ways + xlogy(counts, rate) + xlog1py(size - counts, -rate))


def _smallest(shows: Callable[[float], bool]) -> float:
    """Return the smallest level at which something is shown, to a tenth of a percent; 1 if at none of up to a half."""
    low, high = np.log(1e-12), np.log(0.5)
    if not shows(0.5):
        return 1.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if shows(float(np.exp(middle))) else (middle, high)
    return float(np.exp(high))
