"""Share: what a run earned in the rounds it played, as a share of what the best fixed policy earns in the long run.

0 is what the best fair lottery earns, which accepts everybody with the same probability, and 1 what the best fixed
lottery of up to two thresholds does, both among those that meet every constraint. What a round earns beyond the fair
lottery counts less the more it breaks a constraint, and not at all from 0.01 on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from fairgate.against import SUCCESS, largest
from fairgate.errors import InputError
from fairgate.problem import Assessment
from fairgate.settings import Array
from fairgate.tasks import Task
from fairgate.worlds.reference import Reference, moments_of, reference_of

TOLERANCE = SUCCESS[1]
"""A round whose largest residual is this or more is worth no more than what the fair lottery earns."""

NOTHING = 1e-6
"""Where the best policy earns no more than this beyond the fair lottery, per round, there is nothing to share."""


@dataclass(frozen=True, repr=False)
class Yardsticks:
    """What can be had in each world (W) and round (T), in the long run: see :class:`~fairgate.worlds.Reference`."""

    fair: Array
    threshold: Array
    lottery: Array
    least: Array

    def repeated(self, seeds: int) -> Yardsticks:
        """Return the same for so many seeds of every world, side by side."""
        return Yardsticks(*(np.repeat(getattr(self, name), seeds, axis=0) for name in Reference._fields))

    def after(self, rounds: int) -> Yardsticks:
        """Return the same without the first rounds."""
        return Yardsticks(*(getattr(self, name)[:, rounds:] for name in Reference._fields))


def counted(found: Assessment, fair: Array) -> Array:
    """Return the rewards (…) that count: what lies beyond `fair` fades as a constraint is broken, up to the tolerance.

    >>> residuals = np.array([[-0.1, 0.0, 0.005, 0.01, 0.3]])
    >>> counted(Assessment(np.full(5, 0.3), residuals), np.full(5, 0.1))
    array([0.3, 0.3, 0.2, 0.1, 0.1])
    """
    kept = 1.0 - np.clip(largest(found.residuals) / TOLERANCE, 0.0, 1.0)
    beyond = found.reward - fair
    return np.asarray(fair + np.where(beyond > 0.0, kept * beyond, beyond))


def share_of(reward: Array, none: Array, best: Array) -> Array:
    """Return what rewards (R, T) earned beyond `none` as a share of what could be had, (R,); NaN where nothing could.

    >>> share_of(np.array([[0.2, 0.3]]), np.array([[0.1, 0.1]]), np.array([[0.3, 0.3]])).round(6)
    array([0.75])
    """
    could = (best - none).sum(axis=1)
    earned = (reward - none).sum(axis=1)
    return np.asarray(np.divide(earned, could, out=np.full(len(earned), np.nan), where=could > NOTHING * best.shape[1]))


_known: dict[tuple[str, int], Yardsticks] = {}
"""Yardsticks found in this process, by the task they are about and its rounds."""


def yardsticks_of(task: Task, rounds: int) -> Yardsticks:
    """Solve what can be had on a task in each round, (1, T) each; a task asked for before is kept.

    All NaN where the people of an environment of one's own move at random, so that no long run of a lottery is solved.
    """
    key = (json.dumps(task.describe(), sort_keys=True), rounds)
    if key not in _known:
        if len(_known) >= 64:
            _known.clear()
        moments = moments_of(task, rounds)
        try:
            solved = [reference_of(task.at(int(first))) for first in moments]
        except InputError:
            solved = [Reference(*[np.nan] * len(Reference._fields))] * len(moments)
        lengths = np.diff([*moments, rounds]).astype(int)
        _known[key] = Yardsticks(*(np.repeat(each, lengths)[None] for each in zip(*solved, strict=True)))
    return _known[key]
