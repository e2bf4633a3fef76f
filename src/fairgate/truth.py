"""Truth: what any thresholds lead to on a task in the long run, solved exactly, as of any round."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.amounts import amount
from fairgate.environments.base import Environment
from fairgate.errors import InputError
from fairgate.policy import Policy
from fairgate.problem import Assessment, is_feasible, violation
from fairgate.settings import Array
from fairgate.tasks import Task
from fairgate.thresholds import ThresholdSweep, exact_sweep

EVERY = 25
"""Rounds between two looks at an environment that changes by itself."""

LATTICE = 20_000
"""Steps between the ends of the grid; a played threshold between two of the grid is moved to the nearest step."""


@dataclass(frozen=True, repr=False)
class Moment:
    """A task as it stands from a round on, and the exact sweep of its grid."""

    first: int
    whole: Task
    sweep: ThresholdSweep

    def __repr__(self) -> str:
        return f"Moment({self.whole.name} from round {self.first}; best: {self.sweep.best})"

    @property
    def task(self) -> Task:
        """The task frozen in the round; made again each time, as its tables are large."""
        return self.whole.at(self.first)

    @functools.cached_property
    def feasible(self) -> bool:
        """Whether any threshold of the grid meets every constraint."""
        return bool(is_feasible(self.sweep.residuals).any())

    @functools.cached_property
    def reward(self) -> float:
        """Reward of the best feasible threshold of the grid; NaN if there is none."""
        return self.sweep.best.reward if self.feasible else float("nan")

    @functools.cached_property
    def least(self) -> float:
        """Smallest violation of any threshold of the grid: 0 if one is feasible."""
        return 0.0 if self.feasible else float(violation(self.sweep.residuals).min())

    def solve(self, thresholds: Array) -> Assessment:
        """Return reward (N,) and residuals (J, N) in the steady states of `thresholds` (N, groups)."""
        return self.whole.problem.assess(self.task.environment.long_run_cells(Policy.of(thresholds)))

    def played(self, thresholds: Array) -> Assessment:
        """Return the steady-state reward (R, T) and residuals (J, R, T) of thresholds (R, T, groups)."""
        shape = thresholds.shape[:2]
        found = _look_up(self, thresholds.reshape(-1, thresholds.shape[2]))
        return Assessment(found.reward.reshape(shape), found.residuals.reshape(-1, *shape))


@dataclass(frozen=True, repr=False)
class Truth:
    """The moments of a task: one if it stays as it is, else one every 25 rounds in which it has changed.

    Examples
    --------
    >>> import fairgate as fg
    >>> truth = truth_of(fg.load_task("mve-s"), rounds=100)
    >>> len(truth.moments), truth.last.feasible
    (1, True)
    >>> bool(np.isclose(truth.last.reward, fg.oracle(fg.load_task("mve-s")).best.reward))
    True
    """

    moments: tuple[Moment, ...]
    rounds: int

    def __repr__(self) -> str:
        size = f"{amount(self.rounds, 'round')}, {amount(len(self.moments), 'moment')}"
        return f"Truth({self.task_name}: {size}; best at the end: {self.last.sweep.best})"

    @property
    def last(self) -> Moment:
        """The task as it stands at the end."""
        return self.moments[-1]

    @property
    def task(self) -> Task:
        """The task, as it changes."""
        return self.moments[0].whole

    @property
    def task_name(self) -> str:
        """Name of the task."""
        return self.task.name

    def by_round(self, values: Sequence[float]) -> Array:
        """Return what is given by moment for every round, (T,)."""
        return np.repeat(values, np.diff([*(moment.first for moment in self.moments), self.rounds]))

    def targets(self, first: int, rounds: int) -> tuple[Array, Array]:
        """Return, for each of some rounds, the best feasible reward, NaN if there is none, and the least violation."""
        self._check(first, rounds)
        best, least = ([getattr(moment, name) for moment in self.moments] for name in ("reward", "least"))
        part = slice(first, first + rounds)
        return self.by_round(best)[part], self.by_round(least)[part]

    def played(self, thresholds: Array, first: int = 0) -> Assessment:
        """Return the steady-state reward (R, T) and residuals (J, R, T) of thresholds (R, T, groups).

        The thresholds begin with round `first`. Every different row is solved once; thresholds of the grid are looked
        up. Those in between are moved by at most a forty-thousandth of the grid's length.
        """
        rounds = thresholds.shape[1]
        self._check(first, rounds)
        starts = [moment.first - first for moment in self.moments]
        found = [
            moment.played(thresholds[:, max(start, 0) : end])
            for moment, start, end in zip(self.moments, starts, [*starts[1:], rounds], strict=True)
            if start < rounds and end > 0
        ]
        if len(found) == 1:
            return found[0]
        return Assessment(
            np.concatenate([each.reward for each in found], axis=1),
            np.concatenate([each.residuals for each in found], axis=2),
        )

    def _check(self, first: int, rounds: int) -> None:
        if first + rounds > self.rounds:
            raise InputError(f"the truth is that of {self.rounds} rounds, but a run goes to round {first + rounds}")


def _look_up(moment: Moment, rows: Array) -> Assessment:
    """Return the steady-state signals of thresholds (N, groups), each different row solved once."""
    grid = moment.whole.thresholds
    places = _places(grid)
    outside = (rows < grid[0]) | (rows > grid[-1])
    if outside.any():
        places = np.union1d(places, rows[outside])
    shared = bool((rows == rows[:, :1]).all())
    codes = _nearest(places, rows[:, :1] if shared else rows)
    _, first, where = np.unique(_combined(codes), return_index=True, return_inverse=True)
    different = places[codes[first]]
    solved = _shared(moment, different[:, 0]) if shared else moment.solve(different)
    return Assessment(solved.reward[where], solved.residuals[:, where])


def _shared(moment: Moment, thresholds: Array) -> Assessment:
    """Look thresholds of the grid up in its sweep and solve the others."""
    sweep = moment.sweep
    place = np.minimum(np.searchsorted(sweep.thresholds, thresholds), len(sweep.thresholds) - 1)
    known = sweep.thresholds[place] == thresholds
    reward, residuals = sweep.reward[place], sweep.residuals[:, place]
    if not known.all():
        solved = exact_sweep(moment.task, thresholds[~known])
        reward[~known], residuals[:, ~known] = solved.reward, solved.residuals
    return Assessment(reward, residuals)


def _places(grid: Array) -> Array:
    """The grid, and the steps between its ends that are no thresholds of it."""
    steps = np.linspace(grid[0], grid[-1], LATTICE + 1)
    far = np.abs(grid[_nearest(grid, steps)] - steps) > 1e-9 * max(float(grid[-1] - grid[0]), 1e-300)
    return np.union1d(grid, steps[far])


def _nearest(places: Array, values: Array) -> NDArray[np.int64]:
    """Index of the place nearest to each value; both may be infinite.

    >>> _nearest(np.array([-np.inf, 0.0, 1.0]), np.array([-np.inf, 0.4, 0.6, 1.0]))
    array([0, 1, 2, 2])
    """
    above = np.clip(np.searchsorted(places, values), 1, max(len(places) - 1, 1))
    if len(places) == 1:
        return np.zeros_like(above)
    low, high = places[above - 1], places[above]
    with np.errstate(invalid="ignore"):  # an infinite value is a place itself
        return np.asarray(above - ((values == low) | (values - low < high - values)))


def _combined(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn rows of codes into one number per row, the same for the same rows."""
    combined = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        different, where = np.unique(column, return_inverse=True)
        combined = np.unique(combined * len(different) + where, return_inverse=True)[1]
    return combined


_known: dict[tuple[str, int], Truth] = {}
"""Truths found in this process, by the task they are about and its rounds."""


def truth_of(task: Task, rounds: int) -> Truth:
    """Solve a task for runs of `rounds` rounds; a task asked for before is kept."""
    key = (json.dumps(task.describe(), sort_keys=True), rounds)
    if key not in _known:
        if len(_known) >= 64:
            _known.clear()
        _known[key] = Truth(tuple(_moments(task, rounds)), rounds)
    return _known[key]


def _moments(task: Task, rounds: int) -> Iterator[Moment]:
    for first in changes(task.environment, rounds):
        yield Moment(first, task, exact_sweep(task.at(first), task.thresholds))


def changes(environment: Environment, rounds: int) -> Iterator[int]:
    """Yield round 0, and every later one in which an environment that changes by itself is not as it was, to the 25.

    >>> import fairgate as fg
    >>> [list(changes(fg.load_task(name).environment, 3000)) for name in ("interior", "shock")]
    [[0], [0, 1500]]
    """
    before = None
    for first in range(0, rounds, EVERY):
        now = environment.at(first)
        if (settings := now.describe()) != before:
            yield first
        if now is environment:
            return
        before = settings
