"""Arrays: records of arrays that work with both NumPy and JAX, and the library that an array belongs to."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of NumPy or JAX; its type determines the library that computes with it."""

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
    """Return whether a library computes with 64 bits: NumPy always does, JAX only if configured to."""
    return xp is np or bool(sys.modules["jax"].config.jax_enable_x64)


def as_array(value: Any) -> NDArray[Any]:
    """Return a JAX array unchanged, and any other value as a NumPy array."""
    found: NDArray[Any] = np.asarray(value) if namespace(value) is np else value
    return found


def put(array: Array, place: Array, value: Array) -> Array:
    """Return a copy of an array with a new value at one place of its first axis.

    >>> put(np.zeros(3), 1, 5.0)
    array([0., 5., 0.])
    """
    if namespace(array) is not np:
        return array.at[place].set(value)
    changed = array.copy()
    changed[place] = value
    return changed


def add_at(array: Array, places: tuple[Array, ...], values: Array) -> Array:
    """Return a copy of an array with each value added at its place; values at a repeated place add up.

    >>> add_at(np.zeros(3), (np.array([0, 2, 2]),), np.ones(3))
    array([1., 0., 2.])
    """
    if namespace(array) is not np:
        return array.at[places].add(values)
    changed = array.copy()
    np.add.at(changed, places, values)
    return changed


def piled(parts: Sequence[Any]) -> Any:
    """Stack NumPy arrays along a new first axis; in records, tuples and dicts, stack each array.

    >>> piled([(1.0, {"x": np.zeros(2)}), (3.0, {"x": np.ones(2)})])
    (array([1., 3.]), {'x': array([[0., 0.],
           [1., 1.]])})
    """
    return _rebuilt(parts[0], lambda get: piled([get(each) for each in parts]), lambda: np.stack(parts))


def each_of(pile: Any) -> list[Any]:
    """Return the parts that :func:`piled` stacked.

    >>> each_of((np.array([1.0, 3.0]), None, np.eye(2)))[1]
    (np.float64(3.0), None, array([0., 1.]))
    """
    return [taken(pile, place) for place in range(_length(pile) or 0)]


def taken(pile: Any, place: Any) -> Any:
    """Return the part of each array at this place of its first axis."""
    return _rebuilt(pile, lambda get: taken(get(pile), place), lambda: pile[place])


def as_arrays(tree: Any) -> Any:
    """Return a structure with each number as a NumPy array.

    >>> as_arrays((np.float64(1.0), {"x": 2}))
    (array(1.), {'x': array(2)})
    """
    return _rebuilt(tree, lambda get: as_arrays(get(tree)), lambda: np.asarray(tree))


def _rebuilt(like: Any, part: Callable[[Callable[[Any], Any]], Any], leaf: Callable[[], Any]) -> Any:
    """Build a structure like `like`: `part` makes each part from its getter, `leaf` makes an array; None stays None."""
    if like is None:
        return None
    if dataclasses.is_dataclass(like):
        fields = [each for each in dataclasses.fields(like) if not each.metadata.get("static")]
        made = {each.name: part(lambda of, name=each.name: getattr(of, name)) for each in fields}  # type: ignore[misc]
        return dataclasses.replace(like, **made)  # type: ignore[type-var]
    if isinstance(like, dict):
        return {name: part(lambda of, name=name: of[name]) for name in like}  # type: ignore[misc]
    if isinstance(like, tuple):
        made_parts = [part(lambda of, place=place: of[place]) for place in range(len(like))]  # type: ignore[misc]
        return type(like)(*made_parts) if hasattr(like, "_fields") else tuple(made_parts)
    return leaf()


def _length(pile: Any) -> int | None:
    """Return the length of the arrays' first axis, or None for an empty structure."""
    found: list[int] = []
    _rebuilt(pile, lambda get: found.append(_length(get(pile)) or 0), lambda: found.append(len(pile)))
    return max(found, default=None)


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose fields are arguments of compiled JAX code, so that new values do not recompile it.

    Fields with ``metadata={"static": True}`` (see :func:`static`) are part of the compiled program instead, such as
    lengths and names. JAX need not be installed; :func:`register` registers all records once JAX is in use.

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


def is_record(thing: Any) -> bool:
    """Return whether the class of something is a :func:`record`."""
    return type(thing) in _RECORDS


def static(default: Any = dataclasses.MISSING) -> Any:
    """Return a field of a record that is part of the compiled program."""
    return dataclasses.field(default=default, metadata={"static": True})


def register(*others: type) -> None:
    """Register every record, and the dataclasses `others`, as pytrees of JAX, each once."""
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
        made = object.__new__(cls)  # skips the constructor, whose checks need concrete numbers
        for name, value in [*zip(names, values, strict=True), *zip(fixed, kept, strict=True)]:
            object.__setattr__(made, name, value)
        return made

    return flatten, unflatten
