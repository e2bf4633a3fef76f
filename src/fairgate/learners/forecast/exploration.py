"""Exploration: a uniform lottery accepts everybody with one probability, so no group is ahead and all labels show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.policy import Policy
from fairgate.problem import Problem
from fairgate.settings import Array

PROBABILITIES = np.linspace(0.02, 0.98, 49)
"""Acceptance probabilities a uniform lottery may have."""


def acceptance_window(problem: Problem, groups: int, room: float = 0.005) -> Array:
    """Return the lowest and highest probability at which a uniform lottery is feasible, (2, R), one half if none is.

    R is the problem's number of replicates, or 1. Feasible is by `room`: people draw their luck.

    >>> import fairgate as fg
    >>> acceptance_window(fg.load_task("interior").problem, groups=2).T
    array([[0.22, 0.78]])
    """
    shares = np.stack((1.0 - PROBABILITIES, PROBABILITIES), axis=-1)[:, None, None, :]
    cells = np.zeros((len(PROBABILITIES), 1, groups, 2, 2))
    cells[..., 1, :] = cells[..., 0, :] = 0.5 * shares / groups
    residuals = problem.assess(np.repeat(cells, problem.replicates or 1, axis=1)).residuals
    fine = residuals.max(axis=0, initial=-1.0) <= -room
    ends = PROBABILITIES[fine.argmax(axis=0)], PROBABILITIES[len(PROBABILITIES) - 1 - fine[::-1].argmax(axis=0)]
    return np.where(fine.any(axis=0), ends, 0.5)


@dataclass
class Exploration:
    """Where the uniform lottery is in play, with which probability, and how long phases and epochs are.

    A run begins with three phases of high, low and high acceptance probability, which make scores respond, and one at
    the acceptance rate that looks best, so that the state is ready for it. Then come epochs: a few short ones, since
    predictions improve quickly at first.

    Attributes
    ----------
    active, probability
        Whether the uniform lottery is in play, and its acceptance probability, (R,).
    window
        Lowest and highest feasible probability, (2, R).
    phase_length, epoch_length
        Rounds of each exploration phase, and of each later epoch.
    phases
        Exploration phases of high, low, high… probability before the one at the rate that looks best.
    short_epochs, short_length
        So many epochs are of so few rounds before those of `epoch_length`.
    """

    active: NDArray[np.bool_]
    probability: Array
    window: Array
    phase_length: int
    epoch_length: int
    phases: int = 3
    short_epochs: int = 6
    short_length: int = 10

    @classmethod
    def start(
        cls, problem: Problem, replicates: int, groups: int, *, phase_length: int, epoch_length: int
    ) -> Exploration:
        """Make one whose first phase has yet to begin."""
        window = np.array(np.broadcast_to(acceptance_window(problem, groups), (2, replicates)))
        return cls(np.zeros(replicates, dtype=bool), np.full(replicates, 0.5), window, phase_length, epoch_length)

    @property
    def opening(self) -> int:
        """Rounds of all exploration phases."""
        return (self.phases + 1) * self.phase_length

    def duration(self, age: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rounds of the phase or epoch at `age`."""
        short = age < self.opening + self.short_epochs * self.short_length
        later = np.where(short, min(self.short_length, self.epoch_length), self.epoch_length)
        return np.where(age < self.opening, self.phase_length, later)

    def begin_phase(self, rows: NDArray[np.int64], age: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Begin a phase of high or low probability where that is due at `age`, and return where it is, (rows,)."""
        due = age < self.phases * self.phase_length
        begun = rows[due]
        low, high = self.window[:, begun]
        self.active[begun] = True
        self.probability[begun] = np.where(age[due] // self.phase_length % 2 == 0, high, low)
        return due

    def explore(self, rows: NDArray[np.int64], active: NDArray[np.bool_], rate: Array) -> None:
        """Begin an epoch in replicates `rows`: the uniform lottery at this acceptance rate where `active`, else not."""
        self.active[rows] = active
        self.probability[rows] = np.clip(rate, *self.window[:, rows])

    def in_place_of(self, policy: Policy) -> Policy:
        """Put the uniform lottery in place of a policy of two thresholds or more where it is active.

        >>> window = np.array([[0.25], [0.75]])
        >>> exploration = Exploration(np.array([True]), np.array([0.75]), window, phase_length=15, epoch_length=25)
        >>> uniform = exploration.in_place_of(Policy(np.array([[[0.5]], [[np.inf]]]), np.array([[1.0], [0.0]])))
        >>> uniform.thresholds.tolist(), uniform.weights.tolist()
        ([[[-inf]], [[inf]]], [[0.75], [0.25]])
        """
        where, probability = self.active, self.probability[self.active]
        thresholds, weights = policy.thresholds.copy(), policy.weights.copy()
        thresholds[0, where], thresholds[1:, where] = -np.inf, np.inf
        weights[0, where], weights[1, where], weights[2:, where] = probability, 1.0 - probability, 0.0
        return Policy(thresholds, weights)
