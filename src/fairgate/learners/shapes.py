"""Arrays that tell their shape where they are declared: ``people: Annotated[Array, "R G K"]``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from fairgate.setting import Setting
from fairgate.settings import Array

T = TypeVar("T")


def filled(kind: Callable[..., T], sizes: Mapping[str, int], **given: Any) -> T:
    """Make an object of a dataclass: its arrays are 0, or the number `given`, and those of its parts 0.

    >>> from fairgate.learners.forecast.correction import ShiftCorrection
    >>> filled(ShiftCorrection, {"R": 2, "G": 1}, weight=5.0)
    ShiftCorrection(amount=array([[[0.], [0.]], [[0.], [0.]]]), weight=array([[5.], [5.]]), before=array(...
    """
    made = dict(given)
    for name, hint in _hints(kind).items():
        if get_origin(hint) is Annotated:
            array, axes = get_args(hint)
            shape = [sum(int(sizes.get(part, part)) for part in axis.split("+")) for axis in axes.split()]
            numbers = np.asarray(given.get(name, 0), dtype=_scalar(array))
            made[name] = np.array(np.broadcast_to(numbers, shape))
        elif name not in given and isinstance(hint, type) and is_dataclass(hint):
            made[name] = filled(hint, sizes)
    return kind(**made)


def sizes_of(setting: Setting, replicates: int) -> dict[str, int]:
    """Return the sizes by which shapes go: R replicates, G groups, K thresholds and J residuals."""
    names, thresholds = setting.problem.names, setting.thresholds
    return {"R": replicates, "G": setting.groups, "K": len(thresholds), "J": len(names)}


def fresh(kind: Callable[..., T], setting: Setting, common: Mapping[str, Any], **given: Any) -> T:
    """Make a learner's state; see :func:`filled`."""
    return filled(kind, sizes_of(setting, common["replicates"]), **common, **given)


def _scalar(array: Any) -> Any:
    """Return the type of the numbers in ``NDArray[…]``, which names it directly from NumPy 2.5 on."""
    *_, last = get_args(array)
    return get_args(last)[0] if get_args(last) else last


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def bins_last(labels: Array) -> Array:
    """Return labels by score bin (…, bins, 2) with bins last in memory, as batches have them: sums are faster so."""
    return np.ascontiguousarray(labels.swapaxes(-1, -2)).swapaxes(-1, -2)
