"""The world's random numbers wait until they are used, and are the same whoever drew before, and however."""

from __future__ import annotations

import copy

import numpy as np

from fairgate.nature import KINDS, STRETCH, WORLD, Nature
from fairgate.stacked import StackedNature


def expected(round_number: int, count: int, block: int = 0) -> np.ndarray:
    """Numbers of the world's stretch of a round, drawn without any of nature's code."""
    bits = np.random.PCG64DXSM(np.random.SeedSequence(7, spawn_key=(block, 0)))
    bits.advance((round_number * KINDS + WORLD) * STRETCH)
    return np.random.Generator(bits).random(count)


def test_numbers_are_those_of_the_round_and_go_on_within_it() -> None:
    nature = Nature(7)
    nature.world().random(5)
    for nature.round in (3, 4):
        rng = nature.world()
        np.testing.assert_array_equal(np.concatenate([rng.random(2), rng.random(3)]), expected(nature.round, 5))


def test_bits_and_copies_are_in_their_place() -> None:
    nature = Nature(7)
    nature.round = 2
    raw = np.asarray(nature.world().bit_generator.random_raw(3), dtype=np.uint64)
    np.testing.assert_array_equal((raw >> np.uint64(11)) * 2.0**-53, expected(2, 3))
    np.testing.assert_array_equal(copy.deepcopy(nature).world().random(3), expected(2, 3))


def test_blocks_that_are_stacked_have_their_own() -> None:
    stacked = StackedNature([Nature(7, block) for block in (0, 1)], [2, 3])
    for stacked.round in (1, 2):
        wanted = np.concatenate([expected(stacked.round, 2), expected(stacked.round, 3, block=1)])
        np.testing.assert_array_equal(stacked.world().random(5), wanted)
