"""Special functions, by SciPy for arrays of NumPy and by JAX for its own."""

from __future__ import annotations

import numpy as np

from fairgate.arrays import Array, namespace


def ndtr(values: Array) -> Array:
    """Return the probability that a standard normal number is below each of these.

    >>> float(ndtr(np.array(0.0)))
    0.5
    """
    if namespace(values) is np:
        from scipy.special import ndtr as of_numpy  # a tenth of a second, and not needed by all

        return of_numpy(values)
    from jax.scipy.special import ndtr as of_jax

    return of_jax(values)
