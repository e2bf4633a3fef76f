"""Stacked: several blocks of replicates played at once, each with the random numbers it has when it is played alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.nature import Nature, NotByRowError, Refusing, count_people
from fairgate.settings import Array


class StackedGenerator(Refusing):
    """A generator whose rows, one per replicate, are those of several generators, each with so many replicates.

    >>> alone = [np.random.default_rng(seed).random(2) for seed in (1, 2)]
    >>> stacked = StackedGenerator([np.random.default_rng(seed) for seed in (1, 2)], [2, 2])
    >>> bool((stacked.random(4) == np.concatenate(alone)).all())
    True
    """

    def __init__(self, generators: Sequence[np.random.Generator], sizes: Sequence[int]) -> None:
        super().__init__()
        self.generators, self.sizes = list(generators), list(sizes)

    def random(self, size: Any = None, *given: Any, **options: Any) -> Any:
        """Draw numbers below 1."""
        return np.concatenate([each.random(part, *given, **options) for each, part in self._parts(size)])

    def integers(self, low: Any, high: Any = None, size: Any = None, *given: Any, **options: Any) -> Any:
        """Draw whole numbers."""
        drawn = [each.integers(low, high, part, *given, **options) for each, part in self._parts(size)]
        return np.concatenate(drawn)

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Return generators of their own."""
        return [child for each, (count,) in self._parts(n_children) for child in each.spawn(count)]

    def _parts(self, size: Any) -> Iterator[tuple[np.random.Generator, tuple[int, ...]]]:
        rows, *others = np.atleast_1d(size).tolist()
        if rows != sum(self.sizes):
            raise NotByRowError
        return ((each, (count, *others)) for each, count in zip(self.generators, self.sizes, strict=True))

    def __reduce__(self) -> Any:
        return StackedGenerator, (self.generators, self.sizes)


class StackedNature(Nature):
    """The natures of several blocks of replicates, each with so many."""

    def __init__(self, natures: Sequence[Nature], sizes: Sequence[int]) -> None:
        super().__init__(coupling=natures[0].coupling)
        self.natures, self.sizes = list(natures), list(sizes)
        self._worlds = StackedGenerator([each.world() for each in natures], sizes)

    def draw(self, probabilities: Array, people: int) -> NDArray[np.int64]:
        """Draw the people of a round."""
        if self.coupling == "independent":
            return np.concatenate([each.draw(probabilities[rows], people) for each, rows in self._now()])
        drawn = [each.people(rows.stop - rows.start, people) for each, rows in self._now()]
        return count_people(probabilities, np.concatenate(drawn))

    def everybody(self, replicates: int, people: int) -> NDArray[np.uint32]:
        """Return the people of a round in any order, (replicates, people)."""
        return np.concatenate([each.everybody(rows.stop - rows.start, people) for each, rows in self._now()])

    def delays(self, accepted: NDArray[np.int64], people: int, arrival: float, loss: float = 0.0) -> NDArray[np.int64]:
        """Draw for how many rounds labels are late."""
        return np.concatenate([each.delays(accepted[rows], people, arrival, loss) for each, rows in self._now()])

    def world(self) -> np.random.Generator:
        """Return the random numbers with which the environment moves."""
        for each, _ in self._now():
            each.world()
        return self._worlds

    def _now(self) -> Iterator[tuple[Nature, slice]]:
        end = 0
        for each, count in zip(self.natures, self.sizes, strict=True):
            each.round, end = self.round, end + count
            yield each, slice(end - count, end)
