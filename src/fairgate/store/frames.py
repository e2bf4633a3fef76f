"""Frames: columns as a table of the library that one works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.errors import InputError, unknown_name

Backend = Literal["pandas", "polars", "pyarrow"]

BACKENDS = ("pandas", "polars", "pyarrow")
"""Libraries that a table can be of."""


def as_frame(columns: Mapping[str, ArrayLike], backend: str = "pandas") -> Any:
    """Return columns, each of them ravelled, as a table of this library.

    >>> as_frame({"figure": ["gap", "reward"], "mean": [0.1, 0.5]}, "polars").shape
    (2, 2)
    """
    import narwhals as nw

    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    try:
        found = {name: np.ravel(values) for name, values in columns.items()}
        return nw.from_dict(found, backend=cast(Backend, backend)).to_native()
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
