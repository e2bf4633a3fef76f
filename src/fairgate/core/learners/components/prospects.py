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

    def alone(self) -> Rules:
        """Return a single rule as a set of one."""
        return Rules(self.low[None], self.high[None], self.weight[None])

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
    variance, slope
        Variance of that share from the labels of each bin (groups, K + 2), and its derivatives by level and slope of
        the label curve, (2, groups, K + 2).
    covariance
        Covariance of level and slope, (groups, 2, 2).
    """

    scores: Scores
    positives: Array
    variance: Array
    slope: Array
    covariance: Array

    @classmethod
    def of(cls, scores: Scores, labels: Labels) -> Prospects:
        """Combine scores and labels."""
        xp = namespace(scores.above)
        mass = scores.above[:, :-1] - scores.above[:, 1:]

        def above(values: Array) -> Array:
            sums = xp.cumsum(values[..., ::-1], axis=-1)[..., ::-1]
            return xp.concatenate((sums, xp.zeros((*sums.shape[:-1], 1))), axis=-1)

        known = above(mass * labels.share), above(mass**2 * labels.variance), above(mass * labels.slope)
        return cls(scores, *known, labels.covariance)

    def worth(self, problem: Problem, rules: Rules, errors: float) -> Worth:
        """Return the worth of C policies, with margins of so many standard errors.

        One estimate after the other moves up and down by so many standard errors: the acceptance rate of each group,
        and its positive labels if a constraint depends on them. The changes of a residual add in squares.
        """
        xp, above = namespace(self.positives), self.scores.above
        rate, good = self.mixed(above, rules), self.mixed(self.positives, rules)
        spread = self.mixed(above, rules, 2) - rate**2
        deviation = errors * xp.sqrt(xp.maximum(spread, 0.0) * self.scores.variance)
        base = xp.zeros_like(rate) + self.positives[:, 0]
        reward, residuals = problem.assess(self.cells(rate, good, base))

        def moved(by: Array, more: Array, whole: Array) -> Array:
            rates = xp.clip(rate + by, 0.0, 1.0)
            goods = xp.clip(good * rates / xp.maximum(rate, RATE_FLOOR) + more, 0.0, rates)
            return self.cells(rates, goods, base + whole)

        nothing = xp.zeros_like(rate)
        moves = [(deviation, nothing, nothing)]
        needs = {each.needs for each in problem.constraints}
        if "accepted-labels" in needs:
            error = errors * self.error(rules, nothing)
            moves.append((nothing, error, error))
        if "all-labels" in needs:  # both rates by label, of which a uniform lottery has no error
            of_positive = self.error(rules, good / xp.maximum(base, RATE_FLOOR))
            of_negative = self.error(rules, (rate - good) / xp.maximum(1.0 - base, RATE_FLOOR))
            moves.append((nothing, errors * xp.maximum(of_positive, of_negative), nothing))
        own = xp.eye(len(above))[:, None, :, None, None]  # one group moves at a time
        still = (1.0 - own) * self.cells(rate, good, base)
        squares = xp.zeros_like(residuals)
        for move in moves:
            both = [own * moved(*(sign * each for each in move)) + still for sign in (1.0, -1.0)]
            changes = [problem.assess(each).residuals - residuals[:, None] for each in both]  # (J, groups, C)
            squares = squares + (xp.maximum(xp.maximum(*changes), 0.0) ** 2).sum(axis=1)
        return Worth(reward, residuals, xp.sqrt(squares))

    def mixed(self, values: Array, rules: Rules, power: int = 1, offset: Array = 0.0) -> Array:
        """Return the sum of a quantity by threshold, (…, groups, K + 2), over the bins of each group, (…, C, groups).

        Each bin counts with its probability of acceptance, less an `offset`, to a `power`.
        """
        low, high = _taken(values, rules.low), _taken(values, rules.high)
        certain, drawn, never = (each - offset for each in (1.0, rules.weight[:, None], 0.0))
        whole = values[..., None, :, 0]
        return certain**power * high + drawn**power * (low - high) + never**power * (whole - low)

    def error(self, rules: Rules, offset: Array) -> Array:
        """Return the standard error of accepted positives, less an `offset` times all positives, (C, groups)."""
        xp = namespace(self.positives)
        slope = self.mixed(self.slope, rules, 1, offset)
        curve = xp.einsum("icg,gij,jcg->cg", slope, self.covariance, slope)
        return xp.sqrt(xp.maximum(self.mixed(self.variance, rules, 2, offset) + curve, 0.0))

    def cells(self, rate: Array, good: Array, base: Array) -> Array:
        """Return P(group, label, decision), (C, groups, 2, 2).

        Given are the shares of each group that are accepted, accepted with a positive label, and of a positive label.
        """
        xp = namespace(rate)
        accepted = xp.stack((rate - good, good), axis=-1)
        everybody = xp.stack((1.0 - base, base), axis=-1)
        found = xp.stack((xp.maximum(everybody - accepted, 0.0), accepted), axis=-1)
        return found * self.scores.shares[:, None, None]


def _taken(values: Array, places: Array) -> Array:
    """Return values (…, groups, K + 2) at the places of each policy (C, groups or 1), (…, C, groups)."""
    xp = namespace(values)
    return values[..., xp.arange(values.shape[-2]), places]
