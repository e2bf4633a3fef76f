"""Frames: columns as a table of the library that one works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

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
