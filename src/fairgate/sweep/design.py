"""Designs: which settings a sweep looks at, all combinations or some at random."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name
from fairgate.settings import whole_number

DESIGNS = ("full", "random")
"""All combinations of the values, or settings drawn between their ends."""

Column = NDArray[Any]


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`: `count` of them, evenly spaced or, if `log`, by equal factors.

    >>> Range(0.01, 1.0, 3, log=True).values().round(3).tolist()
    [0.01, 0.1, 1.0]
    """

    low: float
    high: float
    count: int | None = None
    log: bool = False

    def check(self, name: str) -> None:
        """Refuse a range with nothing in it, saying whose it is."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or self.low > self.high:
            raise InputError(f"{name}: a range must go from a number to one no lower, got {self.low:g}:{self.high:g}")
        if self.count is not None:
            whole_number(f"{name}: count of a range", self.count, 1)
        if self.log and self.low <= 0:
            raise InputError(f"{name}: a range with equal factors must begin above 0, got {self.low:g}")

    def values(self, whole: bool = False) -> Column:
        """Return the numbers, rounded if they must be whole; a range without a count has only its ends."""
        spaced = np.geomspace if self.log else np.linspace
        found = spaced(self.low, self.high, 2 if self.count is None else self.count)
        return np.unique(np.rint(found).astype(np.int64) if whole else _short(found))

    def between(self, shares: Column) -> Column:
        """Return numbers that lie so far, from 0 to 1, between the ends."""
        if self.log:
            return _short(self.low * (self.high / self.low) ** shares)
        return _short(self.low + (self.high - self.low) * shares)


def _short(values: Column) -> Column:
    """Round to ten digits, which a command can repeat."""
    return np.array([float(f"{value:.10g}") for value in values])


def parse_range(text: str) -> tuple[str, Range | list[float]]:
    """Read ``rate=0.01:0.5:20``, ``rate=0.01:0.5:20:log``, ``rate=0.01:0.5`` or ``batch=64,256,1024``.

    >>> parse_range("epsilon=0.01:0.1:10")
    ('epsilon', Range(low=0.01, high=0.1, count=10, log=False))
    >>> parse_range("batch=64,256")
    ('batch', [64.0, 256.0])
    """
    name, equals, given = text.partition("=")
    told = f"--over {text!r} must be name=low:high:count, name=low:high:count:log or name=value,value"
    if not equals or not name.strip():
        raise InputError(told)
    try:
        if ":" not in given:
            return name.strip(), [float(each) for each in given.split(",")]
        low, high, *rest = given.split(":")
        log = rest[-1:] == ["log"]
        counts = rest[: len(rest) - log]
        if len(counts) > 1:
            raise ValueError
        return name.strip(), Range(float(low), float(high), int(counts[0]) if counts else None, log)
    except ValueError:
        raise InputError(told) from None


def make_design(
    over: Mapping[str, Range | Sequence[Any] | Any],
    whole: Mapping[str, bool],
    kind: str = "full",
    settings: int | None = None,
    seed: int = 0,
) -> dict[str, Column]:
    """Return the settings, a column (settings,) per parameter.

    Parameters
    ----------
    over
        Values of each parameter: a :class:`Range`, or any numbers.
    whole
        Whether each parameter must be a whole number; its ranges are rounded.
    kind
        ``"full"``: all combinations. ``"random"``: `settings` of them, spread over the ranges by a Latin hypercube, and
        drawn from values that were listed; fewer where the same would come twice.
    seed
        Root of the random numbers of a random design.

    Examples
    --------
    >>> found = make_design({"rate": Range(0.1, 0.5, 3), "batch": [64, 256]}, {"batch": True})
    >>> found["rate"].tolist(), found["batch"].tolist()
    ([0.1, 0.1, 0.3, 0.3, 0.5, 0.5], [64, 256, 64, 256, 64, 256])
    """
    if kind not in DESIGNS:
        raise unknown_name("design", kind, DESIGNS)
    axes = {name: _axis(name, given, whole.get(name, False)) for name, given in over.items()}
    if kind == "full":
        if settings is not None:
            raise InputError(f"settings is how many a random design draws, got {settings} for a full one")
        for name, axis in axes.items():
            if isinstance(axis, Range) and axis.count is None and axis.low < axis.high:
                raise InputError(
                    f"{name}: a full design needs the count of values between {axis.low:g} and {axis.high:g}, as in "
                    f"{name}={axis.low:g}:{axis.high:g}:10"
                )
        columns = [
            axis.values(whole.get(name, False)) if isinstance(axis, Range) else axis for name, axis in axes.items()
        ]
        found = zip(*itertools.product(*columns), strict=True)
        return {name: np.array(values) for name, values in zip(axes, found, strict=True)}
    from scipy.stats import qmc

    count = whole_number("settings", 100 if settings is None else settings, 1)
    shares = qmc.LatinHypercube(max(len(axes), 1), rng=np.random.default_rng(seed)).random(count)
    found_at = {}
    for name, axis, share in zip(axes, axes.values(), shares.T, strict=False):
        drawn = axis.between(share) if isinstance(axis, Range) else axis[(share * len(axis)).astype(np.int64)]
        found_at[name] = np.rint(drawn).astype(np.int64) if whole.get(name) else drawn
    rows = list(zip(*(column.tolist() for column in found_at.values()), strict=True))
    different = [place for place, row in enumerate(rows) if row not in rows[:place]]
    return {name: column[different] for name, column in found_at.items()}


def _axis(name: str, given: Any, whole: bool) -> Range | Column:
    if isinstance(given, Range):
        given.check(name)
        return given
    values = np.atleast_1d(np.asarray(given))
    if values.ndim != 1 or values.size == 0:
        raise InputError(f"{name} must have at least one value, got {given!r}")
    if not np.issubdtype(values.dtype, np.number) or not np.isfinite(values).all():
        raise InputError(f"{name} must be finite numbers, got {given!r}")
    if len(np.unique(values)) < len(values):
        raise InputError(f"{name} must have each value once, got {given!r}")
    if whole and (values != np.rint(values)).any():
        raise InputError(f"{name} must be whole numbers, got {given!r}")
    return values.astype(np.int64) if whole else values
