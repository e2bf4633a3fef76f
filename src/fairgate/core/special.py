"""Special functions, by SciPy for arrays of NumPy and by JAX for its own."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from fairgate.arrays import Array, namespace


def ndtr(values: Array) -> Array:
    """Return the probability that a standard normal number is below each of these.

    By `erfc`, since JAX takes five times as long for its own `ndtr`, which is the same but for rounding.

    >>> float(ndtr(np.array(0.0)))
    0.5
    """
    return 0.5 * _functions(values).erfc(-math.sqrt(0.5) * values)


def ndtri(shares: Array) -> Array:
    """Return the number that a standard normal one is below with each of these probabilities.

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
    """Return the functions for these arrays; SciPy's are imported late, since most learners need none of them."""
    return import_module("scipy.special" if namespace(values) is np else "jax.scipy.special")
