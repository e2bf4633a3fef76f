"""Worth: reward and largest residual of every threshold, with their standard errors, from predicted rates."""

from __future__ import annotations

from typing import NamedTuple

from fairgate.arrays import Array, namespace
from fairgate.problem import Problem, best_feasible


class Rates(NamedTuple):
    """Predicted rates of every threshold: shares of the groups (groups,), and rates by group and threshold (groups, K).

    `accepted` is P(d = 1 | g), `positives` P(y = 1, d = 1 | g), `everybody` P(y = 1 | g), which equals `positives`
    without information on the rejected. Standard errors are those of `accepted` and of `positives`.
    """

    shares: Array
    accepted: Array
    positives: Array
    everybody: Array
    error: Array
    label_error: Array

    def cells(self) -> Array:
        """Return P(group, label, decision), (…, K, groups, 2, 2)."""
        xp = namespace(self.accepted)
        rejected = xp.clip(self.everybody - self.positives, 0.0, 1.0 - self.accepted)
        bad = xp.stack((1.0 - self.accepted - rejected, self.accepted - self.positives), axis=-1)
        by_label = xp.stack((bad, xp.stack((rejected, self.positives), axis=-1)), axis=-2)  # (…, groups, K, 2, 2)
        return xp.moveaxis(by_label * self.shares[:, None, None, None], -4, -3)


class Worth(NamedTuple):
    """Reward and largest residual of every threshold, and their standard errors, (K,) each."""

    reward: Array
    residual: Array
    reward_error: Array
    residual_error: Array

    def best(self, width: Array) -> Array:
        """Return the threshold of highest reward whose residual is at most −`width` errors, else the nearest to that.

        Among thresholds that differ by rounding alone, it is the lowest.
        """
        return best_feasible(self.reward.round(12), (self.residual + width * self.residual_error).round(12)[None])


def worth(problem: Problem, rates: Rates) -> Worth:
    """Return reward and largest residual of thresholds, and their standard errors from the errors of the rates.

    Each group's rates, and then its positives, are moved up and down by their standard error in turn. The larger of the
    two effects counts, and effects are combined as independent errors.
    """
    xp, groups = namespace(rates.accepted), len(rates.shares)
    found = _read(problem, rates)
    each = xp.asarray([-1.0, 1.0])[:, None, None, None] * xp.eye(groups)[:, :, None]  # (2, groups, groups, 1)
    right = rates.positives / xp.maximum(rates.accepted, 1e-9)
    variance = 0.0 * found
    for up, more in ((rates.error, right * rates.error), (0.0 * rates.error, rates.label_error)):
        accepted = xp.clip(rates.accepted + each * up, 0.0, 1.0)
        positives = xp.clip(rates.positives + each * more, 0.0, accepted)
        effect = abs(_read(problem, rates._replace(accepted=accepted, positives=positives)) - found[:, None, None])
        variance = variance + (effect.max(axis=1) ** 2).sum(axis=1)
    return Worth(*found, *xp.sqrt(variance))


def _read(problem: Problem, rates: Rates) -> Array:
    """Return reward and largest residual, (2, …, K)."""
    reward, residuals = problem.assess(rates.cells())
    return namespace(reward).stack((reward, residuals.max(axis=0, initial=-1.0)))
