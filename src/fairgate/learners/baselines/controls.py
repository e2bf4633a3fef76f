"""Random, Fixed and AcceptAll: controls that learn nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgate.learners.base import Learner
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.settings import Array, Real


@dataclass(frozen=True)
class Control(Learner[State]):
    """A learner that learns nothing."""

    blind: ClassVar[bool] = True

    def learn(self, state: State, played: Policy, feedback: Feedback) -> None:
        """Learn nothing."""


@dataclass(frozen=True)
class Random(Control):
    """Play a threshold of the grid, each as likely as any other.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.Random(), rounds=400, seeds=2)
    >>> len(set(run.thresholds[0, :, 0]))
    41
    """

    def choose(self, state: State) -> Array:
        """Play any threshold."""
        return state.grid[state.rng.integers(len(state.grid), size=state.replicates)]


@dataclass(frozen=True)
class Fixed(Control):
    """Play one threshold in every round.

    Parameters
    ----------
    threshold
        What to play; a sequence gives each replicate its own.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("mve-s"), fg.Fixed([-1.0, 1.0]), rounds=3, seeds=2)
    >>> run.thresholds[:, :, 0]
    array([[-1., -1., -1.],
           [ 1.,  1.,  1.]])
    """

    threshold: Real

    def choose(self, state: State) -> Array:
        """Play `threshold`."""
        return np.broadcast_to(np.asarray(self.threshold, dtype=np.float64), (state.replicates,))


@dataclass(frozen=True)
class AcceptAll(Control):
    """Accept everybody, whatever the score: a threshold of −∞, below any that the grid has.

    It is perfectly fair between groups, and a learner that cannot beat it has learnt nothing.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("german"), fg.learners.AcceptAll(), rounds=300, seeds=2)
    >>> run.summary()["acceptance"].mean, run.summary()["population_gap"].mean
    (1.0, 0.0)
    """

    def choose(self, state: State) -> Array:
        """Return −∞ for everybody."""
        return np.full(state.replicates, -np.inf)
