"""Memory: what a learner knows, and how it becomes plain JSON and back, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairgate.errors import InputError
from fairgate.problem import Problem
from fairgate.settings import Array

VERSION = 1
"""Version of the saved form; a reader refuses any other."""


@dataclass
class State:
    """What every learner remembers; each learner adds its own fields.

    Attributes
    ----------
    rng
        The learner's own random numbers.
    problem
        What is wanted and required: reads signals off counts. Not saved; it comes with the task.
    grid
        Thresholds to choose from, (K,).
    replicates, groups
        Shape of the thresholds it proposes.
    rounds
        Rounds observed so far.
    """

    rng: np.random.Generator
    problem: Problem
    grid: Array
    replicates: int
    groups: int
    rounds: int


def encode(value: Any) -> Any:
    """Turn arrays, random generators and plain values into what JSON can hold, without loss.

    >>> encode({"plays": np.array([1, 2]), "best": float("inf")})
    {'plays': {'array': [1, 2], 'dtype': 'int64'}, 'best': {'float': 'inf'}}
    >>> decode(encode({"plays": np.array([1, 2]), "best": float("inf")}))
    {'plays': array([1, 2]), 'best': inf}
    """
    if isinstance(value, np.random.Generator):
        return {"generator": encode(value.bit_generator.state)}
    if isinstance(value, np.ndarray):
        plain = {"array": encode(value.tolist()), "dtype": value.dtype.name}
        return plain if value.size else {**plain, "shape": list(value.shape)}  # empty lists tell no shape
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise InputError(
        f"a learner's memory must be arrays, random generators and plain values, got {type(value).__name__}: {value!r}"
    )


def decode(value: Any) -> Any:
    """Undo :func:`encode`."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"float"}:
        return float(value["float"])
    if value.keys() in ({"array", "dtype"}, {"array", "dtype", "shape"}):
        array = np.array(decode(value["array"]), dtype=value["dtype"])
        return array.reshape(value["shape"]) if "shape" in value else array
    if value.keys() == {"generator"}:
        state = decode(value["generator"])
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        return np.random.Generator(bits)
    return {key: decode(item) for key, item in value.items()}
