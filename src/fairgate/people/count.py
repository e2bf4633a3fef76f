"""count_people: a batch of people as the counts that a learner observes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.errors import InputError
from fairgate.settings import as_floats


def count_people(
    scores: ArrayLike,
    groups: ArrayLike,
    grid: ArrayLike,
    *,
    group_count: int,
    labels: ArrayLike | None = None,
    decisions: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Count people by group, score bin, and label or decision or both, as one replicate.

    Parameters
    ----------
    scores, groups
        Score and number of the group, from 0, of each person, (n,).
    grid
        Thresholds, increasing, (K,): they part K + 1 bins, and who scores a threshold is in the bin above it.
    group_count
        Number of groups, also of those nobody is from.
    labels
        0 or 1 for each person, (n,); if not given, everybody is counted as 0 where decisions are counted too.
    decisions
        Whether each was accepted, (n,).

    Returns
    -------
    counts
        (1, groups, bins, 2, 2), by label and decision, for the first argument of :meth:`fairgate.Problem.reveal`;
        without decisions (1, groups, bins, 2), by label, for the labels that `arrived`.

    Examples
    --------
    >>> cells = count_people([0.2, 0.5, 0.9], [0, 1, 1], grid=[0.5], group_count=2, decisions=[False, True, True])
    >>> cells.shape, cells[0, 1, 1, 0].tolist()                      # group 1, at or above 0.5: rejected, accepted
    ((1, 2, 2, 2, 2), [0, 2])
    >>> count_people([0.5, 0.9], [1, 1], grid=[0.5], group_count=2, labels=[0, 1])[0, 1, 1].tolist()
    [1, 1]
    """
    if labels is None and decisions is None:
        raise InputError("labels or decisions must be given, got neither")
    thresholds = as_floats("grid", grid, ndim=1)
    place = np.digitize(np.asarray(scores, dtype=np.float64), thresholds)
    label = np.zeros_like(place) if labels is None else _whole("labels", labels, 2, place.shape)
    columns, shape = (
        [_whole("groups", groups, group_count, place.shape), place, label],
        [group_count, len(thresholds) + 1, 2],
    )
    if decisions is not None:
        columns.append(_whole("decisions", decisions, 2, place.shape))
        shape.append(2)
    flat = np.bincount(np.ravel_multi_index(tuple(columns), tuple(shape)), minlength=math.prod(shape))
    return flat.reshape(1, *shape)


def _whole(name: str, values: Any, count: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
    found = np.asarray(values)
    if found.shape != shape:
        raise InputError(f"{name} must have one value per score, got shape {found.shape} for {shape}")
    wrong = ~np.isin(found, np.arange(count))
    if wrong.any():
        raise InputError(f"{name} must be whole numbers from 0 to {count - 1}, got {found[wrong][0]}")
    return found.astype(np.int64)
