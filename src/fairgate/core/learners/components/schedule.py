"""Schedule: compute a step only in the rounds that need it, if these are the same in all loops, or several times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairgate.arrays import Array, namespace


def when(condition: Array, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """Return the result of `then` on the operands if a condition () holds, else the result of `otherwise`.

    If the condition is the same in all loops, such as one on the number of the round, only one of the two is computed.
    If loops differ, compiled code computes both, and :func:`~fairgate.core.learners.components.memory.either` is as
    fast.

    >>> import numpy as np
    >>> when(np.array(3) % 2 == 0, lambda x: x / 2, lambda x: 3 * x + 1, 3)
    10
    """
    if namespace(condition).__name__ == "numpy":
        return then(*operands) if condition else otherwise(*operands)
    from jax.lax import cond

    return cond(condition, then, otherwise, *operands)


def repeated(xp: Any, times: int, step: Callable[[Any], Any], start: Any) -> Any:
    """Apply a step several times; compiled code, of the library `xp`, contains it once.

    >>> import numpy as np
    >>> repeated(np, 3, lambda x: 2 * x, 1)
    8
    """
    if xp.__name__ == "numpy":
        for _ in range(times):
            start = step(start)
        return start
    from jax.lax import fori_loop

    return fori_loop(0, times, lambda _, value: step(value), start)
