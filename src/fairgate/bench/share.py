"""Share: what a run earned in the rounds it played, as a share of what the best fixed policy earns in the long run.

0 is what the best fair lottery earns, which accepts everybody with the same probability, and 1 what the best fixed
lottery of up to two thresholds does, both among those that meet every constraint. A round is worth its reward less a
price for each unit of violation, so that what breaking a constraint earns is never more than what it costs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from fairgate.errors import InputError
from fairgate.problem import Assessment, violation
from fairgate.run import Run
from fairgate.settings import Array
from fairgate.tasks import Task
from fairgate.worlds.reference import Reference, moments_of, reference_of

PRICE = 10.0
"""Reward that a unit of violation costs, λ: above what it earns at its steepest in each of 300 worlds for development.

The largest exchange of reward for violation found there is 8.55 in the long run and 7.48 in the first round, the median
0.15 and 0.34; ``scripts/price_of_violation.py`` computes them. At a price above it the best feasible policy is also the
best of all policies, and whoever breaks a constraint would have been worth more without (an exact penalty).
"""

PRICES = (3.0, PRICE, 30.0)
"""Prices at which ranks are shown, so that everybody sees what hangs on the price: at the least, some worlds pay."""

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


def worth(found: Assessment, price: float = PRICE) -> Array:
    """Return what rounds (…) are worth: their reward less the price of their violation, the sum over constraints.

    >>> residuals = np.array([[-0.1, 0.0, 0.005, 0.01, 0.3]])
    >>> worth(Assessment(np.full(5, 0.3), residuals)).round(3)
    array([ 0.3 ,  0.3 ,  0.25,  0.2 , -2.7 ])
    """
    return np.asarray(found.reward - price * violation(found.residuals))


def share_of(worth: Array, none: Array, best: Array) -> Array:
    """Return what rounds worth so much (R, T) earned beyond `none`, of what could be had, (R,); NaN if nothing could.

    >>> share_of(np.array([[0.2, 0.3]]), np.array([[0.1, 0.1]]), np.array([[0.3, 0.3]])).round(6)
    array([0.75])
    """
    could = (best - none).sum(axis=1)
    earned = (worth - none).sum(axis=1)
    return np.asarray(np.divide(earned, could, out=np.full(len(earned), np.nan), where=could > NOTHING * best.shape[1]))


def normalised_reward(run: Run, task: Task) -> Array:
    """Return the normalised reward of each replicate of a run, (R,).

    It is the share of what the best fixed lottery earns beyond the best uniform one over the whole run, where a unit of
    violation costs :data:`PRICE`; NaN if either is unknown.

    >>> import fairgate as fg
    >>> task = fg.load_task("interior")
    >>> run = fg.simulate(task, fg.learners.BestLottery(), rounds=50, seeds=2)
    >>> fg.normalised_reward(run, task).round(1)
    array([-0.1, -0.1])
    """
    best = yardsticks_of(task, run.rounds)
    return share_of(worth(run.population), best.fair, best.lottery)


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
