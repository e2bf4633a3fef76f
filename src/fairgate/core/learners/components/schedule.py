"""Schedule: what all loops do in the same rounds, and need not work out in the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairgate.arrays import Array, namespace


def when(condition: Array, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """Return what `then` makes of the operands if a condition (,) holds, else what `otherwise` does.

    Only one of the two is worked out, if the condition is the same in all loops: one on the number of the round is.
    Where loops differ, compiled code works out both, and :func:`~fairgate.core.learners.components.memory.either` is
    as fast.

    >>> import numpy as np
    >>> when(np.array(3) % 2 == 0, lambda x: x / 2, lambda x: 3 * x + 1, 3)
    10
    """
    if namespace(condition).__name__ == "numpy":
        return then(*operands) if condition else otherwise(*operands)
    from jax.lax import cond

    return cond(condition, then, otherwise, *operands)
