"""Special: special functions, from SciPy for NumPy arrays and from JAX for its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairgate.arrays import Array, namespace


def ndtr(values: Array) -> Array:
    """Return the standard normal distribution function of each value.

    This uses `erfc`, because the `ndtr` of JAX takes five times as long and is the same except for rounding.

    >>> float(ndtr(np.array(0.0)))
    0.5
    """
    return 0.5 * _functions(values).erfc(-math.sqrt(0.5) * values)


def ndtri(shares: Array) -> Array:
    """Return the standard normal quantile of each probability.

    >>> float(ndtri(np.array(0.5)))
    0.0
    """
    return _functions(shares).ndtri(shares)


def expit(values: Array) -> Array:
    """Return 1 / (1 + exp(−x)).

    >>> float(expit(np.array(0.0)))
    0.5
    """
    return _functions(values).expit(values)


def _functions(values: Array) -> Any:
    """Return the functions for these arrays; SciPy is imported on first use, because most learners do not need it."""
    if namespace(values) is np:
        from scipy import special
    else:
        from jax.scipy import special
    return special
