"""A learner as a user may bring one: three methods, inherited from nothing."""

from __future__ import annotations

import numpy as np

import fairgate as fg
from fairgate.problem import Feedback
from fairgate.settings import Array


class Middle:
    """Always the middle of the grid."""

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> Array:
        grid = setting.thresholds
        return np.full((replicates, setting.groups), grid[len(grid) // 2])

    def propose(self, state: Array) -> Array:
        return state

    def observe(self, state: Array, played: fg.Policy, feedback: Feedback) -> None:
        pass
