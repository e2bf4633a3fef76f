"""AcceptAll: everybody, a control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairgate.learners.base import Learner
from fairgate.learners.state import State
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.settings import Array


@dataclass(frozen=True)
class AcceptAll(Learner[State]):
    """Accept everybody, whatever the score: a threshold of −∞, below any that the grid has.

    It is perfectly fair between groups, and a learner that cannot beat it has learnt nothing.

    Examples
    --------
    >>> import fairgate as fg
    >>> run = fg.simulate(fg.load_task("german"), fg.learners.AcceptAll(), rounds=300, seeds=2)
    >>> run.summary()["acceptance"].mean, run.summary()["population_gap"].mean
    (1.0, 0.0)
    """

    blind: ClassVar[bool] = True

    def choose(self, state: State) -> Array:
        """Return −∞ for everybody."""
        return np.full(state.replicates, -np.inf)

    def learn(self, state: State, played: Policy, feedback: Feedback) -> None:
        """Learn nothing."""
