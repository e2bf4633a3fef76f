"""State: what a learner knows, and how it becomes plain JSON and back, exactly."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError
from fairgate.nature import Strided, restored
from fairgate.problem import Credit, Problem
from fairgate.setting import Setting
from fairgate.settings import Array

GENERATORS = {
    each.__name__: each
    for each in (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.MT19937)
}
"""Random numbers that a saved state may go on with, by the name that numpy gives them."""


@dataclass
class State:
    """What every learner knows; each learner adds its own fields.

    Attributes
    ----------
    rng
        The learner's own random numbers.
    setting
        Problem, grid and groups. Not saved: it is given again when the state is loaded.
    replicates
        Independent loops.
    rounds
        Rounds observed so far.
    pending
        What the learner noted of rounds whose labels have not all arrived, by the number of the round.
    """

    rng: np.random.Generator
    setting: Setting
    replicates: int
    rounds: int
    pending: dict[int, Any]

    @property
    def problem(self) -> Problem:
        """What is wanted and required."""
        return self.setting.problem

    @property
    def grid(self) -> Array:
        """Thresholds to choose from, (K,)."""
        return self.setting.thresholds

    @property
    def groups(self) -> int:
        """Number of groups."""
        return self.setting.groups

    def noted(self, credited: Sequence[Credit]) -> Iterator[tuple[Credit, Any]]:
        """Yield labels that arrived, with what was noted of their round; the last ones of a round end the note."""
        for each in credited:
            if each.round in self.pending:
                yield each, self.pending[each.round]
            if each.last:
                self.pending.pop(each.round, None)


def encode(value: Any) -> Any:
    """Turn arrays, random generators, dataclasses and plain values into what JSON can hold, without loss.

    >>> encode({"plays": np.array([1, 2]), "best": float("inf")})
    {'plays': {'array': [1, 2], 'dtype': 'int64'}, 'best': {'float': 'inf'}}
    >>> decode(encode({"plays": np.array([1, 2]), "best": float("inf")}))
    {'plays': array([1, 2]), 'best': inf}
    """
    if isinstance(value, Strided):
        return {"strided": encode(value.beginning), "calls": value.calls}
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
    if dataclasses.is_dataclass(value) or type(value).__module__ not in ("builtins", "numpy"):
        return {"fields": {name: encode(item) for name, item in saved_fields(value).items()}}
    raise InputError(
        f"a learner's state must be arrays, random generators and plain values, got {type(value).__name__}: {value!r}"
    )


def saved_fields(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that are saved: all but the setting, which is given again at loading."""
    try:
        return {name: item for name, item in vars(value).items() if name != "setting"}
    except TypeError:
        raise InputError(
            f"a learner's state must be arrays, random generators, plain values and objects with attributes, "
            f"got {type(value).__name__}: {value!r}"
        ) from None


def decode(saved: Any, like: Any = None) -> Any:
    """Undo :func:`encode`; objects are filled into `like`, one of the same kind."""
    if isinstance(saved, list):
        likes = like if isinstance(like, (list, tuple)) and len(like) == len(saved) else [None] * len(saved)
        found = [decode(item, each) for item, each in zip(saved, likes, strict=True)]
        return tuple(found) if isinstance(like, tuple) else found
    if not isinstance(saved, dict):
        return saved
    if saved.keys() == {"fields"}:
        for name, item in saved["fields"].items():
            object.__setattr__(like, name, decode(item, vars(like).get(name)))
        return like
    if saved.keys() == {"float"}:
        return float(saved["float"])
    if saved.keys() in ({"array", "dtype"}, {"array", "dtype", "shape"}):
        kind = np.dtype(saved["dtype"])
        if kind.kind not in "biuf":
            raise InputError(f"a saved array must be of numbers or truth values, got the type {saved['dtype']!r}")
        array = np.array(decode(saved["array"]), dtype=kind)
        return array.reshape(saved["shape"]) if "shape" in saved else array
    if saved.keys() == {"strided", "calls"}:
        return restored(decode(saved["strided"]), saved["calls"])
    if saved.keys() == {"generator"}:
        state = decode(saved["generator"])
        name = str(state["bit_generator"])
        if name not in GENERATORS:
            raise InputError(f"a saved random generator must be one of {', '.join(GENERATORS)}, got {name!r}")
        bits = GENERATORS[name]()
        bits.state = state
        return np.random.Generator(bits)
    templates = like if isinstance(like, Mapping) else {}
    return {key: decode(item, templates.get(key)) for key, item in saved.items()}


def keep_rows(now: Any, before: Any, rows: NDArray[np.int64], small: Any, large: Any) -> Any:
    """Return `now` with these replicates as they were `before`; `small` and `large` are states of 2 and 3 replicates.

    The axis of replicates is the one along which the last two differ.
    """
    if isinstance(now, np.ndarray):
        differ = [axis for axis in range(now.ndim) if np.shape(small)[axis] != np.shape(large)[axis]]
        for axis in differ:
            np.moveaxis(now, axis, 0)[rows] = np.moveaxis(before, axis, 0)[rows]
        return now
    if isinstance(now, list) and len(small) != len(large):
        return [before[place] if place in rows else each for place, each in enumerate(now)]
    if isinstance(now, dict):
        shared = [name for name in now if all(name in each for each in (before, small, large))]
        return now | {name: keep_rows(now[name], before[name], rows, small[name], large[name]) for name in shared}
    if dataclasses.is_dataclass(now) and not isinstance(now, (type, Setting)):
        for name in vars(now):
            here, then, two, three = (getattr(each, name) for each in (now, before, small, large))
            found = keep_rows(here, then, rows, two, three)
            object.__setattr__(now, name, found)
    return now
