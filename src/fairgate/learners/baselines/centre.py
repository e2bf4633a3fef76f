"""Centre: what searches around a place of the grid's interval share: one side after the other, and its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.epochs import EpochState
from fairgate.settings import Array


@dataclass
class TwoSidedState(EpochState):
    """The search of each replicate."""

    centre: Annotated[Array, "R"]  # where in the grid's interval it is, from 0 to 1
    sign: Annotated[Array, "R"]  # side played first in this step
    first: Annotated[Array, "1+J R"]  # what that showed


class Sided(Protocol):
    """State of a search that plays one side of its centre and then the other."""

    rng: np.random.Generator
    replicates: int
    sign: Array


def side_of(state: Sided, fresh: NDArray[np.bool_], opening: NDArray[np.bool_]) -> Array:
    """Return the side to play, 1 or −1, (R,): drawn at random where a step is `fresh` and `opening`, then the other."""
    drawn = np.where(state.rng.integers(2, size=state.replicates) == 1, 1.0, -1.0)
    state.sign = np.where(fresh & opening, drawn, state.sign)
    return np.where(opening, state.sign, -state.sign)


def threshold_at(grid: Array, place: Array) -> Array:
    """Return the threshold at a place of the grid's interval, from 0 to 1.

    >>> threshold_at(np.array([-1.0, 0.0, 3.0]), np.array([0.0, 0.5, 1.0]))
    array([-1.,  1.,  3.])
    """
    return np.asarray(grid[0] + place * (grid[-1] - grid[0]))
