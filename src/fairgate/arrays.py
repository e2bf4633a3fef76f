"""Records of arrays that NumPy and JAX both understand, and the library that an array belongs to."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of NumPy or of JAX; which one decides what computes with it."""

T = TypeVar("T")

_RECORDS: list[type] = []
_registered: set[type] = set()


def namespace(*arrays: Array) -> Any:
    """Return the library of these arrays: `jax.numpy` if one of them is JAX's, else `numpy`.

    >>> namespace(np.zeros(3)).__name__
    'numpy'
    """
    jax = sys.modules.get("jax")
    if jax is not None and any(isinstance(each, jax.Array) for each in arrays):
        return jax.numpy
    return np


def has_64_bits(xp: Any) -> bool:
    """Whether a library computes with 64 bits: NumPy does, JAX where it was asked to."""
    return xp is np or bool(sys.modules["jax"].config.jax_enable_x64)


def as_array(value: Any) -> NDArray[Any]:
    """Return an array of JAX as it is, and anything else as one of NumPy."""
    found: NDArray[Any] = np.asarray(value) if namespace(value) is np else value
    return found


def put(array: Array, place: Array, value: Array) -> Array:
    """Return an array with another value at one place of its first axis.

    >>> put(np.zeros(3), 1, 5.0)
    array([0., 5., 0.])
    """
    if namespace(array) is not np:
        return array.at[place].set(value)
    changed = array.copy()
    changed[place] = value
    return changed


def add_at(array: Array, places: tuple[Array, ...], values: Array) -> Array:
    """Return an array to which each value is added at its place, as often as a place is named.

    >>> add_at(np.zeros(3), (np.array([0, 2, 2]),), np.ones(3))
    array([1., 0., 2.])
    """
    if namespace(array) is not np:
        return array.at[places].add(values)
    changed = array.copy()
    np.add.at(changed, places, values)
    return changed


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose fields JAX compiles with as arguments, so that new values compile nothing new.

    Fields with ``metadata={"static": True}`` (see :func:`static`) are part of the compiled program instead: lengths,
    names. JAX need not be installed; :func:`register` tells it of all records once it is used.

    Examples
    --------
    >>> @record
    ... class Line:
    ...     slope: Array
    ...     offset: Array = 0.0
    >>> Line(2.0)
    Line(slope=2.0, offset=0.0)
    """
    made = dataclasses.dataclass(frozen=True, eq=False)(cls)
    _RECORDS.append(made)
    return made


def static(default: Any = dataclasses.MISSING) -> Any:
    """Return a field of a record that is part of the compiled program."""
    return dataclasses.field(default=default, metadata={"static": True})


def register(*others: type) -> None:
    """Make every record a pytree of JAX, and `others`, which are dataclasses; each once."""
    from jax import tree_util

    for cls in (*_RECORDS, *others):
        if cls not in _registered:
            _registered.add(cls)
            flatten, unflatten = _both_ways(cls)
            tree_util.register_pytree_node(cls, flatten, unflatten)


def _both_ways(cls: Any) -> tuple[Any, Any]:
    fields = dataclasses.fields(cls)
    fixed = [each.name for each in fields if each.metadata.get("static")]
    names = [each.name for each in fields if each.name not in fixed]

    def flatten(made: Any) -> Any:
        return [getattr(made, name) for name in names], tuple(getattr(made, name) for name in fixed)

    def unflatten(kept: Any, values: Any) -> Any:
        made = object.__new__(cls)  # not by its constructor, which checks numbers that are not known yet
        for name, value in [*zip(names, values, strict=True), *zip(fixed, kept, strict=True)]:
            object.__setattr__(made, name, value)
        return made

    return flatten, unflatten
