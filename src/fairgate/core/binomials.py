"""Binomials: draw the cell counts of large batches, at a cost that does not grow with the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairgate.arrays import Array, has_64_bits, namespace
from fairgate.random import Draws, Purpose

SMALL = 9.973
"""Largest expected number of successes, or of failures if fewer, for which probabilities are summed one by one.

Neither this nor `HALF` is a round number, so that rounding rarely chooses between two ways to draw.
"""

HALF = 0.5 + 1e-6
"""Chance above which failures are drawn instead of successes."""

TRY = 1 << 20
"""Distance between the random words of successive rejection attempts; other draws use words below it."""


def draw_many(probabilities: Array, batch: int, draws: Draws) -> Array:
    """Draw the number of `batch` applicants in each cell, given cell probabilities that sum to 1.

    The cells are split into two parts, then each part into two, until every part is one cell. Each split is a binomial
    draw; together they give a multinomial distribution.
    """
    xp = namespace(probabilities)
    flat = xp.reshape(probabilities, (-1,))
    levels = (len(flat) - 1).bit_length()
    sums = [xp.concatenate((flat, xp.zeros(((1 << levels) - len(flat),), dtype=flat.dtype)))]
    for _ in range(levels):
        sums.append(sums[-1][0::2] + sums[-1][1::2])
    counts = xp.full((1,), float(batch), dtype=flat.dtype)
    for whole, parts in zip(sums[:0:-1], sums[-2::-1], strict=True):
        share = xp.clip(parts[0::2] / xp.where(whole > 0.0, whole, 1.0), 0.0, 1.0)
        share = xp.where(parts[1::2] > 0.0, share, 1.0)  # rounding never fills a cell of probability 0
        left = binomial(counts, share, draws, start=len(whole))
        counts = xp.reshape(xp.stack((left, counts - left), axis=-1), (-1,))
    return xp.reshape(counts[: len(flat)], probabilities.shape)


def binomial(trials: Array, chance: Array, draws: Draws, start: int = 0) -> Array:
    """Draw the number of successes for each pair of `trials` and `chance`, (N,).

    `start` separates the random numbers of several calls in one round: any two values must differ by at least N.
    """
    xp = namespace(chance)
    mirrored = chance > HALF
    rare = xp.where(mirrored, 1.0 - chance, chance)
    few = trials * rare <= SMALL
    low = _added_up(trials, xp.where(few, rare, 0.0), _uniform(draws, start, len(chance)))
    high = _rejected(xp.where(few, 1000.0, trials), xp.where(few, 0.5, rare), few, draws, start)
    found = xp.where(few, low, high)
    return xp.where(mirrored, trials - found, found)


def _added_up(trials: Array, chance: Array, luck: Array) -> Array:
    """Draw by inversion: sum the probabilities of 0, 1, 2 … successes until the sum exceeds a uniform number."""
    xp = namespace(chance)
    odds = chance / (1.0 - chance)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        left, each, count = state
        left, more = left - each, (left > each) & (each > 0.0)  # rounding may leave a rest at the end
        return xp.where(more, left, 0.0), each * xp.maximum(trials - count, 0.0) / (count + 1.0) * odds, count + more

    none = xp.exp(trials * xp.log1p(-chance))
    start = luck, none, xp.zeros_like(chance)
    return xp.minimum(_until(lambda state: (state[0] > 0.0).any(), step, start)[2], trials)


def _rejected(trials: Array, chance: Array, done: Array, draws: Draws, start: int) -> Array:
    """Draw by transformed rejection (algorithm BTRS [1]_), for chances of at most one half, where `done` is false.

    References
    ----------
    .. [1] W. Hörmann. The generation of binomial random variates. J. Statistical Computation and Simulation 46, 1993.
    """
    xp = namespace(chance)
    spread = xp.sqrt(trials * chance * (1.0 - chance))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    centre, peak = trials * chance + 0.5, 0.92 - 4.2 / b
    alpha, odds = (2.83 + 5.1 / b) * spread, chance / (1.0 - chance)
    log_odds = xp.log(odds)
    mode = xp.floor((trials + 1.0) * chance)
    at_mode = (
        (mode + 0.5) * xp.log((mode + 1.0) / (odds * (trials - mode + 1.0)))
        + (trials + 1.0) * xp.log(trials - mode + 1.0) + _tail(mode) + _tail(trials - mode)
    )  # fmt: skip

    def attempt(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        found, number, done = state
        place = (number + xp.uint32(1)) * xp.uint32(TRY) + xp.uint32(2 * start)
        luck = _uniform(draws, place, 2 * len(chance))
        u, v = luck[: len(chance)] - 0.5, luck[len(chance) :]
        edge = 0.5 - xp.abs(u)
        count = xp.floor((2.0 * a / edge + b) * u + centre)
        inside = (count >= 0.0) & (count <= trials)
        count = xp.clip(count, 0.0, trials)
        above, below = xp.log(trials - count + 1.0), xp.log(count + 1.0)
        bound = (
            at_mode - (trials + 1.0) * above + (count + 0.5) * (log_odds + above - below)
            - _tail(count) - _tail(trials - count)
        )  # fmt: skip
        accepted = inside & (xp.log(v * alpha / (a / (edge * edge) + b)) <= bound)
        accepted = accepted | ((edge >= 0.07) & (v <= peak))
        return xp.where(done, found, count), number + xp.uint32(1), done | accepted

    start_of_tries = xp.zeros_like(chance), xp.zeros((), dtype=xp.uint32), done
    return _until(lambda state: ~state[2].all(), attempt, start_of_tries)[0]


def _tail(count: Array) -> Array:
    """Return log k! minus Stirling's formula, accurate to 10⁻⁶, and to 3·10⁻⁴ at k = 0, which is a rare draw."""
    more = count + 1.0
    square = more * more
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / more


def _uniform(draws: Draws, start: Any, count: int) -> Array:
    """Return uniform numbers strictly between 0 and 1."""
    words = draws.words(Purpose.PEOPLE, count, start)
    xp = namespace(words)
    wide = has_64_bits(xp)
    found = (xp.astype(words, xp.float64 if wide else xp.float32) + 0.5) * 2.0**-32
    return found if wide else xp.minimum(found, 1.0 - 2.0**-24)


def _until(going: Callable[[Any], Array], step: Callable[[Any], Any], state: Any) -> Any:
    if namespace(*state) is np:
        while going(state):
            state = step(state)
        return state
    from jax.lax import while_loop

    return while_loop(going, step, state)
