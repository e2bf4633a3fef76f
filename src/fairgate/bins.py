"""Bins: people, or probabilities, by group × score bin × label × decision, and counts of people without wasted cells.

Arrays are (replicates, groups, bins, label, decision), but lie in memory by group, label, decision and bin: people are
counted in that order, and sums over bins run along what lies together.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import over_bins
from fairgate.settings import Array

BLOCK = 40_000
"""Cells looked at together."""

BY_BIN = (0, 1, 4, 2, 3)
"""Axes as they are told, from those in memory."""

IN_MEMORY = (0, 1, 3, 4, 2)
"""Axes as they lie in memory, from those that are told."""


def decided(labelled: Array, share: Array) -> Array:
    """Return P(group, bin, label, decision) of P(group, bin, label) and the share accepted (replicates, groups, bins).

    >>> decided(np.array([[[[0.1, 0.2], [0.3, 0.4]]]]), np.array([[[0.0, 1.0]]])).tolist()
    [[[[[0.1, 0.0], [0.2, 0.0]], [[0.0, 0.3], [0.0, 0.4]]]]]
    """
    by_label, accepted = labelled.swapaxes(2, 3), share[:, :, None]
    cells = np.empty((*by_label.shape[:3], 2, by_label.shape[3]))
    np.multiply(by_label, 1.0 - accepted, out=cells[:, :, :, 0])
    np.multiply(by_label, accepted, out=cells[:, :, :, 1])
    return cells.transpose(BY_BIN)


def decide(
    labelled: Array, share: Array, certain: NDArray[np.bool_], numbers: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], Array]:
    """Count people, given by increasing numbers (replicates, people), by cell; and P(group, label, decision).

    `certain` (replicates,) tells where thresholds decide, so that `share` is 0 or 1. So many replicates at a time that
    their cells fit in a processor's cache, which changes no result.
    """
    replicates, groups, bins = share.shape
    blocks = -(-4 * share.size // BLOCK)
    step = -(-replicates // blocks)
    if blocks > 1 and step < replicates:
        rows = [slice(first, first + step) for first in range(0, replicates, step)]
        parts = [decide(labelled[each], share[each], certain[each], numbers[each]) for each in rows]
        found, probabilities = zip(*parts, strict=True)
        return np.concatenate(found), np.concatenate(probabilities)
    cells = decided(labelled, share)
    if certain.all():
        counts = tally_by_threshold(labelled, share, numbers)
    elif not certain.any():
        counts = tally_cells(cells, numbers)
    else:
        counts = np.empty((replicates, groups, 2, 2, bins), dtype=np.int64).transpose(BY_BIN)
        counts[certain] = tally_by_threshold(labelled[certain], share[certain], numbers[certain])
        counts[~certain] = tally_cells(cells[~certain], numbers[~certain])
    return counts, over_bins(cells)


def tally_cells(probabilities: Array, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Count people, given by increasing numbers (replicates, people), by all cells; see :func:`fairgate.nature.tally`.

    A lottery needs all of them: equal people are accepted or not.
    """
    cells = probabilities.transpose(IN_MEMORY)
    return _count(cells.reshape(len(cells), -1), numbers).reshape(cells.shape).transpose(BY_BIN)


def tally_by_threshold(labelled: Array, share: Array, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Do what :func:`tally_cells` does for thresholds, whose `share` is 0 or 1: half of the cells are impossible.

    Those rejected and then those accepted is the order of scores, so people are counted by group, label and bin first,
    and decided on then. Cells of probability 0 left out change no sum, and so no count.
    """
    by_label = labelled.swapaxes(2, 3)
    people = _count(by_label.reshape(len(by_label), -1), numbers).reshape(by_label.shape)
    cells = np.empty((*by_label.shape[:3], 2, by_label.shape[3]), dtype=np.int64)
    accepted = np.multiply(people, share[:, :, None].astype(np.int64), out=cells[:, :, :, 1])
    np.subtract(people, accepted, out=cells[:, :, :, 0])
    return cells.transpose(BY_BIN)


def _count(probabilities: Array, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Count increasing numbers below 2³² (replicates, people) by cells (replicates, cells) that lie side by side.

    Where an end lies among the numbers is read off ``np.interp``, which looks near the place of the end before: twice
    as fast as ``searchsorted`` for so many. A person is half a step above its number, so that none lies on an end.
    """
    rows, index = _numbered(*numbers.shape)
    ends = probabilities.cumsum(axis=1)
    ends *= 2.0**32
    np.minimum(ends, 2.0**32, out=ends)[:, -1] = 2.0**32  # beyond everybody
    np.floor(ends, out=ends)
    ends += rows
    people, places = (numbers + (rows + 0.5)).ravel(), ends.ravel()
    below = np.empty(places.size, dtype=np.int64)
    step = max(people.size - 1, 4096)  # of more ends than people it makes a table, which is slow for many
    for first in range(0, places.size, step):
        some = slice(first, first + step)
        below[some] = np.interp(places[some], people, index, left=0.0)  # rounded down
    below[1:] -= below[:-1]
    return below.reshape(probabilities.shape)


@functools.lru_cache(maxsize=8)
def _numbered(replicates: int, people: int) -> tuple[Array, Array]:
    """Return what tells the numbers of replicates apart, (replicates, 1), and the people of all of them, from 1."""
    return np.arange(float(replicates))[:, None] * 2.0**32, np.arange(1.0, replicates * people + 1.0)
