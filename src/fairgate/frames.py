"""Frames: tidy tables in the library one works with, and the columns that say what a row is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError, unknown_name

Backend = Literal["pandas", "polars", "pyarrow"]

BACKENDS = ("pandas", "polars", "pyarrow")
"""Libraries a result can be a table of."""


def frame_of(columns: Mapping[str, NDArray[Any]], backend: Backend = "pandas") -> Any:
    """Return columns of equal size as a table of a library, each flattened.

    >>> frame_of({"round": np.array([1, 2])}, backend="polars").columns
    ['round']
    """
    import narwhals as nw

    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    try:
        return nw.from_dict({name: values.ravel() for name, values in columns.items()}, backend=backend).to_native()
    except ImportError:
        raise InputError(f"backend {backend!r} is not installed: pip install {backend}") from None


def round_keys(task: str, learner: str, shape: tuple[int, ...], first: int = 0) -> dict[str, NDArray[Any]]:
    """Return what a row by replicate and round is about, (R, T): task, learner, replicate from 0 and round from 1.

    `first` is the number of rounds before the first one, in a piece of a run.
    """
    names = {"task": task, "learner": learner}
    found: dict[str, NDArray[Any]] = {name: np.full(shape, value) for name, value in names.items()}
    places = np.indices(shape)
    return found | {"replicate": places[0], "round": places[1] + 1 + first}
