"""Fixed: always the same threshold, a control and the sweep's instrument."""

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
class Fixed(Learner[State]):
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

    blind: ClassVar[bool] = True

    def choose(self, state: State) -> Array:
        """Play `threshold`."""
        return np.broadcast_to(np.asarray(self.threshold, dtype=np.float64), (state.replicates,))

    def learn(self, state: State, played: Policy, feedback: Feedback) -> None:
        """Learn nothing."""
