"""State: what an environment carries from round to round, an array or a dataclass of arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.settings import Array, Index

State = Any
"""An array (replicates, …), or a dataclass whose fields are all such arrays."""


def flatten(state: State) -> dict[str, NDArray[Any]]:
    """Return the arrays of a state by the names of its fields; an array that is the whole state is named "state".

    >>> flatten(np.zeros((2, 3)))
    {'state': array([[0., 0., 0.],
                     [0., 0., 0.]])}
    """
    whole = not dataclasses.is_dataclass(state)
    found = {"state": state} if whole else {each.name: getattr(state, each.name) for each in dataclasses.fields(state)}
    for name, values in found.items():
        if not isinstance(values, np.ndarray) or values.ndim == 0:
            raise InputError(
                f"a state must be an array or a dataclass of arrays, replicates first, got {name} = {values!r}"
            )
    if len({len(values) for values in found.values()}) != 1:
        shapes = ", ".join(f"{name} {values.shape}" for name, values in found.items())
        raise InputError(f"the arrays of a state must have equally many replicates, got {shapes or 'none'}")
    return found


def replicates_in(state: State) -> int:
    """Return the number of replicates of a state."""
    return len(next(iter(flatten(state).values())))


def take(state: State, index: Index) -> State:
    """Return the state of these replicates only."""
    return _each(state, lambda values: values[index])


def repeat(state: State, count: int) -> State:
    """Return `count` copies of every replicate, one beside the other."""
    return _each(state, lambda values: np.repeat(values, count, axis=0))


def join(states: Sequence[State]) -> State:
    """Return the replicates of all of these states, one after the other."""
    if isinstance(states[0], np.ndarray):
        return np.concatenate(states)
    arrays = [flatten(state) for state in states]
    return dataclasses.replace(
        states[0], **{name: np.concatenate([each[name] for each in arrays]) for name in arrays[0]}
    )


def _each(state: State, change: Callable[[NDArray[Any]], NDArray[Any]]) -> State:
    if isinstance(state, np.ndarray):
        return change(state)
    return dataclasses.replace(state, **{name: change(values) for name, values in flatten(state).items()})


def distance(one: State, other: State) -> Array:
    """Return the largest absolute difference between any two numbers of two states, per replicate.

    >>> distance(np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([[0.5, 3.0], [2.0, 2.0]]))
    array([2., 0.])
    """
    pairs = zip(flatten(one).values(), flatten(other).values(), strict=True)
    return np.asarray(np.max([_largest(np.subtract(a, b, dtype=np.float64)) for a, b in pairs], axis=0))


def change(before: State, after: State) -> Array:
    """Return the largest change of any number of a state, each relative to 1 + its own size, per replicate.

    >>> change(np.array([[0.0, 99.0]]), np.array([[0.5, 100.0]])).round(3)
    array([0.333])
    """
    pairs = zip(flatten(before).values(), flatten(after).values(), strict=True)
    moves = [np.subtract(b, a, dtype=np.float64) / (1.0 + np.abs(b)) for a, b in pairs]
    return np.asarray(np.max([_largest(each) for each in moves], axis=0))


def magnitude(state: State) -> Array:
    """Return the largest absolute number of a state, per replicate."""
    return np.asarray(np.max([_largest(values) for values in flatten(state).values()], axis=0))


def _largest(values: NDArray[Any]) -> Array:
    return np.asarray(np.abs(values).reshape(len(values), -1).max(axis=1, initial=0.0))
