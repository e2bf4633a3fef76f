"""Random: random numbers as a function of seed, loop, round, purpose and place, in any order of drawing."""

from __future__ import annotations

import dataclasses
from enum import IntEnum

import numpy as np

from fairgate.arrays import Array, has_64_bits, namespace, record

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85


class Purpose(IntEnum):
    """Purposes of random numbers: each has separate numbers, which do not depend on how many the others draw."""

    PEOPLE = 0
    LABELS = 1
    RESPONSE = 2
    LEARNER = 3


def philox(counter: tuple[Array, Array, Array, Array], key: tuple[Array, Array]) -> tuple[Array, Array, Array, Array]:
    """Return four words of 32 bits for each counter of four words, by Philox4x32-10 [1]_.

    Counters and keys are uint32 arrays that broadcast.

    References
    ----------
    .. [1] J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw. Parallel random numbers: as easy as 1, 2, 3. SC, 2011.
    """
    a, b, c, d = counter
    k, l = key  # noqa: E741
    xp = namespace(a, b, c, d, k, l)
    for number in range(ROUNDS):
        (high_p, p), (high_q, q) = (multiply(each, by) for each, by in zip((a, c), MULTIPLIERS, strict=True))
        step_k, step_l = (xp.uint32(number * each & 0xFFFFFFFF) for each in WEYL)
        a, b, c, d = high_q ^ b ^ (k + step_k), q, high_p ^ d ^ (l + step_l), p
    return a, b, c, d


def multiply(word: Array, by: int) -> tuple[Array, Array]:
    """Return the upper and the lower 32 bits of a product of two numbers of 32 bits.

    >>> upper, lower = multiply(np.array([2**32 - 1], dtype=np.uint32), 0xD2511F53)
    >>> hex(int(upper[0])), hex(int(lower[0]))
    ('0xd2511f52', '0x2daee0ad')
    """
    xp = namespace(word)
    if has_64_bits(xp):
        product = xp.astype(word, xp.uint64) * xp.uint64(by)
        return xp.astype(product >> xp.uint64(32), xp.uint32), xp.astype(product, xp.uint32)
    half, low = xp.uint32(16), xp.uint32(0xFFFF)
    by_low, by_high = xp.uint32(by & 0xFFFF), xp.uint32(by >> 16)
    word_low, word_high = word & low, word >> half
    middle = word_high * by_low + (word_low * by_low >> half)
    other = word_low * by_high + (middle & low)
    return word_high * by_high + (middle >> half) + (other >> half), word * xp.uint32(by)


@record
class Draws:
    """The random numbers of one loop in one round.

    Attributes
    ----------
    key
        The seed's lower and upper 32 bits, (2,) of uint32.
    loop, round
        Numbers of the loop and of its round, counted from 0; uint32 of shape (1,).

    Examples
    --------
    >>> draws = Draws.of(seed=7, loop=0, round_number=3)
    >>> draws.words(Purpose.LEARNER, 2)
    array([1699384312, 2530610009], dtype=uint32)
    """

    key: Array
    loop: Array
    round: Array

    @classmethod
    def of(cls, seed: int, loop: int, round_number: int) -> Draws:
        """Return the numbers of a loop and round, for NumPy."""
        return cls(key_of(seed), np.array([loop], dtype=np.uint32), np.array([round_number], dtype=np.uint32))

    def next(self) -> Draws:
        """Return the numbers of the round after this one."""
        return dataclasses.replace(self, round=self.round + namespace(self.round).uint32(1))

    def words(self, purpose: Purpose, count: int, start: Array | int = 0) -> Array:
        """Return `count` words of 32 bits; `start` is the first of the groups of four words to draw from."""
        xp = namespace(self.loop)
        place = xp.arange(-(-count // 4), dtype=xp.uint32) + xp.uint32(start)
        purposes = xp.full((1,), int(purpose), dtype=xp.uint32)
        found = philox((self.round, self.loop, purposes, place), (self.key[0:1], self.key[1:2]))
        return xp.concatenate(found)[:count]


def key_of(seed: int) -> Array:
    """Return the key of a seed, made of its lowest 64 bits."""
    return np.array([seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF], dtype=np.uint32)
