"""Setting: what a learner is told. No environment: a live gate has none."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from fairgate.errors import InputError
from fairgate.problem import Problem
from fairgate.settings import Array, Index, Settings, as_floats, whole_number


@dataclass(frozen=True, eq=False)
class Setting(Settings):
    """A problem, the grid of thresholds to choose from, and how many groups there are.

    Parameters
    ----------
    problem
        What is wanted and what is required.
    grid
        Thresholds to choose from, increasing. Learners that search an interval use its two ends.
    groups
        Number of groups.

    Examples
    --------
    >>> import fairgate as fg
    >>> setting = Setting(fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)]), [0.0, 0.5, 1.0], groups=2)
    >>> state = fg.OFS().start(setting, rng=np.random.default_rng(0))
    >>> fg.OFS().propose(state).single
    array([[0., 0.]])
    """

    problem: Problem
    grid: ArrayLike
    groups: int

    def __post_init__(self) -> None:
        thresholds = as_floats(f"{type(self).__name__}: grid", self.grid, ndim=1)
        if (np.diff(thresholds) <= 0).any():
            raise InputError(
                f"{type(self).__name__}: grid must be strictly increasing, got a threshold that is not above the one "
                "before"
            )
        whole_number(f"{type(self).__name__}: groups", self.groups, 1)

    @functools.cached_property
    def thresholds(self) -> Array:
        """The grid as an array (K,)."""
        return np.asarray(self.grid, dtype=np.float64)

    @property
    def replicates(self) -> int | None:
        """How many replicates the problem's settings are for, or None if they fit any number."""
        return self.problem.replicates

    def rows(self, index: Index) -> Self:
        """Return the same setting for these replicates only."""
        return replace(self, problem=self.problem.rows(index))
