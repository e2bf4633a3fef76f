"""What a phase map reads off a sweep: which settings it shows, where they lie, and their figures there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name
from fairgate.plots.scales import Scale, written
from fairgate.settings import Array


class Swept(Protocol):
    """The part of :class:`fairgate.sweep.Sweep` that is drawn: S settings × L learners."""

    @property
    def task(self) -> str:
        """Name of the task."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what was swept."""

    @property
    def design(self) -> Mapping[str, NDArray[Any]]:
        """Each parameter's value in every setting, (S,)."""

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners."""

    @property
    def figures(self) -> Mapping[str, Array]:
        """What each seed came to, (S, L, R) per figure; NaN where a cell failed."""

    @property
    def truth(self) -> Mapping[str, NDArray[Any]]:
        """What was possible in every setting, (S,)."""

    def mean(self, figure: str) -> Array:
        """Return the mean over seeds, (S, L)."""

    def winners(self, figure: str = "shortfall") -> Any:
        """Return the best learner of each setting, by how much it is better, and the p-value of that."""


@dataclass(frozen=True, repr=False)
class View:
    """Settings in the plane of two parameters: the n that are shown, each at one of P points.

    Attributes
    ----------
    x, y
        The scales of the two parameters.
    members
        Numbers of the settings shown, (n,).
    point
        Which point each of them lies at, (n,).
    columns, rows
        Number of each point's x and y value in their order, (P,).
    rest
        What was done about the other parameters, in words.
    """

    x: Scale
    y: Scale
    members: NDArray[np.int64]
    point: NDArray[np.int64]
    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    rest: str

    @property
    def is_grid(self) -> bool:
        """Whether there is a setting for every pair of an x and a y value."""
        return len(self.columns) == len(self.x.values) * len(self.y.values)

    @property
    def crowd(self) -> int:
        """Most settings at one point."""
        return int(np.bincount(self.point).max())

    def mean(self, values: NDArray[Any]) -> Array:
        """Return the mean of (S,) at each point, (P,), over the settings where it is known; NaN where it is nowhere."""
        shown = np.asarray(values, dtype=np.float64)[self.members]
        known = np.isfinite(shown)
        count = np.bincount(self.point[known], minlength=len(self.columns))
        total = np.bincount(self.point[known], shown[known], minlength=len(self.columns))
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def matrix(self, values: Array) -> Array:
        """Return the values of the points (P,) of a grid by row and column, (rows, columns)."""
        found = np.full((len(self.y.values), len(self.x.values)), np.nan)
        found[self.rows, self.columns] = values
        return found


def view_of(sweep: Swept, x: str | None, y: str | None, at: Mapping[str, Any] | None) -> View:
    """Find the settings to show, by the plane's two parameters and the values `at` which others are held fixed."""
    names = tuple(sweep.parameters)
    if len(names) < 2:
        raise InputError(
            f"a phase map needs two swept parameters, but the sweep has {len(names)}{': ' if names else ''}"
            f"{', '.join(names)}; the page of `fairgate sweep` draws one as curves, and frame() has their figures"
        )
    x = x if x is not None else next(name for name in names if name != y)
    y = y if y is not None else next(name for name in names if name != x)
    for argument, name in (("x", x), ("y", y)):
        if name not in names:
            raise unknown_name(f"{argument} (a swept parameter)", name, names)
    if x == y:
        raise InputError(f"x and y must be different parameters, got {x!r} for both; there are {', '.join(names)}")
    fixed = dict(at or {})
    shown = np.ones(len(sweep.design[x]), dtype=bool)
    for name, value in fixed.items():
        if name not in names:
            raise unknown_name("parameter of at", name, names)
        if name in (x, y):
            raise InputError(f"at must hold parameters other than x and y, got {name!r}")
        shown &= _is_value(name, sweep.design[name], value)
    members = np.flatnonzero(shown)
    if not len(members):
        raise InputError(f"at={fixed!r} leaves no setting of the sweep: no setting has all of these values")
    first, second = (Scale.of(name, sweep.design[name][members]) for name in (x, y))
    columns, rows = first.index(sweep.design[x][members]), second.index(sweep.design[y][members])
    pairs, point = np.unique(rows * len(first.values) + columns, return_inverse=True)
    averaged = [name for name in names if name not in (x, y, *fixed)]
    words = [f"{name} = {written(value)}" for name, value in fixed.items()]
    words += [f"mean over {' and '.join(averaged)}"] if averaged else []
    width = len(first.values)
    return View(first, second, members, point, pairs % width, pairs // width, ", ".join(words))


def _is_value(name: str, values: NDArray[Any], value: Any) -> NDArray[np.bool_]:
    """Which settings have this value of a parameter; an error if none has."""
    numbers = np.issubdtype(values.dtype, np.number)
    if numbers and not isinstance(value, (int, float, np.number)):
        raise InputError(f"at[{name!r}] must be a number, got {value!r}")
    found = np.isclose(values, value, rtol=1e-6, atol=0) if numbers else values == value
    if not found.any():
        known = np.unique(values)
        near = written(known[np.abs(known - value).argmin()]) if numbers else ", ".join(map(str, known))
        raise InputError(f"at[{name!r}] must be a value of the sweep, got {value!r}: the nearest is {near}")
    return np.asarray(found)


def failed(sweep: Swept) -> NDArray[np.bool_]:
    """Which cells have no figures, (S, L)."""
    return np.asarray(np.isnan(sweep.figures["acceptance"]).all(axis=2))


def unattainable(sweep: Swept) -> NDArray[np.bool_]:
    """In which settings no threshold meets every constraint, (S,); one in which all learners failed is none of them."""
    return np.asarray(~sweep.truth["attainable"] & ~failed(sweep).all(axis=1))
