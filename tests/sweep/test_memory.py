"""What a sweep holds does not grow with the rounds of its loops, and little with their number."""

from __future__ import annotations

import tracemalloc

import pytest

import fairgate as fg
from scripts.simulate_cluster import packs


def peak(rounds: int) -> int:
    """Return the most bytes that were held while a block of 200 loops was simulated."""
    (pack,) = packs("ofs", 1, 2, rounds)
    tracemalloc.start()
    try:
        pack.simulate("block")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_with_rounds() -> None:
    peak(20)  # tables of the task are made
    short, long = peak(1000), peak(1600)  # both have a tail of 200 rounds, which is looked at as a whole
    assert long < 1.05 * short


def test_a_loop_leaves_a_few_numbers() -> None:
    found = fg.sweep("mve-s", "ofs", over={"rate": [0.1, 0.2]}, seeds=50, rounds=20)
    assert sum(values.nbytes for values in found.figures.values()) == 8 * len(found.figures) * 100
    assert len(found.figures) == 13
