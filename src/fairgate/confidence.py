"""Confidence: bounds on rates, gaps and rewards that hold at every round at once, from pooled counts and sums.

A learner looks at its bounds after every batch and chooses what to try next by them. Intervals for one look at a
sample whose size was fixed beforehand (Wilson's, the normal one) miss far too often then. The bounds here are
confidence sequences: with probability at least 1 − α they hold at all rounds together, however the learner chooses.

They hold for what stays the same: the outcomes of one arm have one and the same mean given the past. Counts that are
discounted or cut off at a window are accepted, and the bounds are then a guide and no guarantee.

References
----------
.. [1] H. Robbins. Statistical methods related to the law of the iterated logarithm. Annals of Mathematical
   Statistics, 1970.
.. [2] S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon. Time-uniform, nonparametric, nonasymptotic confidence
   sequences. Annals of Statistics, 2021.
.. [3] I. Waudby-Smith, A. Ramdas. Estimating means of bounded random variables by betting. Journal of the Royal
   Statistical Society B, 2024.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaln

from fairgate.arrays import namespace
from fairgate.counts import across_groups
from fairgate.errors import InputError
from fairgate.settings import Array

EDGE = 1e-8
"""Successes or failures below this count as none; discounting leaves such crumbs."""

LEAST = 1e-30
"""Trials that are divided by where there are none."""

FAR = 700.0
"""Logit beyond which a share is 0 or 1 to the last digit."""

STEPS = 7
"""Steps of Halley's method in compiled code, which takes as many whatever it finds: NumPy never needed more."""

MOST = 26
"""The last bet that compiled code looks at: enough for sums of squared deviations of up to 10¹⁴ squared ranges."""


def rate_bounds(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> tuple[Array, Array]:
    r"""Bound a rate after S successes in N trials, by the beta-binomial confidence sequence [1]_ [2]_.

    The bounds are the ends of

    .. math:: \Big\{p : \frac{B(S + 1/2,\ N - S + 1/2)}{B(1/2, 1/2)\ p^S (1 - p)^{N - S}} < 1/\alpha\Big\}.

    With the share h = S/N and its entropy H(h) this is KL(h, p) < c, where

    .. math:: c = \frac{\log(1/\alpha) + \log B(1/2, 1/2) - \log B(S + 1/2,\ N - S + 1/2)}{N} - H(h).

    In x = logit p, KL(h, p) = log(1 + eˣ) − hx − H(h) is convex, and Halley's method finds both ends in a few steps.

    `alpha` is the probability that the bounds ever miss. Shapes broadcast, and no trials give the bounds 0 and 1.

    >>> low, high = rate_bounds([0, 0, 30, 300], [0, 10, 100, 1000], alpha=0.05)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.   , 0.166, 0.249]), array([1.   , 0.377, 0.463, 0.355]))
    """
    xp, level = namespace(successes, trials, alpha), _level(alpha)
    hits, tries = xp.asarray(successes, dtype=float), xp.asarray(trials, dtype=float)
    if xp is np:
        _check_trials(hits, tries)
    hits, tries, level = xp.broadcast_arrays(xp.minimum(hits, tries), tries, level)
    some = xp.maximum(tries, LEAST)  # where there are no trials, the result is put in at the end
    share, rest = hits / some, (tries - hits) / some
    chances = _log_gamma(xp)
    surprise = xp.log(np.pi / level) - chances(hits + 0.5) - chances(tries - hits + 0.5) + chances(tries + 1.0)
    none, every = hits < EDGE, tries - hits < EDGE
    reach = surprise / some  # c + H(h)
    inside = ~(none | every)  # elsewhere the ends are known in closed form, and something harmless is solved
    share, rest, target = xp.where(inside, share, 0.5), xp.where(inside, rest, 0.5), xp.where(inside, reach, 1.0)
    away = xp.sqrt(2.0 * xp.maximum(target + share * xp.log(share) + rest * xp.log(rest), 1e-15) / (share * rest))
    centre, skew = xp.log(share / rest), xp.clip((rest - share) * away / 6.0, -4.0, 4.0)
    low = _solve(xp, share, target, centre - away * xp.exp(skew))
    high = _solve(xp, share, target, centre + away * xp.exp(-skew))
    low = xp.where(inside, low, xp.where(every, xp.exp(-reach), 0.0))
    high = xp.where(inside, high, xp.where(none, -xp.expm1(-reach), 1.0))
    return xp.where(tries > 0, low, 0.0), xp.where(tries > 0, high, 1.0)


def _check_trials(hits: Array, tries: Array) -> None:
    """Say so if there are more successes than trials."""
    right = (hits >= 0) & np.isfinite(tries) & (hits <= tries * (1 + 1e-9))
    if not right.all():
        place = np.flatnonzero(~right)[0]
        hit, tried = (np.broadcast_to(each, right.shape).flat[place] for each in (hits, tries))
        raise InputError(
            f"successes must be between 0 and trials, and trials finite, got {hit:g} of {tried:g} at position {place}"
        )


def _log_gamma(xp: Any) -> Any:
    """Return log Γ of a library."""
    if xp is np:
        return gammaln
    from jax.scipy.special import gammaln as of_jax

    return of_jax


def _solve(xp: Any, share: Array, reach: Array, x: Array) -> Array:
    """Solve log(1 + eˣ) − share · x = reach by Halley's method on x's side of logit(share), and return p."""
    x = xp.clip(x, -FAR, FAR)
    for _ in range(40 if xp is np else STEPS):
        odds = xp.exp(x)
        p = odds / (1.0 + odds)
        slope = p - share
        newton = (xp.log1p(odds) - share * x - reach) / slope
        before, x = x, xp.clip(x - newton / (1.0 - 0.5 * newton * p * (1.0 - p) / slope), -FAR, FAR)
        if xp is np and np.abs(x - before).max(initial=0.0) < 5e-3:  # each step cubes the error
            break
    found: Array = 1.0 / (1.0 + xp.exp(-x))
    return found


class Box(NamedTuple):
    """What is known of a policy's decisions: bounds of each group's acceptance rate (…, groups) and of everybody's."""

    rates_low: Array
    rates_high: Array
    overall_low: Array
    overall_high: Array


def box(accepted: ArrayLike, people: ArrayLike, alpha: ArrayLike) -> Box:
    """Bound the acceptance rates of all groups and of everybody, together, from pooled counts (…, groups).

    Each of the groups + 1 bounds is a :func:`rate_bounds` at alpha / (groups + 1). `alpha` may have the shape (…,).

    >>> known = box(accepted=[300, 450], people=[500, 500], alpha=0.05)
    >>> known.rates_low.round(2), known.rates_high.round(2)
    (array([0.51, 0.84]), array([0.68, 0.94]))
    >>> known.overall_low.round(2), known.overall_high.round(2)
    (np.float64(0.69), np.float64(0.8))
    """
    taken, came = _by_group(accepted, people)
    xp, each = namespace(taken, came), _level(alpha)[..., None] / (came.shape[-1] + 1)
    taken = xp.concatenate((taken, across_groups(np.add, taken)[..., None]), axis=-1)
    came = xp.concatenate((came, across_groups(np.add, came)[..., None]), axis=-1)
    low, high = rate_bounds(taken, came, each)
    return Box(low[..., :-1], high[..., :-1], low[..., -1], high[..., -1])


def gap_bounds(accepted: ArrayLike, people: ArrayLike, alpha: ArrayLike) -> tuple[Array, Array]:
    """Bound the gap, largest minus smallest acceptance rate, from pooled counts (…, groups).

    Each group's rate is bounded by :func:`rate_bounds` at alpha / groups, and :func:`gap_range` does the rest.

    >>> low, high = gap_bounds(accepted=[300, 450], people=[500, 500], alpha=0.05)
    >>> low.round(2), high.round(2)
    (np.float64(0.16), np.float64(0.43))
    """
    taken, came = _by_group(accepted, people)
    return gap_range(*rate_bounds(taken, came, _level(alpha)[..., None] / came.shape[-1]))


def gap_range(low: Array, high: Array) -> tuple[Array, Array]:
    r"""Return the smallest and the largest gap of rates between `low` and `high`, (…, groups).

    .. math:: \max\big(0, \max_a L_a - \min_b U_b\big) \le \max_g acc_g - \min_g acc_g \le \max_{a \ne b} U_a - L_b

    >>> low, high = gap_range(np.array([0.1, 0.5]), np.array([0.3, 0.9]))
    >>> low.round(1), high.round(1)
    (np.float64(0.2), np.float64(0.8))
    """
    apart = across_groups(np.maximum, low) - across_groups(np.minimum, high)
    return namespace(apart).maximum(apart, 0.0), largest_difference(high, low)


def largest_difference(first: Array, second: Array) -> Array:
    """Return the largest first[a] − second[b] over two different groups a and b, the last axis."""
    if first.shape[-1] < 2:
        raise InputError("a gap compares groups and needs at least 2, got 1 group")
    xp = namespace(first, second)
    smallest, next_smallest = xp.moveaxis(xp.partition(second, 1, axis=-1)[..., :2], -1, 0)
    of_another = xp.where(second == smallest[..., None], next_smallest[..., None], smallest[..., None])
    return across_groups(np.maximum, first - of_another)


class Sums(NamedTuple):
    """What :func:`mean_bounds` needs to know of all values so far; ``Sums(0.0, 0.0, 0.0)`` before the first.

    `spread` is the sum of squared deviations, each from the mean predicted before its batch; `people` are the values.
    """

    total: Array | float
    spread: Array | float
    people: Array | float


def add_batch(sums: Sums, total: ArrayLike, squares: ArrayLike, people: ArrayLike, guess: ArrayLike = 0.0) -> Sums:
    r"""Add a batch, given by its sum, its sum of squares and its size, to the sums so far.

    All values of the batch are compared with the mean predicted before it,

    .. math:: \hat x = \frac{\sum x + guess}{n + 1}, \qquad
              \sum (x - \hat x)^2 = \sum x^2 - 2 \hat x \sum x + n_{batch} \hat x^2.

    Predicting from earlier batches alone is what makes the bounds valid. `guess`, the prediction before the first
    batch, must lie in the range of the values and be chosen beforehand.

    For rewards 1, −c and 0 of `good`, `bad` and other people, `total` is good − c · bad and `squares` good + c² · bad.

    >>> one = add_batch(Sums(0.0, 0.0, 0.0), total=30.0, squares=50.0, people=100)
    >>> add_batch(one, total=20.0, squares=60.0, people=100)
    Sums(total=np.float64(50.0), spread=np.float64(106.94...), people=np.float64(200.0))
    """
    xp = namespace(total, squares, people, *sums)
    gained, squared, came = (xp.asarray(value, dtype=float) for value in (total, squares, people))
    predicted = (sums.total + xp.asarray(guess)) / (sums.people + 1.0)
    spread = xp.maximum(squared - 2.0 * predicted * gained + came * predicted**2, 0.0)  # but for rounding
    return Sums(sums.total + gained, sums.spread + spread, sums.people + came)


def mean_bounds(sums: Sums, low: ArrayLike, high: ArrayLike, alpha: ArrayLike) -> tuple[Array, Array]:
    r"""Bound the mean of values in [low, high] by an empirical Bernstein confidence sequence [2]_ [3]_.

    With the range c = high − low and V the `spread` of :class:`Sums`, for every λ in (0, 1/c)

    .. math:: \exp\Big(\lambda \sum (x - \mu) - \frac{-\log(1 - c\lambda) - c\lambda}{c^2} V\Big)

    is a supermartingale ([2]_, theorem 4). Values of λ a factor 2 apart, each with its part of alpha, bound the
    deviation by a straight line in V each, and the lowest line is taken:

    .. math:: |\bar x - \mu| \le \frac{c}{n} \min_k \frac{\log(2 / (\alpha w_k)) + (-\log(1 - l_k) - l_k) V / c^2}{l_k},
              \quad l_k = \frac{1}{1 + 2^k}, \quad w_k = \frac{2/3}{(|k - 3| + 1)(|k - 3| + 2)}.

    So the width falls as σ · sqrt(log log n / n). The weights favour some thousands of values, V/c² near 1000.
    If the mean changes from batch to batch, the average of the means of all values so far is bounded.

    `low` and `high` are the range of every single value, for rewards −c and 1; no values give them as bounds. `alpha`
    is the probability that the bounds ever miss. 12800 rewards 1, −1 or 0 with mean 0.1 and standard deviation 0.5:

    >>> sums = add_batch(Sums(0.0, 0.0, 0.0), total=1280.0, squares=3328.0, people=12800.0, guess=0.1)
    >>> lower, upper = mean_bounds(sums, low=-1.0, high=1.0, alpha=0.05)
    >>> lower.round(3), upper.round(3)
    (np.float64(0.086), np.float64(0.114))
    """
    xp = namespace(*sums, low, high, alpha)
    bottom, top, total, spread, count = (xp.asarray(value, dtype=float) for value in (low, high, *sums))
    if xp is np:
        _check_sums(sums, low, high)
    scale, some = top - bottom, xp.where(count > 0, count, 1.0)
    variance, cost = spread / scale**2, xp.log(2.0 / _level(alpha))
    last = 1 + int(np.ceil(0.5 * np.log2(1.0 + np.max(variance, initial=0.0)))) if xp is np else MOST
    reach = xp.full(np.broadcast_shapes(variance.shape, cost.shape), np.inf)
    for k in range(-2, last + 1):
        bet, away = 1.0 / (1.0 + 2.0**k), abs(k - 3)  # l_k, and how far from the favourite
        weight = (2.0 / 3.0) / ((away + 1.0) * (away + 2.0))
        line = (cost - np.log(weight)) / bet + ((-np.log1p(-bet) - bet) / bet) * variance
        reach = xp.minimum(reach, line)
    mean, width = xp.where(count > 0, total / some, 0.0), xp.where(count > 0, scale * reach / some, np.inf)
    return xp.clip(mean - width, bottom, top), xp.clip(mean + width, bottom, top)


def _check_sums(sums: Sums, low: ArrayLike, high: ArrayLike) -> None:
    """Say so if these are no sums of values in a range."""
    bottom, top, total, spread, count = (np.asarray(value, dtype=np.float64) for value in (low, high, *sums))
    if not ((bottom < top).all() and np.isfinite(top - bottom).all()):
        raise InputError(f"low must be below high, both finite, got low={low!r} and high={high!r}")
    if not ((spread >= 0).all() and (count >= 0).all() and np.isfinite(total + spread + count).all()):
        raise InputError(f"sums must be finite, spread and people at least 0, got {sums!r}")
    mean = total / np.where(count > 0, count, 1.0)
    slack = 1e-9 * (top - bottom)  # rounding of sums
    if not ((count == 0) | ((mean >= bottom - slack) & (mean <= top + slack))).all():
        raise InputError(f"sums must be of values between low={low!r} and high={high!r}, got {sums!r}")


def running_bounds(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> tuple[Array, Array]:
    """Bound the average rate so far after every batch (batches, …), whatever the rate does from batch to batch.

    :func:`rate_bounds` speaks of one rate that never changes. Here the rate may drift or jump: what is bounded after
    each batch is the average, over all trials so far, of the probability that each had of being a success. These are
    :func:`mean_bounds` of zeros and ones, and with ten thousand trials they are no wider.

    `alpha`, of the shape (…,), is the probability that any of the bounds ever misses.

    >>> low, high = running_bounds(successes=[3, 30, 300], trials=[10, 100, 1000], alpha=0.05)
    >>> low.round(2), high.round(2)
    (array([0.  , 0.09, 0.25]), array([1.  , 0.51, 0.35]))
    """
    hits, tries = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if hits.shape != tries.shape or hits.ndim < 1 or not ((hits >= 0) & (hits <= tries)).all():
        raise InputError(
            f"successes and trials must have the same shape (batches, …), successes from 0 to trials, got {hits.shape} "
            f"and {tries.shape}"
        )
    total, people = hits.cumsum(axis=0), tries.cumsum(axis=0)
    predicted = (total - hits + 0.5) / (people - tries + 1.0)  # before each batch, as in add_batch with the guess 0.5
    spread = (hits * (1.0 - 2.0 * predicted) + tries * predicted**2).cumsum(axis=0)
    return mean_bounds(Sums(total, spread, people), low=0.0, high=1.0, alpha=alpha)


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> tuple[Array, Array]:
    """Bound rates for one look at counts, each missed with probability at most `alpha`, exactly; 0 and 1 of no trials.

    >>> low, high = clopper_pearson([0, 3, 0], [10, 10, 0], alpha=0.05)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.067, 0.   ]), array([0.308, 0.652, 1.   ]))
    """
    hits, tries, level = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64), _level(alpha)
    some = np.maximum(tries, 1.0)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), some - hits + 1.0, level / 2.0), 0.0)
    high = np.where(hits < tries, betaincinv(hits + 1.0, np.maximum(some - hits, 1e-9), 1.0 - level / 2.0), 1.0)
    return np.where(tries > 0, low, 0.0), np.where(tries > 0, high, 1.0)


def _level(alpha: ArrayLike) -> Array:
    xp = namespace(alpha)
    level: Array = xp.asarray(alpha, dtype=float)
    if xp is np and not ((level > 0) & (level < 1)).all():
        raise InputError(f"alpha must be above 0 and below 1, got {alpha!r}")
    return level


def _by_group(accepted: ArrayLike, people: ArrayLike) -> tuple[Array, Array]:
    xp = namespace(accepted, people)
    taken, came = xp.asarray(accepted, dtype=float), xp.asarray(people, dtype=float)
    if taken.shape != came.shape or came.ndim < 1 or came.shape[-1] < 1:
        raise InputError(
            f"accepted and people must have the same shape (…, groups), got {taken.shape} and {came.shape}"
        )
    return taken, came
