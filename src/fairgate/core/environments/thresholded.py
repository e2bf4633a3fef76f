"""Thresholded: cells and histograms of environments that define P(group, label, score ≥ threshold)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from fairgate.arrays import Array, namespace
from fairgate.core.policy import Policy
from fairgate.environments import Environment
from fairgate.errors import InputError


class Thresholded(ABC):
    """An environment whose cells and histograms follow from P(group, label, score ≥ threshold)."""

    @abstractmethod
    def above(self, state: Any, thresholds: Array) -> Array:
        """Return P(group, label, score ≥ threshold), (N, groups, 2), at thresholds (N, groups or 1)."""

    @abstractmethod
    def everybody(self, state: Any) -> Array:
        """Return P(group, label), (groups, 2)."""

    def above_edges(self, state: Any, edges: Array) -> Array:
        """Return P(group, label, score ≥ edge), (K, groups, 2), at edges (K,) that stay the same for many rounds."""
        return self.above(state, edges[:, None])

    def cells(self, state: Any, policy: Policy) -> Array:
        """Return P(group, label, decision), (groups, 2, 2)."""
        accepted = self.above(state, policy.thresholds)
        xp = namespace(accepted)
        decided = xp.stack((self.everybody(state) - accepted, accepted), axis=-1)
        decided = xp.maximum(decided, 0.0)  # differences of rounded numbers can fall just below 0
        return (decided * policy.weights[:, None, None, None]).sum(axis=0)

    def histogram(self, state: Any, edges: Array) -> Array:
        """Return P(group, bin, label), (groups, K + 1, 2), of scores binned by `edges` (K,)."""
        above, everybody = self.above_edges(state, edges), self.everybody(state)[None]
        xp = namespace(above)
        ends = xp.concatenate((everybody, above, xp.zeros_like(everybody)))
        return xp.moveaxis(xp.maximum(ends[:-1] - ends[1:], 0.0), 0, 1)


def number(described: Environment, name: str) -> Array:
    """Return an environment's setting that is one number, (); raise an error if it varies by replicate."""
    value = np.asarray(getattr(described, name), dtype=np.float64)
    if value.size != 1:
        kind = type(described).__name__
        raise InputError(f"{kind}: {name} must be one number, as a loop has one environment, got {value.tolist()}")
    return value.reshape(())


def per_group(described: Environment, name: str) -> Array:
    """Return an environment's setting that has one number per group, (groups,)."""
    return np.asarray(getattr(described, name), dtype=np.float64)
