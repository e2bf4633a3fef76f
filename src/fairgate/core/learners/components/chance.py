"""Chance: random events and numbers for learners, from random words of 32 bits."""

from __future__ import annotations

from fairgate.arrays import Array, namespace
from fairgate.core.special import ndtri


def happens(word: Array, probability: Array) -> Array:
    """Return whether an event of this probability happens.

    >>> import numpy as np
    >>> happens(np.array([0, 2**31, 2**32 - 1], dtype=np.uint32), 0.5)
    array([ True, False, False])
    """
    return word < probability * 2.0**32


def side(word: Array) -> Array:
    """Return 1 or −1 with equal probability.

    >>> import numpy as np
    >>> side(np.array([0, 2**31], dtype=np.uint32))
    array([ 1., -1.])
    """
    return namespace(word).where(happens(word, 0.5), 1.0, -1.0)


def any_of(word: Array, count: int) -> Array:
    """Return a number from 0 to `count` − 1, all equally likely."""
    return word % namespace(word).uint32(count)


def normal(words: Array) -> Array:
    """Return standard normal numbers, all between −5.4 and 5.4.

    Each number uses 23 bits of its word: single precision cannot hold more with half a step added.

    >>> import numpy as np
    >>> normal(np.array([0, 2**31, 2**32 - 1], dtype=np.uint32)).round(2)
    array([-5.29,  0.  ,  5.29])
    """
    xp = namespace(words)
    share = (xp.astype(words >> xp.uint32(9), float) + 0.5) / 2.0**23
    return ndtri(share)
