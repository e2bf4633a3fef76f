"""Evidence: sums over the batches on each threshold, and confidence bounds from these sums."""

from __future__ import annotations

from typing import Any

from fairgate.arrays import Array, namespace, record
from fairgate.confidence import Box, Sums, add_batch, box, mean_bounds
from fairgate.core.learners.components.epochs import pooled
from fairgate.core.setting import Setting
from fairgate.problem import Feedback, Problem, Utility


@record
class Evidence:
    """People (K, groups) of each threshold, and `Sums` of reward (K,) and residuals (J, K)."""

    people: Array
    accepted: Array
    reward: Sums
    residuals: Sums

    @classmethod
    def none(cls, setting: Setting) -> Evidence:
        """Return empty evidence."""
        xp, arms = namespace(setting.grid), len(setting.grid)
        people, reward = xp.zeros((arms, setting.groups)), xp.zeros(arms)
        residuals = xp.zeros((len(setting.problem.names), arms))
        return cls(people, people, Sums(reward, reward, reward), Sums(residuals, residuals, residuals))

    def with_batch(self, setting: Setting, feedback: Feedback, here: Array) -> Evidence:
        """Return the evidence after a batch on the thresholds where `here` is true, (K,)."""
        seen, utility = feedback.observation, setting.problem.utility
        batch: Any = feedback.reward, feedback.reward**2, 1.0
        if isinstance(utility, Utility):
            cost: Any = utility.false_positive_cost
            good, bad = seen.positives.sum(), seen.negatives.sum()
            batch = good - cost * bad, good + cost**2 * bad, seen.people.sum()
        values = feedback.residuals[:, None]
        return Evidence(
            self.people + here[:, None] * seen.people,
            self.accepted + here[:, None] * seen.accepted,
            _added(self.reward, batch, here),
            _added(self.residuals, (values, values**2, 1.0), here),
        )

    def bounds(self, setting: Setting, arm: Array, delta: Array, wider: Array) -> tuple[Array, Array, Array]:
        """Return lower and upper bound of a threshold's reward, and the lower bound of its largest residual, () each.

        All bounds of all thresholds hold jointly with probability 1 − `delta`; each is then moved outwards by `wider`.
        """
        xp, problem, unbounded = namespace(self.people), setting.problem, by_means(setting.problem)
        alpha = xp.asarray(delta) / (len(setting.grid) * (2 + len(unbounded)))
        cost: Any = problem.utility.false_positive_cost if isinstance(problem.utility, Utility) else 1.0
        lower, upper = mean_bounds(_of(self.reward, arm), -cost, 1.0, alpha)
        known = widened(box(self.accepted[arm], self.people[arm], alpha), wider)
        lowest = [each for one in problem.constraints if one.bounded for each in one.lowest(known)]
        lowest += [mean_bounds(_of(self.residuals, (place, arm)), -1.0, 1.0, alpha)[0] - wider for place in unbounded]
        return lower - wider, upper + wider, xp.stack([*lowest]).max() if lowest else -xp.inf

    def pooled_residuals(self, setting: Setting) -> Array:
        """Return the residuals of pooled counts, or the means of batch residuals, (J, K)."""
        xp, (total, _, count) = namespace(self.people), self.residuals
        means = total / xp.maximum(count, 1.0)
        return pooled(setting.problem, xp.vstack((self.reward.total, means)), self.people, self.accepted)[1:]


def widened(known: Box, by: Array) -> Box:
    """Return the box with all bounds moved outwards, but not beyond 0 and 1."""
    xp = namespace(*known)
    low, high = xp.maximum, xp.minimum
    return Box(
        low(known.rates_low - by, 0.0), high(known.rates_high + by, 1.0),
        low(known.overall_low - by, 0.0), high(known.overall_high + by, 1.0),
    )  # fmt: skip


def _added(sums: Sums, batch: Any, here: Array) -> Sums:
    pairs = zip(sums, add_batch(sums, *batch), strict=True)
    return Sums(*(namespace(here).where(here, after, before) for before, after in pairs))


def _of(sums: Any, place: Any) -> Sums:
    return Sums(*(each[place] for each in sums))


def by_means(problem: Problem) -> list[int]:
    """Return the places of the residuals that are judged by the means of batches, not by counts of decisions."""
    bounded = [constraint.bounded for constraint in problem.constraints for _ in constraint.names]
    return [place for place, by_counts in enumerate(bounded) if not by_counts]
