"""Bins: people, or probabilities, by group × score bin × label × decision, and counts of people without wasted cells.

Arrays are (replicates, groups, bins, label, decision), but lie in memory by group, label, decision and bin: people are
counted in that order, and sums over bins run along what lies together.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from fairgate.settings import Array

BLOCK = 200_000
"""Cells looked at together."""

ROW = 512
"""Numbers sorted together: of 32 bits, rows of up to 512 are sorted at a fifth of the cost per number of longer."""

FEW = 2000
"""Ends of cells up to which looking for them one by one is as fast as sorting, which makes more calls."""

SPLIT = 32
"""Replicates held to thresholds that are counted by themselves beside lotteries: fewer are counted as such, since their
cells of probability 0 cost less than more calls do."""

ROUNDING = 2**12
"""By how much probabilities may fall short of 1, in units of 2⁻⁶²."""

LARGEST, EVEN, ODD = 2**32 - 1, np.uint32(2**32 - 2), np.uint32(1)
"""The largest number that stands for a person or the end of a cell; what clears and what sets the lowest bit."""

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
    """Count people, given by numbers (replicates, people) in any order, by cell; and P(group, label, decision).

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
    if certain.all():
        counts = tally_by_threshold(labelled, share, numbers)
    elif np.count_nonzero(certain) < SPLIT:
        counts = tally_cells(decided(labelled, share), numbers)
    else:
        counts = np.empty((replicates, groups, 2, 2, bins), dtype=np.int64).transpose(BY_BIN)
        counts[certain] = tally_by_threshold(labelled[certain], share[certain], numbers[certain])
        counts[~certain] = tally_cells(decided(labelled[~certain], share[~certain]), numbers[~certain])
    return counts, decided_over_bins(labelled, share)


def decided_over_bins(labelled: Array, share: Array) -> Array:
    """Return P(group, label, decision), (replicates, groups, 2, 2): :func:`decided`, summed over bins one by one."""
    by_bin = np.ascontiguousarray(labelled.transpose(2, 1, 3, 0))  # replicates last: what is summed lies together
    accepted = np.ascontiguousarray(share.transpose(2, 1, 0))[:, :, None]
    found = np.empty((*by_bin.shape[1:3], 2, by_bin.shape[3]))
    cells = by_bin * accepted
    np.add.reduce(cells, axis=0, out=found[:, :, 1])
    np.multiply(by_bin, 1.0 - accepted, out=cells)
    np.add.reduce(cells, axis=0, out=found[:, :, 0])
    return found.transpose(3, 0, 1, 2)


def tally_cells(probabilities: Array, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Count people, given by numbers (replicates, people), by all cells; see :func:`fairgate.nature.tally`.

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
    """Count numbers below 2³² (replicates, people), in any order, by cells (replicates, cells) that lie side by side.

    Probabilities are summed as whole numbers of 2⁻⁶², which is exact, and four times as fast. Where their sum is 1 but
    for rounding it counts as 1, so that nobody is in the cells of probability 0 that follow.
    """
    cells = (probabilities * 2.0**62).astype(np.int64)
    cells[:, 0] += ROUNDING
    ends = cells.cumsum(axis=1)
    ends >>= 30
    ends[:, -1] = 2**32  # beyond everybody
    counts = _merge(ends, numbers) if 2 * numbers.shape[1] <= ROW and ends.size > FEW else None
    return _search(ends, np.sort(numbers, axis=1)) if counts is None else counts


def _merge(ends: NDArray[np.int64], numbers: NDArray[np.uint32]) -> NDArray[np.int64] | None:
    """Sort people and ends of cells together, which tells how many lie between two ends; None if that is too coarse.

    The lowest bit of a number gives way to one that tells ends from people, so a person and an end that differ in that
    bit alone cannot be told apart: one round in hundreds. Many ends are sorted in several rows, each with all people.
    """
    (replicates, cells), people = ends.shape, numbers.shape[1]
    rows = -(-cells // (ROW - people))
    width = -(-cells // rows)
    keys = np.empty((replicates, rows, people + width), dtype=np.uint32)
    np.bitwise_and(numbers[:, None], EVEN, out=keys[:, :, :people])
    keys[:, -1, people:] = LARGEST
    for row, first in enumerate(range(0, cells, width)):
        some = np.minimum(ends[:, first : first + width], LARGEST)
        keys[:, row, people : people + some.shape[1]] = some
    keys[:, :, people:] |= ODD
    keys.sort(axis=2)
    ordered = keys.ravel()
    if (np.bitwise_xor(ordered[1:], ordered[:-1]) == ODD).any():
        return None
    below = np.flatnonzero((ordered & ODD).astype(np.bool_))
    below += _people_before(replicates, rows, width, people)
    below[1:] = below[1:] - below[:-1]  # twice as fast as in place, where they overlap
    return below.reshape(replicates, -1)[:, :cells]


@functools.lru_cache(maxsize=8)
def _people_before(replicates: int, rows: int, width: int, people: int) -> NDArray[np.int64]:
    """Return what has to be added to the places of sorted ends for the number of people of all replicates below."""
    replicate, row, end = np.ogrid[:replicates, :rows, :width]
    return np.asarray(replicate * people - (replicate * rows + row) * (people + width) - end, dtype=np.int64).ravel()


def _search(ends: NDArray[np.int64], numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Look for the ends of cells among increasing numbers.

    Where an end lies among the numbers is read off ``np.interp``, which looks near the place of the end before: twice
    as fast as ``searchsorted`` for so many. A person is half a step above its number, so that none lies on an end.
    """
    rows, index = _numbered(*numbers.shape)
    people, places = (numbers + (rows + 0.5)).ravel(), (np.minimum(ends, 2**32) + rows).ravel()
    below = np.empty(places.size, dtype=np.int64)
    step = max(people.size - 1, 4096)  # of more ends than people it makes a table, which is slow for many
    for first in range(0, places.size, step):
        some = slice(first, first + step)
        below[some] = np.interp(places[some], people, index, left=0.0)  # rounded down
    below[1:] -= below[:-1]
    return below.reshape(ends.shape)


@functools.lru_cache(maxsize=8)
def _numbered(replicates: int, people: int) -> tuple[Array, Array]:
    """Return what tells the numbers of replicates apart, (replicates, 1), and the people of all of them, from 1."""
    return np.arange(float(replicates))[:, None] * 2.0**32, np.arange(1.0, replicates * people + 1.0)
