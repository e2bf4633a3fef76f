"""Exploration: a uniform lottery accepts everybody with one probability, so no group is ahead and all labels show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.core.learners.components.uniform import PROBABILITIES, ROOM
from fairgate.problem import Problem
from fairgate.settings import Array


def acceptance_window(problem: Problem, groups: int) -> Array:
    """Return the lowest and highest probability at which a uniform lottery is feasible, (2, R), one half if none is.

    R is the problem's number of replicates, or 1.

    >>> import fairgate as fg
    >>> acceptance_window(fg.load_task("interior").problem, groups=2).T
    array([[0.22, 0.78]])
    """
    shares = np.stack((1.0 - PROBABILITIES, PROBABILITIES), axis=-1)[:, None, None, :]
    cells = np.zeros((len(PROBABILITIES), 1, groups, 2, 2))
    cells[..., 1, :] = cells[..., 0, :] = 0.5 * shares / groups
    residuals = problem.assess(np.repeat(cells, problem.replicates or 1, axis=1)).residuals
    fine = residuals.max(axis=0, initial=-1.0) <= -ROOM
    ends = PROBABILITIES[fine.argmax(axis=0)], PROBABILITIES[len(PROBABILITIES) - 1 - fine[::-1].argmax(axis=0)]
    return np.where(fine.any(axis=0), ends, 0.5)


def feasible_by_design(problem: Problem, groups: int, window: Array) -> NDArray[np.bool_]:
    """Whether a uniform lottery within the window (2, R) meets all constraints whatever people's labels are, (R,).

    It treats groups alike, but accepting people who will not do well may worsen their lot.

    >>> import fairgate as fg
    >>> problem = fg.load_task("interior").problem
    >>> feasible_by_design(problem, 2, acceptance_window(problem, 2))
    array([ True])
    >>> problem = fg.Problem(problem.utility, [fg.OutcomeImprovement()])
    >>> feasible_by_design(problem, 2, acceptance_window(problem, 2))
    array([False])
    """
    fine = np.ones(window.shape[1], dtype=bool)
    for rates in (np.full(groups, 0.05), np.arange(groups) % 2 * 0.9 + 0.05, np.arange(groups) % 2 * -0.9 + 0.95):
        labels = np.stack((1.0 - rates, rates), axis=-1) / groups
        for probability in window:
            decisions = np.stack((1.0 - probability, probability), axis=-1)
            cells = labels[None, :, :, None] * decisions[:, None, None]
            fine &= problem.assess(cells).residuals.max(axis=0, initial=-1.0) <= 0.0
    return fine


@dataclass
class Exploration:
    """When the uniform lottery is played, with which probability, and how long phases and epochs are.

    A run begins with three phases of high, low and high acceptance probability, which make scores respond, and one at
    the acceptance rate that looks best, so that the state is ready for it. Then come epochs: a few short ones, since
    predictions improve quickly at first.
    """

    window: Array  # lowest and highest feasible probability, (2, R)
    feasible: NDArray[np.bool_]  # whether the uniform lottery is feasible by design, (R,)
    phase_length: int  # rounds of each exploration phase
    epoch_length: int  # rounds of each later epoch
    phases: int = 3  # of high, low, high… probability before the one at the rate that looks best
    short_epochs: int = 6  # so many are of `short_length` before those of `epoch_length`
    short_length: int = 10

    @property
    def opening(self) -> int:
        """Rounds of all exploration phases."""
        return (self.phases + 1) * self.phase_length

    def duration(self, age: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rounds of the phase or epoch at `age`."""
        short = age < self.opening + self.short_epochs * self.short_length
        later = np.where(short, min(self.short_length, self.epoch_length), self.epoch_length)
        return np.where(age < self.opening, self.phase_length, later)

    def phase_due(self, age: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a phase of high or low probability begins at `age`."""
        return age < self.phases * self.phase_length

    def probability(self, rows: NDArray[np.int64], age: NDArray[np.int64]) -> Array:
        """Return the high or low probability of the phase that begins at `age` in replicates `rows`."""
        low, high = self.window[:, rows]
        return np.asarray(np.where(age // self.phase_length % 2 == 0, high, low))
