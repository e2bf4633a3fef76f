"""How a batch of applicants is drawn: one random word each, whatever the policy."""

from __future__ import annotations

from typing import Any

from fairgate.arrays import Array, namespace

HIGHEST = 2**32 - 256
"""Where the unit interval ends, in words: what single precision can still tell from the words below it."""

FEW = 16
"""Cells up to which each applicant is compared with the end of every cell; of more, a search is faster."""


def draw(probabilities: Array, words: Array) -> Array:
    """Count applicants in cells of these probabilities, which sum to 1; one random word of 32 bits is one applicant.

    The cells lie side by side on the unit interval in the order given, and an applicant belongs to the one that the
    word falls into. Probabilities are rounded to 2⁻³² of the whole, and the 256 highest words stand for one applicant,
    so that no word falls into a last cell of probability 0.

    >>> import numpy as np
    >>> draw(np.array([0.25, 0.25, 0.5]), np.array([0, 2**30, 2**31, 2**32 - 1], dtype=np.uint32))
    array([1., 1., 2.])
    """
    xp = namespace(probabilities, words)
    flat = xp.reshape(probabilities, (-1,))
    words = xp.minimum(words, xp.uint32(HIGHEST - 1))
    few = flat.shape[0] <= FEW
    sums = (xp.tri(len(flat), dtype=flat.dtype) * flat).sum(axis=1) if few else xp.cumsum(flat)
    ends = xp.astype(xp.clip(sums[:-1] * 2.0**32, 0.0, float(HIGHEST)), xp.uint32)
    if few:  # sums of products and comparisons run in one pass; a running sum and a search do not
        below = (words[None, :] < ends[:, None]).sum(axis=1)
        none, whole = xp.zeros((1,), dtype=below.dtype), xp.full((1,), words.shape[0], dtype=below.dtype)
        found = xp.diff(xp.concatenate((none, below, whole)))
    else:
        found = _tally(xp, xp.searchsorted(ends, words, side="right"), flat.shape[0])
    return xp.astype(xp.reshape(found, probabilities.shape), flat.dtype)


def draw_cells(cells: Array, words: Array) -> Array:
    """Draw the counts of cells (groups, 2 labels, 2 decisions).

    The accepted of a group and label come first, as those with high scores do in :func:`draw_binned`, so that both
    draw the same counts under a threshold.
    """
    return draw(cells[..., ::-1], words)[..., ::-1]


def draw_binned(binned: Array, words: Array) -> Array:
    """Draw the counts of cells by score bin, (groups, bins, 2 labels, 2 decisions).

    A word stands for an applicant of one group, label and score bin, whatever the policy.
    """
    xp = namespace(binned)
    ordered = xp.moveaxis(binned[:, ::-1, :, ::-1], 1, 2)  # group, label, bin from the top, decision
    return xp.moveaxis(draw(ordered, words), 2, 1)[:, ::-1, :, ::-1]


def _tally(xp: Any, places: Array, length: int) -> Array:
    """Count how often each place below `length` occurs."""
    return xp.bincount(places, minlength=length) if xp.__name__ == "numpy" else xp.bincount(places, length=length)
