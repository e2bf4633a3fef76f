"""Search: the best lottery of two thresholds, or the best threshold, that is safe for the people who come now."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.core.learners.components.uniform import PROBABILITIES
from fairgate.learners.mixture import MOVES
from fairgate.learners.statement import STRONG
from fairgate.learners.tracking.outlook import Mixed, Outlook
from fairgate.problem import best_feasible, is_feasible
from fairgate.settings import Array

STEPS = ((3, 0.05), (1, 0.05), (1, 0.02), (1, 0.005))
"""Thresholds, and weight, by which the search moves from the best lotteries: coarse to fine."""

PAIRS, WEIGHTS = MOVES[::3, :2].T, MOVES[:3, 2]
"""Moves of both thresholds, (2, 9), and of the weight: down, not at all, or up."""

INERTIA = 0.005
"""Reward per person for which a lottery far from the one in play is not worth moving people."""

ROOM = 0.002
"""By how much a lottery must be feasible beyond its margin: people move that much unseen, even where all is known.

A threshold cannot be moved by a little, and need not be.
"""

PAIRED = 10
"""So many thresholds, -inf and inf among them, are paired at the beginning of a search."""

PROBED = 12
"""So many higher thresholds, inf among them, are tried to look for labels of everybody."""

PROBES = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
"""And so many probabilities with which anybody is accepted."""

CACHE = 65536
"""Numbers worked on together: as many as fit in a processor's cache; changes no result."""


class Found(NamedTuple):
    """What a search found for R replicates."""

    lottery: Array  # lower and higher option, and the weight of the lower, (3, R)
    safe: NDArray[np.bool_]  # whether it is
    infeasible: NDArray[np.bool_]  # whether there is strong evidence that nothing looked at is feasible
    ratio: Array  # error of the largest residual in units of all rates' errors, (R,)


class Offers(NamedTuple):
    """Lotteries that could be played instead, to see how people answer."""

    lotteries: Array  # (3, R, C)
    price: Array  # what each earns less than what is in play, (R, C); infinite if it is not safe
    apart: Array  # how far its acceptance rate is from that of what is in play, (R, C)
    stake: Array  # what is in play earns so much more than the best uniform lottery that is safe, (R,)


def plain(thresholds: Array, options: int) -> Array:
    """Return thresholds, as places among the options, as lotteries that always use them: (3, …)."""
    return np.stack((thresholds, np.full_like(thresholds, options - 1.0), np.ones_like(thresholds)))


def highest(residuals: Array) -> Array:
    """Return the largest residual of (J, …), -1 if there is none."""
    return np.asarray(residuals.max(axis=0, initial=-1.0))


def look(outlook: Outlook, lotteries: Array, width: float) -> tuple[Array, Array, Array, Array]:
    """Return reward, upper bound and lower bound of the largest residual, (C, R), and :attr:`Found.ratio`, (C, R).

    Lotteries are (3, R, C), or (3, R, W, P): P pairs of options with W weights each.
    """

    def part(mixed: Mixed) -> tuple[Array, Array, Array, Array]:
        residuals, error = outlook.bounds(mixed, width)
        upper, lower = highest(residuals + error), highest(residuals - STRONG / width * error)
        return outlook.aim(mixed), upper, lower, in_units(upper - highest(residuals), mixed, width)

    reward, upper, lower, ratio = in_parts(part, outlook, lotteries, 2 * outlook.shares.shape[1])
    return reward.round(12), upper.round(12), lower, ratio  # of what differs by rounding alone, the first


def in_units(gone: Array, mixed: Mixed, width: float) -> Array:
    """Return :attr:`Found.ratio` of lotteries whose largest residual moves by so much at `width` errors, (C, R)."""
    rates = mixed.noise.T
    return np.where(rates > 0.0, gone / width / np.maximum(rates, 1e-12), 0.0)


def weigh(outlook: Outlook, lotteries: Array, width: float, hopeless: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return reward and upper bound as :func:`look` does, and note in `hopeless` (R,) where a lottery may be feasible.

    Where one has been found to be so already, what is hopeless needs no further look.
    """

    def part(mixed: Mixed) -> tuple[Array, Array]:
        residuals, error = outlook.bounds(mixed, width)
        if hopeless.any():
            lower = highest(residuals - STRONG / width * error)
            np.logical_and(hopeless, lower.min(axis=0) > 0.0, out=hopeless)
        return outlook.aim(mixed).round(12), highest(residuals + error).round(12)

    reward, upper = in_parts(part, outlook, lotteries, outlook.shares.shape[1])
    return reward, upper


def glance(outlook: Outlook, lotteries: Array, width: float, ratio: Array) -> tuple[Array, Array, Array]:
    """Return reward and bounds as :func:`look` does, with errors of residuals by a known `ratio` (R,): far faster."""

    def part(mixed: Mixed) -> tuple[Array, Array, Array]:
        residual, error = outlook.highest(mixed), mixed.noise.T * ratio
        return outlook.aim(mixed).round(12), (residual + width * error).round(12), residual - STRONG * error

    reward, upper, lower = in_parts(part, outlook, lotteries, 1)
    return reward, upper, lower


def in_parts(
    look_at: Callable[[Mixed], tuple[Array, ...]], outlook: Outlook, lotteries: Array, numbers: int
) -> list[Array]:
    """Look at lotteries in parts that fit in the cache, if so many `numbers` belong to each of a group: (C, R) each."""
    pairs, each = lotteries.shape[-1], lotteries[0, ..., 0].size * outlook.shares.shape[1] * numbers
    size = max(CACHE // each, 1)
    if size >= pairs:
        return list(look_at(outlook.mix(lotteries)))
    found = []
    for low in range(0, pairs, size):
        some = lotteries[..., low : low + size]
        found.append([each.T.reshape(some.shape[1:]) for each in look_at(outlook.mix(some))])
    joined = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
    return [each.reshape(len(each), -1).T for each in joined]


def upper_bound(outlook: Outlook, lottery: Array, width: float) -> Array:
    """Return the upper bound of the largest residual of one lottery each, (3, R): (R,)."""
    residuals, error = outlook.bounds(outlook.mix(lottery[..., None]), width)
    return np.asarray(highest(residuals + error)[0].round(12))


def best_threshold(outlook: Outlook, width: float, near: Array, reach: int) -> Found:
    """Return the best safe threshold, at most `reach` from those in play, `near` (R,), unless these are unsafe."""
    replicates, _, options = outlook.above.shape
    tried = np.broadcast_to(np.arange(1.0, options - 1.0), (replicates, options - 2))
    reward, upper, lower, ratio = look(outlook, plain(tried, options), width)
    every = np.arange(replicates)
    infeasible = lower.min(axis=0) > 0.0
    place = (near - 1.0).astype(np.int64)
    known = (np.abs(tried - near[:, None]) <= reach) | (upper[place, every] > 0.0)[:, None]
    best = best_feasible(reward.T, upper.T[None], known)
    safe = is_feasible(upper[None, best, every])
    return Found(plain(np.asarray(best + 1.0), options), safe, infeasible, ratio[best, every])


def best_lottery(outlook: Outlook, width: float, near: Array | None, ratio: Array) -> Found:
    """Return the best safe lottery, searched from the best of several families and from the one in play, `near`."""
    replicates, _, options = outlook.above.shape
    every = np.arange(replicates)
    infeasible, starts = best_of_families(outlook, width, ratio)
    if near is not None:
        starts.insert(0, near)
    for thresholds, share in STEPS:
        tried = moved(np.stack(starts, axis=-1), thresholds, share, options)
        found = weigh(outlook, tried.reshape(*tried.shape[:3], -1), width, infeasible)
        reward, upper = (by_start(each.T.reshape(tried.shape[1:])) for each in found)
        upper = upper + ROOM
        best = best_feasible(reward, upper[None])
        tried = by_start(tried)
        starts = list(tried[:, every[:, None], np.arange(len(starts)), best].transpose(2, 0, 1))
    close = best[:, 0]  # around what is in play, if anything is
    reward, upper = (each.reshape(replicates, -1) for each in (reward, upper))
    chosen = best_feasible(reward, upper[None])
    safe = is_feasible(upper[None, every, chosen])
    if near is not None:
        stay = is_feasible(upper[None, every, close]) & (reward[every, close] >= reward[every, chosen] - INERTIA)
        chosen = np.where(stay, close, chosen)
    lottery = tried.reshape(3, replicates, -1)[:, every, chosen]
    mixed = outlook.mix(lottery[..., None])
    residuals, error = outlook.bounds(mixed, width)
    gone = highest(residuals + error) - highest(residuals)
    return Found(lottery, safe, infeasible, in_units(gone, mixed, width)[0])


def cheapest_probe(outlook: Outlook, width: float, played: Array) -> tuple[Array, Array]:
    """Return the safe lottery that accepts anybody, whatever the score, at the least price per such person.

    The price is in reward, compared with what is `played`. Returned are the lottery, (3, R), and its price, (R,), which
    is infinite if none is safe.
    """
    replicates, _, options = outlook.above.shape
    higher = np.unique(np.linspace(1, options - 1, min(PROBED, options - 1)).round())
    pairs = np.stack([side.ravel() for side in np.meshgrid(0.0, higher, PROBES)])
    every_pair = np.broadcast_to(pairs[:, None], (3, replicates, pairs.shape[1]))
    tried = np.concatenate((every_pair, played[..., None]), axis=2)
    reward, upper = weigh(outlook, tried, width, np.zeros(replicates, dtype=bool))
    safe = upper[:-1] <= -ROOM
    price = np.maximum(reward[-1] - reward[:-1], 1e-6)
    best = np.where(safe, price / pairs[2][:, None], np.inf).argmin(axis=0)
    every = np.arange(replicates)
    return tried[:, every, best], np.where(safe[best, every], price[best, every], np.inf)


def best_uniform(outlook: Outlook, width: float) -> Array:
    """Return the reward of the best uniform lottery that is safe, (R,); -inf if none is."""
    replicates, _, options = outlook.above.shape
    tried = np.broadcast_to(uniform(options)[:, None], (3, replicates, len(PROBABILITIES)))
    mixed = outlook.mix(tried)
    residuals, error = outlook.bounds(mixed, width)
    safe = highest(residuals + error).round(12) <= 0.0
    return np.asarray(np.where(safe, outlook.reward(mixed), -np.inf).max(axis=0))


def uniform(options: int) -> Array:
    """Return uniform lotteries of several probabilities, (3, C)."""
    return np.stack(np.broadcast_arrays(0.0, options - 1.0, PROBABILITIES))


def offers_of(outlook: Outlook, width: float, played: Array, ratio: Array) -> Offers:
    """Return lotteries of other acceptance rates than what is `played`: uniform ones, and pairs of few options."""
    replicates, _, options = outlook.above.shape
    coarse = np.unique(np.linspace(0, options - 1, min(PAIRED, options)).round())
    low, high = (coarse[side] for side in np.triu_indices(len(coarse), 1))
    pairs = np.stack(np.broadcast_arrays(low, high, np.linspace(0.2, 1.0, 5)[:, None])).reshape(3, -1)
    tried = np.concatenate((uniform(options), pairs), axis=1)
    every = np.broadcast_to(tried[:, None], (3, replicates, tried.shape[1]))
    lotteries = np.concatenate((every, played[..., None]), axis=2)
    if outlook.needs_labels:  # errors of labels are not in proportion to those of rates
        reward, upper = weigh(outlook, lotteries, width, np.zeros(replicates, dtype=np.bool_))
    else:
        reward, upper, _ = glance(outlook, lotteries, width, np.maximum(ratio, 1.0))
    rates = (outlook.mix(lotteries).rates * outlook.shares[..., None]).sum(axis=1)
    price = np.where(upper[:-1] <= -ROOM, np.maximum(reward[-1] - reward[:-1], 0.0), np.inf).T
    stake = price[:, : len(PROBABILITIES)].min(axis=1)
    stake = np.where(np.isfinite(stake), stake, 0.0)
    return Offers(lotteries[..., :-1], np.maximum(price, 1e-6), np.abs(rates[:, :-1] - rates[:, -1:]), stake)


def best_of_families(outlook: Outlook, width: float, ratio: Array) -> tuple[NDArray[np.bool_], list[Array]]:
    """Return whether nothing in any family is feasible by strong evidence, (R,), and the best of each, (3, R) each."""
    replicates, _, options = outlook.above.shape
    infeasible, best = np.ones(replicates, dtype=bool), []
    for together in families(options):
        tried = np.concatenate(together, axis=-1)
        shape = (replicates, *tried.shape[1:])
        reward, upper, lower = glance(outlook, np.broadcast_to(tried[:, None], (3, *shape)), width, ratio)
        upper = upper + ROOM
        infeasible &= lower.min(axis=0) > 0.0
        reward, upper = (each.T.reshape(shape) for each in (reward, upper))
        for low, high in pairwise(accumulate((family.shape[-1] for family in together), initial=0)):
            gain, bound = (each[..., low:high].reshape(replicates, -1) for each in (reward, upper))
            best.append(tried[..., low:high].reshape(3, -1)[:, best_feasible(gain, bound[None])])
    return infeasible, best


def moved(starts: Array, thresholds: int, share: float, options: int) -> Array:
    """Return lotteries around `starts` (3, R, S): (3, R, W, S, P), of P pairs of options and W weights each."""
    low, high, weight = starts[:, :, None, :, None]
    low = (low + thresholds * PAIRS[0]).clip(0.0, options - 2.0)
    high = (high + thresholds * PAIRS[1]).clip(low + 1.0, options - 1.0)
    weight = (weight + share * WEIGHTS[:, None, None]).clip(0.0, 1.0)
    return np.stack(np.broadcast_arrays(low, high, weight))


def by_start(values: Array) -> Array:
    """Return what is known of lotteries (…, W, S, P) as (…, S, W · P)."""
    swapped = values.swapaxes(-3, -2)
    return swapped.reshape(*swapped.shape[:-2], -1)


@lru_cache(maxsize=16)
def families(options: int) -> list[list[Array]]:
    """Return lotteries to begin with, (3, W, P) each: neighbours, pairs of few options, and pairs with -inf or inf.

    Those with the same weights come together.
    """
    coarse = np.unique(np.linspace(0, options - 1, min(PAIRED, options)).round())
    inner = np.arange(1.0, options - 1.0, 1.0 if options < 50 else options // 25)
    neighbours = (np.arange(options - 1.0), np.arange(1.0, options))
    few = [coarse[side] for side in np.triu_indices(len(coarse), 1)]
    ends = np.concatenate((np.stack((0.0 * inner, inner)), np.stack((inner, 0.0 * inner + options - 1.0))), axis=1)
    tenths = np.linspace(0.1, 0.9, 9)[:, None]
    return [
        [np.stack(np.broadcast_arrays(*neighbours, np.array([[0.5], [1.0]])))],
        [np.stack(np.broadcast_arrays(*pairs, tenths)) for pairs in (few, ends)],
    ]
