"""Memory: update a learner's memory after a round, except after an empty batch."""

from __future__ import annotations

from typing import Any, TypeVar

from fairgate.arrays import Array, namespace
from fairgate.problem import Feedback

T = TypeVar("T")


def taught(feedback: Feedback, before: T, after: T) -> T:
    """Return the memory `after` a round, or the memory `before` it if the batch is empty."""
    return either(came(feedback), after, before)


def came(feedback: Feedback) -> Array:
    """Return whether the batch has any applicants, ()."""
    return feedback.observation.people.sum() > 0


def either(condition: Array, one: T, other: T) -> T:
    """Return one of two arrays, or records of arrays of the same shapes: `one` where the condition () holds.

    >>> import numpy as np
    >>> either(np.array(False), (1.0, 2.0), (3.0, 4.0))
    (3.0, 4.0)
    """
    xp = namespace(condition)
    if xp.__name__ == "numpy":
        return one if condition else other
    from jax import tree

    chosen: Any = tree.map(lambda first, second: xp.where(condition, first, second), one, other)
    found: T = chosen
    return found
