"""Chance: what a learner makes of random words of 32 bits."""

from __future__ import annotations

from fairgate.arrays import Array, namespace
from fairgate.core.special import ndtri


def happens(word: Array, probability: Array) -> Array:
    """Whether something of this probability happens.

    >>> import numpy as np
    >>> happens(np.array([0, 2**31, 2**32 - 1], dtype=np.uint32), 0.5)
    array([ True, False, False])
    """
    return word < probability * 2.0**32


def side(word: Array) -> Array:
    """Return 1 or −1, each as likely as the other.

    >>> import numpy as np
    >>> side(np.array([0, 2**31], dtype=np.uint32))
    array([ 1., -1.])
    """
    return namespace(word).where(happens(word, 0.5), 1.0, -1.0)


def any_of(word: Array, count: int) -> Array:
    """Return a number from 0 to `count` − 1, each as likely as any other."""
    return word % namespace(word).uint32(count)


def normal(words: Array) -> Array:
    """Return standard normal numbers, none of them beyond 5.4.

    Of each word 23 bits are used: with half a step added, single precision has room for no more.

    >>> import numpy as np
    >>> normal(np.array([0, 2**31, 2**32 - 1], dtype=np.uint32)).round(2)
    array([-5.29,  0.  ,  5.29])
    """
    xp = namespace(words)
    share = (xp.astype(words >> xp.uint32(9), float) + 0.5) / 2.0**23
    return ndtri(share)
