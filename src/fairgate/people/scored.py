"""Scored: people by distinct score, group and label, which is all that choosing a threshold needs to know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairgate.errors import InputError
from fairgate.settings import Array


class Scored(NamedTuple):
    """People by distinct score, group and label.

    Attributes
    ----------
    scores
        (S,), increasing.
    people
        (S, G, 2).
    groups
        Names of the groups; (None,) if none were given.
    """

    scores: Array
    people: Array
    groups: tuple[Any, ...]

    @classmethod
    def empty(cls, groups: tuple[Any, ...]) -> Scored:
        """Nobody yet of groups that are known."""
        return cls(np.zeros(0), np.zeros((0, len(groups), 2)), groups)

    @classmethod
    def merged(cls, parts: Sequence[Scored]) -> Scored:
        """Add up different people."""
        names = in_order("sensitive_features", (group for part in parts for group in part.groups))
        scores, place = np.unique(np.concatenate([part.scores for part in parts]), return_inverse=True)
        people = np.zeros((len(scores), len(names), 2))
        places = np.split(place, np.cumsum([len(part.scores) for part in parts])[:-1])
        for part, rows in zip(parts, places, strict=True):
            people[rows[:, None], [names.index(group) for group in part.groups]] += part.people
        return cls(scores, people, names)

    def accepted(self, thresholds: Sequence[Array]) -> list[Array]:
        """People by label at or above the thresholds (K,) of each group, (K, 2) per group."""
        tails = np.zeros((len(self.scores) + 1, *self.people.shape[1:]))
        tails[:-1] = self.people[::-1].cumsum(axis=0)[::-1]
        return [tails[np.searchsorted(self.scores, own), group] for group, own in enumerate(thresholds)]

    def cells(self, accepted: Array) -> Array:
        """Return counts by group, label and decision, (K, G, 2, 2), if these people (K, G, 2) are accepted."""
        rejected = np.maximum(self.people.sum(axis=0) - accepted, 0.0)
        return np.stack((rejected, accepted), axis=-1)


def in_order(argument: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Distinct values, sorted; say so if they are no kind of name."""
    values = list(values)
    try:
        return tuple(sorted(set(values)) if len(set(values)) > 1 else set(values))
    except TypeError:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise InputError(f"{argument} must be of one kind that can be sorted, got {kinds}") from None
