"""Search: the best lottery of two thresholds, or the best threshold, that is safe for the people who come now."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.mixture import MOVES
from fairgate.learners.statement import STRONG
from fairgate.learners.tracking.outlook import Outlook
from fairgate.problem import best_feasible, is_feasible
from fairgate.settings import Array

STEPS = ((3, 0.05), (1, 0.05), (1, 0.02), (1, 0.005))
"""Thresholds, and weight, by which the search moves from the best lotteries: coarse to fine."""

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

CACHE = 16384
"""Lotteries × replicates × groups looked at together: as many as fit in a processor's cache; changes no result."""


class Found(NamedTuple):
    """What a search found for R replicates."""

    lottery: Array  # lower and higher option, and the weight of the lower, (3, R)
    safe: NDArray[np.bool_]  # whether it is
    infeasible: NDArray[np.bool_]  # whether there is strong evidence that nothing looked at is feasible
    ratio: Array  # error of the largest residual in units of all rates' errors, (R,)


def plain(thresholds: Array, options: int) -> Array:
    """Return thresholds, as places among the options, as lotteries that always use them: (3, …)."""
    return np.stack((thresholds, np.full_like(thresholds, options - 1.0), np.ones_like(thresholds)))


def highest(residuals: Array) -> Array:
    """Return the largest residual of (J, …), -1 if there is none."""
    return np.asarray(residuals.max(axis=0, initial=-1.0))


def look(outlook: Outlook, lotteries: Array, width: float) -> tuple[Array, Array, Array, Array]:
    """Return reward, upper bound and lower bound of the largest residual, (C, R), and :attr:`Found.ratio`, (C, R)."""
    found = []
    size = max(CACHE // outlook.shares.size, 1)
    for low in range(0, lotteries.shape[2], size):
        mixed = outlook.mix(lotteries[..., low : low + size])
        reward, residuals, error = outlook.value(mixed, width)
        upper, lower = highest(residuals + error), highest(residuals - STRONG / width * error)
        rates = np.sqrt((mixed.error**2).sum(axis=1)).T
        gone = (upper - highest(residuals)) / width
        ratio = np.where(rates > 0.0, gone / np.maximum(rates, 1e-12), 0.0)
        found.append((outlook.aim(mixed, lotteries[..., low : low + size], reward), upper, lower, ratio))
    reward, upper, lower, ratio = (np.concatenate(each) for each in zip(*found, strict=True))
    return reward, upper.round(12), lower, ratio  # of what differs by rounding alone, the first


def glance(outlook: Outlook, lotteries: Array, width: float, ratio: Array) -> tuple[Array, Array, Array]:
    """Return reward and bounds as :func:`look` does, with errors of residuals by a known `ratio` (R,): far faster."""
    found = []
    size = max(CACHE // outlook.shares.size, 1)
    for low in range(0, lotteries.shape[2], size):
        mixed = outlook.mix(lotteries[..., low : low + size])
        reward, residuals = outlook.read(mixed)
        residual = highest(residuals)
        error = np.sqrt((mixed.error**2).sum(axis=1)).T * ratio
        aimed = outlook.aim(mixed, lotteries[..., low : low + size], reward)
        found.append((aimed, residual + width * error, residual - STRONG * error))
    reward, upper, lower = (np.concatenate(each) for each in zip(*found, strict=True))
    return reward, upper.round(12), lower


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
    infeasible = np.ones(replicates, dtype=bool)
    starts = [] if near is None else [near]
    for family in families(options):
        tried = np.broadcast_to(family[:, None], (3, replicates, family.shape[1]))
        reward, upper, lower = glance(outlook, tried, width, ratio)
        upper = upper + ROOM
        infeasible &= lower.min(axis=0) > 0.0
        starts.append(tried[:, every, best_feasible(reward.T, upper.T[None])])
    for thresholds, share in STEPS:
        moves = (np.array([thresholds, thresholds, share]) * MOVES).T
        around = np.stack(starts, axis=-1)[..., None] + moves[:, None, None]
        around[0] = np.clip(around[0], 0, options - 2)
        around[1] = np.clip(around[1], around[0] + 1, options - 1)
        around[2] = np.clip(around[2], 0.0, 1.0)
        tried = around.reshape(3, replicates, -1)
        reward, upper, lower, ratios = look(outlook, tried, width)
        upper = upper + ROOM
        infeasible &= lower.min(axis=0) > 0.0
        parts = pairwise(range(0, tried.shape[2] + 1, len(MOVES)))
        starts = [
            tried[:, every, low + best_feasible(reward[low:high].T, upper[low:high].T[None])] for low, high in parts
        ]
    best = best_feasible(reward.T, upper.T[None])
    safe = is_feasible(upper[None, best, every])
    if near is not None:  # the first part lies around what is in play
        close = best_feasible(reward[: len(MOVES)].T, upper[: len(MOVES)].T[None])
        stay = is_feasible(upper[None, close, every]) & (reward[close, every] >= reward[best, every] - INERTIA)
        best = np.where(stay, close, best)
    return Found(tried[:, every, best], safe, infeasible, ratios[best, every])


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
    reward, upper, _, _ = look(outlook, tried, width)
    safe = upper[:-1] <= -ROOM
    price = np.maximum(reward[-1] - reward[:-1], 1e-6)
    best = np.where(safe, price / pairs[2][:, None], np.inf).argmin(axis=0)
    every = np.arange(replicates)
    return tried[:, every, best], np.where(safe[best, every], price[best, every], np.inf)


def families(options: int) -> list[Array]:
    """Return lotteries to begin with, (3, C) each: neighbours, pairs of few options, and pairs with -inf or inf."""
    coarse = np.unique(np.linspace(0, options - 1, min(PAIRED, options)).round())
    inner = np.arange(1.0, options - 1.0, 1.0 if options < 50 else options // 25)
    pairs = [
        np.stack((np.arange(options - 1.0), np.arange(1.0, options))),
        np.stack([coarse[side] for side in np.triu_indices(len(coarse), 1)]),
        np.concatenate((np.stack((0.0 * inner, inner)), np.stack((inner, 0.0 * inner + options - 1.0))), axis=1),
    ]
    tenths = np.linspace(0.1, 0.9, 9)
    weights = [np.array([0.5, 1.0]), tenths, tenths]
    return [
        np.concatenate((np.repeat(pair, len(weight), axis=1), np.tile(weight, pair.shape[1])[None]))
        for pair, weight in zip(pairs, weights, strict=True)
    ]
