"""Settings: the numbers a user chooses, each one for all replicates or, as a sequence, one per replicate."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import numbers
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.errors import InputError

Array = NDArray[np.float64]

Index = int | slice | NDArray[np.int64]
"""Replicates to cut settings to; settings of a single one, by its number, are plain numbers."""
Number = float | Sequence[float] | Array

T = TypeVar("T")


@dataclass(frozen=True)
class Between:
    """The range a number must lie in; `open_low` or `open_high` leave that end out."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def holds(self, values: Array) -> bool:
        """Whether every value is finite and in the range."""
        above = values > self.low if self.open_low else values >= self.low
        below = values < self.high if self.open_high else values <= self.high
        return bool(np.all(np.isfinite(values) & above & below))

    def __str__(self) -> str:
        if not math.isfinite(self.low) and not math.isfinite(self.high):
            return "a finite number"
        if not math.isfinite(self.high):
            return f"a finite number {'above' if self.open_low else 'of at least'} {self.low:g}"
        return f"in {'(' if self.open_low else '['}{self.low:g}, {self.high:g}{')' if self.open_high else ']'}"


Real = Annotated[Number, Between()]
NonNegative = Annotated[Number, Between(low=0.0)]
Positive = Annotated[Number, Between(low=0.0, open_low=True)]
Share = Annotated[Number, Between(low=0.0, high=1.0)]
PositiveShare = Annotated[Number, Between(low=0.0, high=1.0, open_low=True)]


def as_floats(name: str, value: ArrayLike, ndim: int) -> Array:
    """Turn `value` into a finite float array of `ndim` axes, or say what is wrong with argument `name`."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {value!r}") from None
    if array.ndim != ndim or array.size == 0:
        raise InputError(f"{name} must be a non-empty array of {ndim} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        where = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(f"{name} must be finite, got {array.flat[where]} at position {where}")
    return array


def whole_number(name: str, value: int, low: int, why: str = "") -> int:
    """Check that argument `name` is a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < low:
        raise InputError(f"{name} must be a whole number of at least {low}{why}, got {value!r}")
    return int(value)


def keep_whole(settings: object, name: str, low: int) -> None:
    """Keep a setting that must be a whole number, the same for all replicates; 50.0 is one, as presets write it."""
    value = getattr(settings, name)
    whole = int(value) if isinstance(value, (float, np.floating)) and value.is_integer() else value
    why = ", the same for all replicates" if isinstance(value, Sequence | np.ndarray) else ""
    object.__setattr__(settings, name, whole_number(f"{type(settings).__name__}: {name}", whole, low, why))


@functools.cache
def _ranges(cls: Any) -> dict[str, Between]:
    """Annotated number fields of a settings class, with their ranges."""
    hints = get_type_hints(cls, include_extras=True)
    found = {}
    for field in dataclasses.fields(cls):
        for extra in getattr(hints[field.name], "__metadata__", ()):
            if isinstance(extra, Between):
                found[field.name] = extra
    return found


@functools.cache
def _others(cls: Any) -> tuple[str, ...]:
    """Fields of a settings class that are no annotated numbers."""
    return tuple(field.name for field in dataclasses.fields(cls) if field.name not in _ranges(cls))


@dataclass(frozen=True)
class Settings:
    """Base of everything configurable: checks its numbers, varies by replicate, describes itself.

    >>> from fairgate.constraints import DemographicParity
    >>> DemographicParity(epsilon=-0.1)
    Traceback (most recent call last):
        ...
    fairgate.errors.InputError: DemographicParity: epsilon must be in [0, 1], got -0.1
    >>> sweep = DemographicParity(epsilon=[0.02, 0.05, 0.10])
    >>> sweep.replicates, sweep.rows(slice(1, 3))
    (3, DemographicParity(epsilon=[0.05, 0.1]))
    """

    _tabled: ClassVar[frozenset[str]] = frozenset()
    """Numbers whose values in all replicates decide what is computed for each, as the extent of a table does."""

    def __post_init__(self) -> None:
        for name, between in self._numbers().items():
            value = getattr(self, name)
            try:
                array = np.asarray(value, dtype=np.float64)
            except (OverflowError, TypeError, ValueError):
                array = np.full(1, np.nan)
            if isinstance(value, (bool, str)) or array.ndim > 1 or array.size == 0 or not between.holds(array):
                raise InputError(f"{type(self).__name__}: {name} must be {between}, got {value!r}")
        _ = self.replicates  # numbers of different lengths are refused at once

    def _numbers(self) -> dict[str, Between]:
        kind: Any = type(self)
        return _ranges(kind)

    def _varying(self) -> Iterator[tuple[str, Array]]:
        for name in self._numbers():
            value = getattr(self, name)
            if np.ndim(value) == 1:
                yield name, np.asarray(value, dtype=np.float64)

    def _parts(self) -> Iterator[tuple[str, Settings]]:
        """Yield settings of its own that vary by replicate, such as a learner's history."""
        kind: Any = type(self)
        for name in _others(kind):
            value = getattr(self, name)
            if isinstance(value, Settings) and value.replicates is not None:
                yield name, value

    @property
    def replicates(self) -> int | None:
        """How many replicates these settings are for, or None if they fit any number."""
        lengths: dict[str, int | None] = {name: len(value) for name, value in self._varying()}
        lengths |= {name: part.replicates for name, part in self._parts()}
        return common_replicates({f"{type(self).__name__}.{name}": length for name, length in lengths.items()})

    def rows(self, index: Index) -> Self:
        """Return the same settings for these replicates only."""
        cut: dict[str, Any] = {name: value[index].tolist() for name, value in self._varying()}
        cut |= {name: part.rows(index) for name, part in self._parts()}
        return dataclasses.replace(self, **cut) if cut else self

    def clone(self) -> Self:
        """Make another object with the same settings."""
        return dataclasses.replace(self)

    def describe(self) -> dict[str, Any]:
        """Return the settings as plain data that JSON can hold; long arrays appear as their size and hash."""
        fields = (field for field in dataclasses.fields(self) if field.init)
        return {"kind": type(self).__name__, **{field.name: _plain(getattr(self, field.name)) for field in fields}}


def _plain(value: Any) -> Any:
    if isinstance(value, Settings):
        return value.describe()
    if isinstance(value, np.ndarray) and value.size > 64:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return {"shape": list(value.shape), "sha256": digest}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))  # the same in every process


def described(thing: object) -> dict[str, Any]:
    """Return settings as plain data; of something that is no `Settings`, its class and attributes.

    >>> class Mine:
    ...     def __init__(self, step):
    ...         self.step, self.rule = step, object()
    >>> described(Mine(0.1))
    {'kind': 'Mine', 'rule': '<object object>', 'step': 0.1}
    """
    if isinstance(thing, Settings):
        return thing.describe()
    kept = getattr(thing, "__dict__", {})
    return {"kind": type(thing).__name__, **{name: _plain(kept[name]) for name in sorted(kept)}}


def common_replicates(lengths: dict[str, int | None]) -> int | None:
    """Return the number of replicates that several settings agree on; say which ones disagree."""
    given = {name: length for name, length in lengths.items() if length is not None}
    if len(set(given.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in given.items())
        raise InputError(f"settings that vary by replicate must have equally many values, but {listed}")
    return next(iter(given.values()), None)


def loops_asked(seeds: int | None, varying: int | None) -> int:
    """Return the number of loops: as many as the settings that vary by replicate have values, else 10 if not asked."""
    loops = whole_number("seeds", (varying or 10) if seeds is None else seeds, 1)
    if varying is not None and varying != loops:
        raise InputError(f"seeds must be {varying}, as many as the settings that vary by replicate, got {seeds}")
    return loops


def replicates_of(thing: object) -> int | None:
    """Return how many replicates `thing` is for; anything that is no Settings fits any number."""
    return thing.replicates if isinstance(thing, Settings) else None


def rows_of(thing: T, index: Index) -> T:
    """Cut `thing` to these replicates; anything that is no Settings is the same for all."""
    return thing.rows(index) if isinstance(thing, Settings) else thing
