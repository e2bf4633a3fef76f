"""Beliefs: how groups learn of thresholds, for environments whose people act on the threshold that they believe in."""

from __future__ import annotations

from fairgate.arrays import Array, namespace
from fairgate.core.policy import Policy
from fairgate.counts import Counts


def learned(beliefs: Array, policy: Policy, counts: Counts, rate: Array) -> Array:
    """Return the thresholds (groups,) that groups believe in after a batch.

    Each applicant meets the threshold that was drawn for them, and the share `rate` of the belief follows it. Nobody
    learns from an infinite threshold, so a lottery moves a belief by its finite thresholds, each with its weight:

        b ← b + rate · Σ weight · (threshold − b).

    A group without applicants learns nothing.

    With one threshold, and with lotteries of finite ones, this is the update of
    :class:`fairgate.environments.beliefs.Beliefs`. That class knows only the mean of the finite thresholds, so where
    others are infinite it goes the whole `rate` of the way to that mean, for fewer people. Both end in the mean.
    """
    xp = namespace(beliefs, policy.thresholds)
    finite = xp.isfinite(policy.thresholds)
    weights = policy.weights[:, None] * finite
    heard = (weights * xp.where(finite, policy.thresholds, 0.0)).sum(axis=0)
    moved = (1.0 - rate * weights.sum(axis=0)) * beliefs + rate * heard  # exact if the rate is 1
    return xp.where(counts.people > 0, moved, beliefs)
