"""Cast: the task and the learner of each loop, shared by all loops or with different settings in each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgate.arrays import Array
from fairgate.core.setting import Task, register_parts
from fairgate.errors import InputError


class Leaves(NamedTuple):
    """All arrays of the cast, the axis of the loops in each (None if all loops share it), and the pytree structure."""

    arrays: list[Array]
    axes: tuple[int | None, ...]
    tree: Any

    def of(self, loops: Array) -> list[Array]:
        """Return the arrays of these loops; loop numbers beyond the last stand for the last loop."""
        found = zip(self.arrays, self.axes, strict=True)
        return [each if axis is None else each[np.minimum(loops, len(each) - 1)] for each, axis in found]


@dataclasses.dataclass(frozen=True)
class Cast:
    """Task and learner of each loop, or a single pair for all loops.

    Several tasks must be of one shape: environments of one class, equal numbers of groups and thresholds, the same
    constraints and the same horizon of late labels. Everything else may differ. An environment class whose arrays can
    differ in length has a class method ``alike(several)``, which returns the same environments with arrays of equal
    lengths.
    """

    pairs: Sequence[tuple[Task, Any]]

    @classmethod
    def of(cls, pairs: Sequence[tuple[Task, Any]]) -> Cast:
        """Return the cast, with arrays of equal lengths."""
        environments: list[Any] = [task.environment for task, _ in pairs]
        kind = type(environments[0])
        if hasattr(kind, "alike") and all(type(each) is kind for each in environments):
            environments = kind.alike(environments)
        found = zip(pairs, environments, strict=True)
        return cls([(dataclasses.replace(task, environment=each), own) for (task, own), each in found])

    def at(self, loop: int) -> tuple[Task, Any]:
        """Return the task and the learner of a loop."""
        return self.pairs[min(loop, len(self.pairs) - 1)]

    def leaves(self) -> Leaves:
        """Return all arrays, for JAX; an array that is equal in all loops is stored once."""
        from jax import tree

        for task, _ in self.pairs:
            register_parts(task.setting.problem)
        flat, shapes = zip(*(tree.flatten(pair) for pair in self.pairs), strict=True)
        columns = [[np.asarray(each) for each in column] for column in zip(*flat, strict=False)]
        if len(set(shapes)) > 1 or any(len({each.shape for each in column}) > 1 for column in columns):
            raise InputError("tasks must be of one shape (environment, groups, size of the grid, constraints)")
        same = [all(np.array_equal(column[0], each, equal_nan=True) for each in column) for column in columns]
        arrays = [column[0] if alike else np.stack(column) for column, alike in zip(columns, same, strict=True)]
        return Leaves(arrays, tuple(None if alike else 0 for alike in same), shapes[0])
