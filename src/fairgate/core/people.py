"""People: draw a batch of applicants, each from one random word, independent of the policy."""

from __future__ import annotations

from typing import Any

from fairgate.arrays import Array, namespace

HIGHEST = 2**32 - 256
"""End of the unit interval in words: the largest number below 2³² in single precision."""

FEW = 16
"""Number of cells up to which each applicant is compared with the end of every cell; beyond, a search is faster."""


def draw(probabilities: Array, words: Array) -> Array:
    """Count the applicants in each cell, given probabilities that sum to 1 and a random word of 32 bits per applicant.

    The cells lie side by side on the unit interval in the order given, and an applicant belongs to the cell that
    contains the word. Probabilities are rounded to 2⁻³² of the whole. The 256 highest words count as the word below
    them, so that no word falls into a last cell of probability 0.

    >>> import numpy as np
    >>> draw(np.array([0.25, 0.25, 0.5]), np.array([0, 2**30, 2**31, 2**32 - 1], dtype=np.uint32))
    array([1., 1., 2.])
    """
    xp = namespace(probabilities, words)
    flat = xp.reshape(probabilities, (-1,))
    ends, words = _ends(xp, flat), xp.minimum(words, xp.uint32(HIGHEST - 1))
    if len(flat) <= FEW:  # sums of comparisons run in one pass; a search does not
        below = (words[None, :] < ends[:, None]).sum(axis=1)
        none, whole = xp.zeros((1,), dtype=below.dtype), xp.full((1,), words.shape[0], dtype=below.dtype)
        found = xp.diff(xp.concatenate((none, below, whole)))
    else:
        found = _tally(xp, xp.searchsorted(ends, words, side="right"), flat.shape[0])
    return xp.astype(xp.reshape(found, probabilities.shape), flat.dtype)


def places(probabilities: Array, words: Array) -> Array:
    """Return the cell of each applicant that :func:`draw` counts, as an index into the flattened cells.

    >>> import numpy as np
    >>> places(np.array([0.25, 0.25, 0.5]), np.array([0, 2**30, 2**31, 2**32 - 1], dtype=np.uint32))
    array([0, 1, 2, 2])
    """
    xp = namespace(probabilities, words)
    ends = _ends(xp, xp.reshape(probabilities, (-1,)))
    return xp.searchsorted(ends, xp.minimum(words, xp.uint32(HIGHEST - 1)), side="right")


def _ends(xp: Any, flat: Array) -> Array:
    """Return the end of each cell but the last on the unit interval, in words."""
    few = len(flat) <= FEW  # sums of products run in one pass; a running sum does not
    sums = (xp.tri(len(flat), dtype=flat.dtype) * flat).sum(axis=1) if few else xp.cumsum(flat)
    return xp.astype(xp.clip(sums[:-1] * 2.0**32, 0.0, float(HIGHEST)), xp.uint32)


def draw_binned(binned: Array, words: Array) -> Array:
    """Draw the counts of cells by score bin, (groups, bins, 2 labels, 2 decisions).

    Each word stands for an applicant of one group, label and score bin, which do not depend on the policy.
    """
    return namespace(binned).moveaxis(draw(_ordered(binned), words), 2, 1)[:, ::-1, :, ::-1]


def people_of(binned: Array, words: Array) -> tuple[Array, Array, Array, Array]:
    """Return group, score bin, label and decision of each applicant that :func:`draw_binned` counts."""
    xp = namespace(binned)
    ordered = _ordered(binned)
    group, label, below, rejected = xp.unravel_index(places(ordered, words), ordered.shape)
    return group, binned.shape[1] - 1 - below, label, 1 - rejected


def _ordered(binned: Array) -> Array:
    """Order cells by group, label, score bin (highest first) and decision (accepted first)."""
    return namespace(binned).moveaxis(binned[:, ::-1, :, ::-1], 1, 2)


def _tally(xp: Any, places: Array, length: int) -> Array:
    """Count the occurrences of each place below `length`."""
    return xp.bincount(places, minlength=length) if xp.__name__ == "numpy" else xp.bincount(places, length=length)
