"""Example histories: periods of applicants drawn from a world whose feedback is known."""

from __future__ import annotations

import numpy as np

from fairgate.advice.steady import Response, environment
from fairgate.counts import Counts
from fairgate.people.applicants import Applicants, Columns
from fairgate.people.period_counts import PeriodCounts
from fairgate.settings import Array

BINS = 64
"""Score bins of the made-up people, equally many of them in each."""


def example_people(groups: int = 2) -> Applicants:
    """Return made-up people: normal scores, of which the groups have the means 0, 0.4, 0.8 …, a logistic label."""
    edges = np.linspace(-2.2, 2.8, BINS)
    middle = edges + (edges[1] - edges[0]) / 2.0
    density = np.exp(-0.5 * (middle - 0.4 * np.arange(groups)[:, None]) ** 2)
    chance = 1.0 / (1.0 + np.exp(-2.0 * (middle - 0.2)))
    people = np.rint(1e6 * density[..., None] * np.stack((1.0 - chance, chance, 0.0 * chance), axis=-1))
    names = tuple("abcdefgh"[:groups])
    return Applicants(names, edges, edges, people.astype(np.int64), Columns("s", "y", "g"), int(people.sum()))


def threshold_path(
    periods: int, groups: int, swing: float, rng: np.random.Generator, *, together: bool = False
) -> Array:
    """Return shares to accept, (periods, groups): one half, changed every one to six periods by up to ±`swing`."""
    columns = 1 if together else groups
    share = np.empty((periods, columns))
    for column in range(columns):
        start = 0
        while start < periods:
            length = int(rng.integers(1, 7))
            share[start : start + length, column] = 0.5 + rng.uniform(-swing, swing)
            start += length
    return np.broadcast_to(share, (periods, groups))


def draw_history(
    strength: float,
    shares: Array,
    people: int,
    rng: np.random.Generator,
    *,
    rate: float = 0.3,
    disturbance: Array | float = 0.0,
) -> PeriodCounts:
    """Draw a history in which acceptance feeds back on who applies with a known strength.

    Parameters
    ----------
    strength
        Of feedback about an acceptance of one half.
    shares
        Share that the threshold of each period and group, (T, G), would accept of the people as they are at first.
    people
        People of each group per period.
    rate
        Speed of feedback.
    disturbance
        What is added to the weights of the high pools for other reasons, (T, G).
    """
    made = example_people(shares.shape[1])
    pools = environment(made, Response(strength, 0.5), rate)
    below = 1.0 - np.cumsum(made.counts[..., ::-1, :].sum(axis=2), axis=1)[:, ::-1] / made.sizes[:, None]
    cuts = np.stack([np.searchsorted(below[g], 1.0 - shares[:, g]) for g in range(shares.shape[1])], axis=1)
    away = np.broadcast_to(disturbance, shares.shape)
    counts = np.zeros((*shares.shape, BINS, 3, 2), dtype=np.int64)
    edges = np.arange(2.0, 2.0 * BINS, 2.0)
    state = pools.start(1)
    for period, cut in enumerate(cuts):
        chances = pools.histogram(np.clip(state + away[period], 0.0, 1.0), edges)[0]
        drawn = rng.multinomial(people, (chances / chances.sum(axis=(1, 2), keepdims=True)).reshape(len(chances), -1))
        labelled = drawn.reshape(chances.shape)
        accepted = np.arange(BINS) >= cut[:, None]
        counts[period, :, :, :2, 1] = np.where(accepted[..., None], labelled, 0)
        counts[period, :, :, 2, 0] = np.where(accepted, 0, labelled.sum(axis=2))  # rejected: label missing
        seen = np.stack((counts[period, ..., 0].sum(axis=1), counts[period, ..., 1].sum(axis=1)), axis=-1)
        decided = Counts(np.stack((seen[:, 0] + seen[:, 2], seen[:, 1]), axis=1)[None])
        state = pools.update(state, decided, 2.0 * cut[None], rng)
    return PeriodCounts(tuple(f"{2020 + t // 12}-{t % 12 + 1:02d}" for t in range(len(counts))), counts)
