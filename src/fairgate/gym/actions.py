"""Actions: the numbers an agent gives, and the thresholds they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike

from fairgate.errors import InputError
from fairgate.settings import Array, as_floats
from fairgate.tasks import Task

Float = np.dtype[np.float32] | np.dtype[np.float64]


def float_type(dtype: DTypeLike) -> Float:
    """Return the type of floats meant by `dtype`, or say what it may be.

    >>> float_type("float32")
    dtype('float32')
    """
    for known in (np.dtype(np.float32), np.dtype(np.float64)):
        try:
            if np.dtype(dtype) == known:
                return known
        except TypeError:
            break
    raise InputError(f'dtype must be "float32" or "float64", got {dtype!r}')


class Actions:
    """What the actions of one loop are: thresholds, thresholds scaled to lie from −1 to 1, or places in the grid.

    Attributes
    ----------
    space
        Their space.
    """

    def __init__(self, task: Task, *, per_group: bool, discrete: bool, normalise: bool, dtype: Float) -> None:
        if discrete and normalise:
            raise InputError("normalise must be False where discrete is True: places in the grid have no scale")
        self.grid, self.groups = task.thresholds, task.environment.group_count
        self.discrete, self.normalise = discrete, normalise
        self.space: spaces.Space[Any]
        if discrete:
            places = len(self.grid)
            self.space = spaces.MultiDiscrete([places] * self.groups) if per_group else spaces.Discrete(places)
        else:
            ends = np.array([-1.0, 1.0] if normalise else [self.grid[0], self.grid[-1]]).astype(dtype)
            self.space = spaces.Box(ends[0], ends[1], (self.groups if per_group else 1,), dtype=dtype)

    def thresholds(self, name: str, actions: Any, shape: tuple[int, ...], loops: int) -> Array:
        """Return the thresholds (loops, groups) that `actions` of this shape stand for, or say what is wrong."""
        values = as_floats(name, actions, ndim=len(shape))
        if values.shape != shape:
            raise InputError(f"{name} must have shape {shape}, got {values.shape}")
        if self.discrete:
            values = self._at(name, values)
        elif self.normalise:
            share = (values + 1.0) / 2.0
            values = (1.0 - share) * self.grid[0] + share * self.grid[-1]
        values = np.clip(values, self.grid[0], self.grid[-1]).reshape(loops, -1)
        return np.array(np.broadcast_to(values, (loops, self.groups)))

    def _at(self, name: str, values: Array) -> Array:
        """Return the thresholds at these places in the grid."""
        index = values.astype(np.int64)
        wrong = (index != values) | (index < 0) | (index >= len(self.grid))
        if wrong.any():
            raise InputError(
                f"{name} must be a whole number from 0 to {len(self.grid) - 1}, the place of a threshold in the grid, "
                f"got {values[wrong][0]:g}"
            )
        return np.asarray(self.grid[index])
