"""Shapes: what worlds have in common that are simulated side by side, drawn so that every value has its turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.settings import Array

PAGE = 500
"""Worlds whose shapes are drawn together: those of the next 500 have other shapes."""

SHAPES = 10
"""Shapes of a page: world n has shape n modulo 10."""

JUDGING = 10_000
"""First world for judging. Those before it are for development: for tuning, and for looking at."""

ROOT = 20180610
"""Root of all random numbers that worlds are drawn by."""

PROMPT = (1.0, 0.0)
"""Arrival and loss of labels that are all known at once."""

LARGEST = 1000
"""People per round up to which labels may be late or lost: each is sent on its way by itself."""

GROUPS = (2, 2, 2, 2, 3, 3, 4, 5, 6, 8)
GRIDS = (11, 21, 31, 41, 41, 41, 61, 81, 101, 201)
BATCHES = (32, 64, 128, 256, 256, 256, 500, 1000, 3000, 10_000)
LABELS = (*[PROMPT] * 6, (0.3, 0.0), (0.1, 0.0), (0.05, 0.2), (1.0, 0.3))
CONSTRAINTS = (
    ("parity", "service"),
    ("parity", "service"),
    ("parity", "budget"),
    ("parity",),
    ("ratio", "service"),
    ("ratio", "group-service"),
    ("group-service", "budget"),
    ("improvement", "service"),
    ("opportunity", "service"),
    ("equalised-odds", "budget"),
)
"""Each value once per page and shape: groups, thresholds of the grid, people per round, label arrival and loss, and
which constraints there are."""


@dataclass(frozen=True)
class Shape:
    """What worlds must have in common to stand side by side.

    Attributes
    ----------
    groups, batch
        Number of groups, and people per round.
    grid
        Thresholds to choose from.
    constraints
        Names of the constraints.
    label_arrival, label_loss
        See :class:`~fairgate.environments.Environment`.
    """

    groups: int
    size: int
    batch: int
    constraints: Sequence[str]
    label_arrival: float
    label_loss: float

    @property
    def grid(self) -> Array:
        """Thresholds from −2.5 to 2.5: true scores have means near 0 and standard deviations near 1."""
        return np.linspace(-2.5, 2.5, self.size)


@cache
def shapes_of(page: int) -> tuple[Shape, ...]:
    """Return the shapes of a page: every value of each list once, in an order drawn for the page.

    >>> len(shapes_of(0)), sum(shape.groups == 2 for shape in shapes_of(0)), shapes_of(0) != shapes_of(1)
    (10, 4, True)
    """
    rng = np.random.default_rng([ROOT, 0, page])

    def shuffled(values: Sequence[Any]) -> list[Any]:
        order: NDArray[np.int64] = rng.permutation(len(values))
        return [values[place] for place in order]

    groups, grids, batches, constraints, labels = map(shuffled, (GROUPS, GRIDS, BATCHES, CONSTRAINTS, LABELS))
    late = [each for each in labels if each != PROMPT]
    few = shuffled([place for place, batch in enumerate(batches) if batch <= LARGEST])[: len(late)]
    found = dict(zip(few, late, strict=True))
    shapes = zip(groups, grids, batches, constraints, strict=True)
    return tuple(Shape(*each, *found.get(place, PROMPT)) for place, each in enumerate(shapes))


def shape_of(number: int) -> Shape:
    """Return the shape of a world."""
    return shapes_of(number // PAGE)[number % SHAPES]
