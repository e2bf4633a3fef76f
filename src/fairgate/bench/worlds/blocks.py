"""Blocks: worlds of one shape, which are simulated side by side."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairgate.errors import InputError
from fairgate.tasks import Task
from fairgate.worlds.distribution import World, draw_world
from fairgate.worlds.loading import load_world, task_of
from fairgate.worlds.shapes import JUDGING, PAGE, SHAPES, Shape, shape_of

LAST = 1_000_000
"""Worlds that can be asked for lie below this."""


@dataclass(frozen=True)
class WorldBlock:
    """Worlds of one shape, by number, each with some seeds.

    `attempts` are those that the worlds were found in, if that is known: finding them takes a while.
    """

    numbers: tuple[int, ...]
    seeds: int = 1
    attempts: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"worlds-{self.numbers[0]}-{self.numbers[-1]}"

    @property
    def shape(self) -> Shape:
        """What its worlds have in common."""
        return shape_of(self.numbers[0])

    @cached_property
    def worlds(self) -> list[World]:
        """Its worlds."""
        if self.attempts:
            return [draw_world(*each) for each in zip(self.numbers, self.attempts, strict=True)]
        return [load_world(number) for number in self.numbers]

    @cached_property
    def task(self) -> Task:
        """All worlds as one task: a replicate for each world and seed, the seeds of a world side by side."""
        return task_of([world for world in self.worlds for _ in range(self.seeds)])

    def root(self, seed: int) -> int:
        """Return the root of its random numbers, another one for every block."""
        return int(np.random.SeedSequence([seed, self.numbers[0]]).generate_state(1)[0])


def blocks_of(numbers: Iterable[int], seeds: int = 1) -> list[WorldBlock]:
    """Put worlds into blocks of the same page and shape.

    >>> [block.numbers for block in blocks_of(range(10_000, 10_022))][:3]
    [(10000, 10010, 10020), (10001, 10011, 10021), (10002, 10012)]
    """
    found: dict[tuple[int, int], list[int]] = {}
    for number in sorted(set(numbers)):
        found.setdefault((number // PAGE, number % SHAPES), []).append(number)
    return [WorldBlock(tuple(each), seeds) for each in found.values()]


def parse_worlds(text: str) -> list[int]:
    """Read which worlds are meant: so many for judging, or from one number to another, the last left out, by strides.

    A stride that has a divisor in common with the number of shapes would meet few of them. So in every such stride the
    next shape is taken: of two steps of 50, the second is one of 51.

    >>> parse_worlds("500") == list(range(10000, 10500)), parse_worlds("0:4"), parse_worlds("10000:10200:50")
    (True, [0, 1, 2, 3], [10000, 10051, 10102, 10153])
    """
    found = re.fullmatch(r"\s*(?:(\d{1,9})\s*:)?\s*(\d{1,9})\s*(?::\s*(\d{1,9})\s*)?", text)
    if found is not None and (found[1] is not None or found[3] is None):
        first = JUDGING if found[1] is None else int(found[1])
        last = JUDGING + int(found[2]) if found[1] is None else int(found[2])
        stride = 1 if found[3] is None else int(found[3])
        if first < last <= LAST and stride:
            return spread(first, last, stride)
    raise InputError(
        "--worlds must be how many, such as 500, or which, such as 0:200 for development or 10000:20000:50, below "
        f"{LAST:,}, got {text!r}"
    )


def spread(first: int, last: int, stride: int) -> list[int]:
    """Return every so many numbers, moved by less than a stride so that they meet all shapes in turn.

    >>> sorted({number % SHAPES for number in spread(0, 1000, 50)}) == list(range(SHAPES))
    True
    """
    shared, whole = math.gcd(stride, SHAPES), math.lcm(stride, SHAPES)
    moved = [number + (number - first) // whole % shared for number in range(first, last, stride)]
    return [number for number in moved if number < last]


def which(numbers: Sequence[int]) -> str:
    """Say which worlds these are, in short if they are those of a range.

    >>> which([3, 4, 5]), which([4, 9, 12]), which(spread(10_000, 20_000, 50))
    ('3 to 5', '4, 9, 12', '10000 to 19959, one in 50')
    """
    first, last = numbers[0], numbers[-1]
    if len(numbers) == last - first + 1:
        return f"{first} to {last}"
    for stride in (round((last - first) / (len(numbers) - 1)), (last - first) // (len(numbers) - 1)):
        if len(numbers) > SHAPES and list(numbers) == spread(first, last + 1, stride):
            return f"{first} to {last}, one in {stride}"
    return ", ".join(map(str, numbers))


def purpose(numbers: Iterable[int]) -> str:
    """Say what these worlds are for.

    >>> purpose(range(10_000, 10_500)), purpose(range(100))
    ('judging', 'development')
    """
    kinds = {"judging" if number >= JUDGING else "development" for number in numbers}
    return " and ".join(sorted(kinds, reverse=True))
