"""Search: the best thresholds of several groups together, one for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.problem import Assessment, best_feasible, is_feasible, violation
from fairgate.settings import Array

CHUNK = 100_000
"""Combinations of thresholds assessed at once."""

EXHAUSTIVE = 1_000_000
"""Up to so many combinations of group thresholds all are tried."""

Places = NDArray[np.int64]


class Found(NamedTuple):
    """The best of several choices, ranked by whether it is feasible, and by its reward or else minus its violation."""

    rank: tuple[bool, float]
    choice: NDArray[Any]  # what was chosen of each group, (G,)
    residuals: Array  # (J,)

    @classmethod
    def among(cls, choices: NDArray[Any], found: Assessment) -> Found:
        """Return the best of choices (K, G) with rewards (K,) and residuals (J, K)."""
        best = int(best_feasible(found.reward, found.residuals))
        residuals = found.residuals[:, best]
        feasible = bool(is_feasible(residuals))
        worth = float(found.reward[best]) if feasible else -float(violation(residuals))
        return cls((feasible, worth), choices[best], residuals)


def search(accepted: Sequence[Array], even: Sequence[Places], assess: Callable[[Array], Assessment]) -> Found:
    """Look for the best candidates of all groups together; `choice` is the place of each group's.

    All combinations of candidates are tried, up to a million of them, after those that accept every group at the same
    rate. If there are more, a coarse grid of them is, and from the best of these it goes uphill by ever smaller steps
    of one group, of all, and of all but one.

    `accepted` has the people by label whom each candidate of a group accepts, (K, 2) per group, and `even` the places
    of candidates at even steps of the acceptance rate, (L,) per group. `assess` takes people accepted by group and
    label, (N, G, 2), and returns reward (N,) and residuals (J, N).
    """
    groups, count = len(accepted), len(even[0])
    sizes = [len(own) for own in accepted]

    def look(steps: Places, levels: Sequence[Places] = even) -> Found:
        """Return the best of steps (N, G) along the levels of each group."""
        parts = zip(accepted, levels, steps.T, strict=True)
        return Found.among(steps, assess(np.stack([own[level[step]] for own, level, step in parts], axis=1)))

    def best_of(*founds: Found) -> Found:
        return max(founds, key=lambda found: found.rank)

    def placed(found: Found) -> Found:
        return found._replace(choice=np.array([level[step] for level, step in zip(even, found.choice, strict=True)]))

    best = look(np.repeat(np.arange(count)[:, None], groups, axis=1))
    if math.prod(sizes) <= EXHAUSTIVE:
        every = [np.arange(size) for size in sizes]
        return best_of(placed(best), *(look(steps, every) for steps in _combinations(sizes)))
    coarse = np.linspace(0, count - 1, int(CHUNK ** (1 / groups))).round().astype(np.int64)
    best = best_of(best, *(look(coarse[steps]) for steps in _combinations([len(coarse)] * groups)))
    one, step = np.eye(groups, dtype=np.int64), count // 4
    moves = np.concatenate((one, 1 - one, np.ones((1, groups), np.int64)))
    moves = np.concatenate((moves, -moves))
    while step:
        last, best = best, best_of(best, look(np.clip(best.choice + step * moves, 0, count - 1)))
        step = step // 2 if best is last else step
    return placed(best)


def _combinations(sizes: Sequence[int]) -> Iterator[Places]:
    """All combinations of a place per group, (N, G), `CHUNK` at a time."""
    for start in range(0, math.prod(sizes), CHUNK):
        flat = np.arange(start, min(start + CHUNK, math.prod(sizes)))
        yield np.stack(np.unravel_index(flat, sizes), axis=1)
