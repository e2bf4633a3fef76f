"""Statistics over runs × tasks: interquartile means, stratified bootstrap, probability of improvement, tests.

A matrix of scores has one row per run (a seed) and one column per task. Runs of two learners in the same row met the
same nature, so comparisons resample and test them as pairs. Lower scores are better.

References
----------
Agarwal, Schwarzer, Castro, Courville and Bellemare (2021), "Deep reinforcement learning at the edge of the
statistical precipice", NeurIPS 34. Fisher (1935), "The design of experiments", section 21. Holm (1979), "A simple
sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 65-70.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from fairgate.errors import InputError
from fairgate.estimates import Estimate
from fairgate.settings import Array, as_floats, whole_number

RESAMPLES = 2000
"""Bootstrap samples of an interval."""

EXACT = 16
"""Runs up to which all ways to flip signs are tried, 2 to the power of this."""

FLIPS = 10_000
"""Ways to flip signs that are drawn for more runs."""

CHUNK = 2_000_000
"""Numbers resampled at a time, so that memory stays small."""


def iqm(scores: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the interquartile mean: the mean of the middle half of all scores, runs and tasks taken together.

    As many scores as fit into a quarter are cut at either end (Agarwal et al. 2021): less swayed by outliers than the
    mean, less wasteful than the median. `axis` says which axes to take together, by default all.

    >>> float(iqm([[1.0, 2.0], [3.0, 100.0]]))
    2.5
    """
    values = np.asarray(scores, dtype=np.float64)
    axes = tuple(range(values.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    values = np.moveaxis(values, axes, range(-len(axes), 0))
    flat = values.reshape(*values.shape[: values.ndim - len(axes)], -1)
    count = flat.shape[-1]
    cut = count // 4
    if cut:
        flat = np.sort(flat, axis=-1)[..., cut : count - cut]
    return np.asarray(flat.mean(axis=-1))


def overall_iqm(scores: Array) -> Array:
    """Return the interquartile mean of each matrix (…, runs, tasks): the statistic to give to the bootstrap."""
    return iqm(scores, axis=(-2, -1))


def stratified_bootstrap(
    statistic: Callable[..., Array],
    *matrices: ArrayLike,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Estimate:
    """Estimate a statistic of runs × tasks with a percentile interval from runs resampled within each task.

    Parameters
    ----------
    statistic
        Takes as many matrices (…, runs, tasks) as are given, and returns (…).
    matrices
        Scores, (runs, tasks) each. Several are resampled together: row by row they are pairs.
    level
        Probability that the interval is meant to hold the truth with.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal([1.0, 2.0, 3.0], size=(50, 3))
    >>> found = stratified_bootstrap(overall_iqm, scores, rng=np.random.default_rng(1))
    >>> found.low < 2.0 < found.high
    True
    """
    given = _matrices(*matrices)
    resamples = whole_number("resamples", resamples, 1)
    runs, tasks = given[0].shape
    columns = np.arange(tasks)
    at_once = max(1, CHUNK // (runs * tasks))
    found = []
    for low in range(0, resamples, at_once):
        rows = rng.integers(runs, size=(min(at_once, resamples - low), runs, tasks))
        found.append(statistic(*(matrix[rows, columns] for matrix in given)))
    return _interval(statistic(*given), np.concatenate(found), level)


def difference(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, resamples: int = RESAMPLES, level: float = 0.95
) -> Estimate:
    """Estimate by how much the interquartile mean of `x` lies above that of `y`, with a paired bootstrap interval.

    >>> y = np.random.default_rng(0).normal(size=(40, 2))
    >>> print(difference(y - 0.5, y, rng=np.random.default_rng(1)))
    -0.5000 [-0.5000, -0.5000]
    """
    return stratified_bootstrap(
        lambda a, b: overall_iqm(a) - overall_iqm(b), x, y, rng=rng, resamples=resamples, level=level
    )


def probability_of_improvement(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, resamples: int = RESAMPLES, level: float = 0.95
) -> Estimate:
    r"""Estimate how likely a run of `x` beats one of `y` (is lower), on a task taken at random, with an interval.

    .. math:: \frac1M \sum_{m=1}^M \Big( P(X_m < Y_m) + \tfrac12 P(X_m = Y_m) \Big)

    Agarwal et al. 2021; each run of `x` is compared with each run of `y` on the same task. One half means no
    difference. The interval resamples the runs of a task, those of `x` and `y` together.

    >>> x = np.array([[1.0, 5.0], [2.0, 5.0]])
    >>> probability_of_improvement(x, x + [[2.0, 0.0]], rng=np.random.default_rng(0)).value
    0.75
    """
    wins = _wins(x, y)
    resamples = whole_number("resamples", resamples, 1)
    tasks, runs, _ = wins.shape
    sampled = np.zeros(resamples)
    offsets = runs * np.arange(resamples)[:, None]
    for each in wins:
        drawn = rng.integers(runs, size=(resamples, runs)) + offsets
        weights = np.bincount(drawn.ravel(), minlength=resamples * runs).reshape(resamples, runs) / runs
        sampled += ((weights @ each) * weights).sum(axis=1) / tasks
    return _interval(wins.mean(), sampled, level)


def improvement(x: ArrayLike, y: ArrayLike) -> float:
    """Return the estimate of :func:`probability_of_improvement` alone, without its interval.

    >>> improvement([[1.0], [2.0]], [[1.5], [3.0]])
    0.75
    """
    return float(_wins(x, y).mean())


def _wins(x: ArrayLike, y: ArrayLike) -> Array:
    """For every task and pair of runs: 1 if that of `x` is lower, one half if they are equal, (tasks, runs, runs)."""
    first, second = (matrix.T for matrix in _matrices(x, y))
    ours, theirs = first[:, :, None], second[:, None, :]
    return np.asarray((ours < theirs) + 0.5 * (ours == theirs))


def paired_test(x: ArrayLike, y: ArrayLike) -> Array:
    """Test on each task whether `x` is lower than `y`, run by run: one-sided p-values, (tasks,).

    Wilcoxon's signed-rank test on the differences of runs that met the same nature. Runs without a difference are
    left out; where there is none at all p is 1.

    >>> y = np.arange(20.0)[:, None].repeat(3, axis=1)
    >>> paired_test(y + [[-1.0, 0.0, 1.0]], y).round(3)
    array([0., 1., 1.])
    """
    from scipy.stats import wilcoxon

    first, second = _matrices(x, y)
    p_values = np.ones(first.shape[1])
    for task, gap in enumerate((first - second).T):
        gap = gap[gap != 0.0]
        if len(gap):
            p_values[task] = wilcoxon(gap, alternative="less").pvalue
    return p_values


def sign_flip_test(differences: ArrayLike, *, rng: np.random.Generator, flips: int = FLIPS) -> Array:
    r"""Test two-sided whether the mean of paired differences (runs, tasks) is other than 0: p-values, (tasks,).

    If it made no difference which of two is which, every difference could as well have the other sign. So p is the
    share of sign flips whose mean is at least as far from 0 as the one there is (Fisher 1935): all of them for up to
    16 runs, which is exact, so p is a multiple of :math:`2^{1 - runs}`; else `flips` drawn at random, with that there
    is counted among them, which keeps the level. Runs need not be normal, but their differences symmetric about 0.

    >>> sign_flip_test([[1.0], [2.0], [3.0], [-0.5]], rng=np.random.default_rng(0))
    array([0.25])
    """
    (given,) = _matrices(differences)
    runs = len(given)
    there = np.abs(given.sum(axis=0))
    near = there * (1.0 - 1e-12)  # sums in another order are equal but for rounding
    if runs <= EXACT:
        ways = np.arange(2 ** (runs - 1))[:, None] >> np.arange(runs) & 1  # a flip of all signs changes nothing
        return np.asarray((np.abs((1.0 - 2.0 * ways) @ given) >= near).mean(axis=0))
    flips = whole_number("flips", flips, 1)
    at_once, reached = max(1, CHUNK // runs), np.ones_like(there)
    for low in range(0, flips, at_once):
        signs = 1.0 - 2.0 * rng.integers(2, size=(min(at_once, flips - low), runs))
        reached += (np.abs(signs @ given) >= near).sum(axis=0)
    return np.asarray(reached / (flips + 1))


def paired_t_test(differences: ArrayLike) -> Array:
    """Return the two-sided p-values that paired differences (…, seeds), at least two, have mean 0, by Student's t-test.

    Differences that are all the same have the p-value of all signs being alike by chance, 2 / 2ⁿ of n seeds, as their
    spread says nothing; or 1 if all are 0.

    >>> paired_t_test([[0.1, 0.2, 0.3, 0.1], [0.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.1, 0.1]]).round(3)
    array([0.035, 1.   , 0.125])
    """
    values = np.asarray(differences, dtype=np.float64)
    seeds = values.shape[-1]
    mean, error = values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(seeds)
    spread = np.ptp(values, axis=-1) > 0.0  # rounding may leave some error where all are the same
    away = np.divide(np.abs(mean), error, out=np.zeros(mean.shape), where=spread)
    alike = np.where(mean == 0.0, 1.0, 2.0 ** (1 - seeds))
    return np.where(spread, 2.0 * stdtr(seeds - 1, -away), alike)


def holm(p_values: ArrayLike) -> Array:
    r"""Correct p-values for having made several tests, so that any false alarm at all stays as rare as promised.

    .. math:: \tilde p_{(i)} = \min\Big(1, \max_{j \le i} (m - j + 1)\, p_{(j)}\Big)

    Holm 1979: rejecting where the corrected value is at most 0.05 makes a false rejection, of any of them, at most
    5% likely, however the tests depend on each other.

    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError(f"p_values must be a list of numbers in [0, 1], got {p_values!r}")
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def _matrices(*matrices: ArrayLike) -> list[NDArray[np.float64]]:
    found = [as_floats("scores", matrix, ndim=2) for matrix in matrices]
    shapes = [matrix.shape for matrix in found]
    if len(set(shapes)) > 1:
        raise InputError(f"scores that are compared must have as many runs and tasks each, got shapes {shapes}")
    return found


def _interval(value: ArrayLike, sampled: Array, level: float) -> Estimate:
    if not 0.0 < level < 1.0:
        raise InputError(f"level must be in (0, 1), got {level!r}")
    low, high = np.quantile(sampled, [0.5 - level / 2, 0.5 + level / 2])
    return Estimate(float(np.asarray(value)), float(low), float(high))
