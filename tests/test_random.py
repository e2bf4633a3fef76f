"""Random numbers as a function: Philox against its authors' known answers, and what its users rely on."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate import random
from fairgate.random import MULTIPLIERS, Draws, Purpose, multiply, philox


def words(*values: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array([value], dtype=np.uint32) for value in values)


def test_the_known_answers_of_its_authors() -> None:
    """Random123, kat_vectors, philox4x32 10."""
    known = [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ]
    for counter, key, wanted in known:
        found = philox(words(*counter), words(*key))  # type: ignore[arg-type]
        assert tuple(int(each[0]) for each in found) == wanted


def test_every_seed_loop_round_and_purpose_has_numbers_of_its_own() -> None:
    found = {
        tuple(Draws.of(seed, loop, number).words(purpose, 4).tolist())
        for seed in (0, 1, 2**32, 2**40)
        for loop in (0, 1)
        for number in (0, 1)
        for purpose in Purpose
    }
    assert len(found) == 4 * 2 * 2 * len(Purpose)


def test_they_are_uniform() -> None:
    """Of 65,536 words in 256 bins χ² has mean 255 and sd 22.6; beyond 6 of these is a chance of about 1e-8."""
    found = np.concatenate([Draws.of(3, 0, number).words(Purpose.PEOPLE, 256) for number in range(256)])
    counts = np.bincount(found >> 24, minlength=256)
    assert abs(((counts - 256.0) ** 2 / 256.0).sum() - 255.0) <= 6 * 22.6


def test_products_of_halves_are_those_of_64_bits() -> None:
    given = np.concatenate([*words(0, 1, 2**32 - 1), Draws.of(1, 2, 3).words(Purpose.RESPONSE, 1000)])
    for by in MULTIPLIERS:
        whole = multiply(given, by)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(random, "has_64_bits", lambda xp: False)
            halves = multiply(given, by)
        np.testing.assert_array_equal(whole, halves)
