"""Prospects: predicted reward and residuals of policies for current applicants, with a safety margin."""

from __future__ import annotations

from typing import NamedTuple

from fairgate.arrays import Array, namespace, record
from fairgate.core.learners.components.label_curve import Labels
from fairgate.core.learners.components.score_windows import Scores
from fairgate.core.policy import Policy
from fairgate.problem import Problem

RATE_FLOOR = 1e-9
"""Smallest acceptance rate that is divided by."""


@record
class Rules:
    """Policies as indices into −inf, the grid and inf: the lower threshold with probability `weight`, else the higher.

    A single threshold has `low` = `high`; the lottery that accepts each applicant with the same probability has 0 and
    K + 1.

    Attributes
    ----------
    low, high
        (…, groups), or (…, 1) if all groups share them.
    weight
        (…,).
    """

    low: Array
    high: Array
    weight: Array

    def at(self, place: Array) -> Rules:
        """Return the rule at a place of the first axis."""
        return Rules(self.low[place], self.high[place], self.weight[place])

    def policy(self, grid: Array) -> Policy:
        """Return a single rule as a policy."""
        xp = namespace(grid)
        ends = xp.concatenate((xp.asarray([-xp.inf]), grid, xp.asarray([xp.inf])))
        return Policy(xp.stack((ends[self.low], ends[self.high])), xp.stack((self.weight, 1.0 - self.weight)))


class Worth(NamedTuple):
    """Reward (C,), residuals and their margins (J, C) of C policies."""

    reward: Array
    residuals: Array
    margins: Array


class Prospects(NamedTuple):
    """Estimates for every threshold from which the worth of any policy follows.

    Attributes
    ----------
    scores
        Score distribution.
    positives
        Share of each group that has a positive label and a score at or above a threshold, (groups, K + 2).
    error
        Standard error of that share, (groups, K + 2).
    """

    scores: Scores
    positives: Array
    error: Array

    @classmethod
    def of(cls, scores: Scores, labels: Labels) -> Prospects:
        """Combine scores and labels."""
        xp = namespace(scores.above)
        mass = scores.above[:, :-1] - scores.above[:, 1:]

        def above(values: Array) -> Array:
            sums = xp.cumsum(values[:, ::-1], axis=1)[:, ::-1]
            return xp.concatenate((sums, xp.zeros((len(values), 1))), axis=1)

        error = xp.sqrt(above(mass**2 * labels.variance) + above(mass * labels.error) ** 2)
        return cls(scores, above(mass * labels.share), error)

    def worth(self, problem: Problem, rules: Rules, errors: float) -> Worth:
        """Return the worth of C policies, with margins of so many standard errors.

        The acceptance rate of each group, and its share of positive labels if a constraint depends on labels, moves up
        and down by so many standard errors. The changes of a residual add in squares.
        """
        xp, groups = namespace(self.positives), len(self.positives)
        rate, good, error = (self.mixed(values, rules) for values in (self.scores.above, self.positives, self.error))
        weight = rules.weight[:, None]
        high = _taken(self.scores.above, rules.high)
        spread = high + weight**2 * _taken(self.scores.above, rules.low) - weight**2 * high - rate**2
        deviation = xp.sqrt(xp.maximum(spread, 0.0) * self.scores.variance)
        base = self.cells(rate, good)
        moves = [(errors * deviation, 0.0), (-errors * deviation, 0.0)]
        if any(each.needs != "decisions" for each in problem.constraints):
            moves += [(0.0, errors * error), (0.0, -errors * error)]
        reward, residuals = problem.assess(base)
        own = xp.eye(groups)[:, None, :, None, None]  # one group moves at a time
        changes = []
        for by, more in moves:
            moved_rate = xp.clip(rate + by, 0.0, 1.0)
            moved_good = xp.clip(good * moved_rate / xp.maximum(rate, RATE_FLOOR) + more, 0.0, moved_rate)
            moved = own * self.cells(moved_rate, moved_good) + (1.0 - own) * base
            changes.append(problem.assess(moved).residuals - residuals[:, None])  # (J, groups, C)
        worst = [xp.maximum(up, down) for up, down in zip(changes[::2], changes[1::2], strict=True)]
        squares = sum((xp.maximum(each, 0.0) ** 2).sum(axis=1) for each in worst)
        return Worth(reward, residuals, xp.sqrt(squares))

    def mixed(self, values: Array, rules: Rules) -> Array:
        """Return the mean under each policy of a quantity by threshold (groups, K + 2), (C, groups)."""
        low, high = _taken(values, rules.low), _taken(values, rules.high)
        return high + rules.weight[:, None] * (low - high)

    def cells(self, rate: Array, good: Array) -> Array:
        """Return P(group, label, decision), (C, groups, 2, 2), from accepted and accepted with a positive label."""
        xp = namespace(rate)
        base = self.positives[:, 0]
        accepted = xp.stack((rate - good, good), axis=-1)
        everybody = xp.stack((1.0 - base, base), axis=-1)
        found = xp.stack((xp.maximum(everybody - accepted, 0.0), accepted), axis=-1)
        return found * self.scores.shares[:, None, None]


def _taken(values: Array, places: Array) -> Array:
    """Return values (groups, K + 2) at the places of each policy (C, groups or 1), (C, groups)."""
    xp = namespace(values)
    return values[xp.arange(len(values)), places]
