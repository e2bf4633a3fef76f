"""Blocks: worlds of one shape, which are simulated side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable
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


def parse_worlds(text: str) -> range:
    """Read which worlds are meant: so many for judging, or from one number to another, the last left out.

    >>> parse_worlds("500"), parse_worlds("0:200")
    (range(10000, 10500), range(0, 200))
    """
    found = re.fullmatch(r"\s*(?:(\d{1,9})\s*:)?\s*(\d{1,9})\s*", text)
    if found is not None:
        first = JUDGING if found[1] is None else int(found[1])
        last = JUDGING + int(found[2]) if found[1] is None else int(found[2])
        if first < last <= LAST:
            return range(first, last)
    raise InputError(
        f"--worlds must be how many, such as 500, or which, such as 0:200 for development, below {LAST:,}, got {text!r}"
    )


def purpose(numbers: Iterable[int]) -> str:
    """Say what these worlds are for.

    >>> purpose(range(10_000, 10_500)), purpose(range(100))
    ('judging', 'development')
    """
    kinds = {"judging" if number >= JUDGING else "development" for number in numbers}
    return " and ".join(sorted(kinds, reverse=True))
