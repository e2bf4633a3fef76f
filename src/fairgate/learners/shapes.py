"""Arrays that tell their shape where they are declared: ``people: Annotated[Array, "R G K"]``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from fairgate.setting import Setting

T = TypeVar("T")


def filled(kind: Callable[..., T], sizes: Mapping[str, int], **given: Any) -> T:
    """Make an object of a dataclass: its arrays are 0, or the number `given`; what has no shape must be given.

    >>> from dataclasses import dataclass
    >>> from fairgate.settings import Array
    >>> @dataclass
    ... class Sums:
    ...     people: Annotated[Array, "R G"]
    ...     means: Annotated[Array, "1+J"]
    >>> filled(Sums, {"R": 1, "G": 2, "J": 1}, means=0.5)
    Sums(people=array([[0., 0.]]), means=array([0.5, 0.5]))
    """
    made = dict(given)
    for name, (axes, dtype) in _declared(kind).items():
        shape = [sum(int(sizes.get(part, part)) for part in axis.split("+")) for axis in axes.split()]
        made[name] = np.array(np.broadcast_to(np.asarray(given.get(name, 0), dtype=dtype), shape))
    return kind(**made)


def fresh(kind: Callable[..., T], setting: Setting, common: Mapping[str, Any], **given: Any) -> T:
    """Make a learner's state for R replicates, G groups, K thresholds and J residuals; see :func:`filled`."""
    sizes = {"G": setting.groups, "K": len(setting.thresholds), "J": len(setting.problem.names)}
    return filled(kind, {"R": common["replicates"], **sizes}, **common, **given)


@functools.cache
def _declared(kind: Any) -> dict[str, tuple[str, Any]]:
    """Return the axes and the type of numbers of every field that has a shape."""
    hints = get_type_hints(kind, include_extras=True)
    shaped = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Annotated}
    return {name: (axes, get_args(get_args(array)[1])[0]) for name, (array, axes) in shaped.items()}
