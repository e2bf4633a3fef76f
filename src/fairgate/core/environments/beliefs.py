"""Beliefs: how groups learn thresholds, for environments in which people act on a believed threshold."""

from __future__ import annotations

from fairgate.arrays import Array, namespace
from fairgate.core.policy import Policy
from fairgate.counts import Counts


def learned(beliefs: Array, policy: Policy, counts: Counts, rate: Array) -> Array:
    """Return the groups' believed thresholds after a batch, (groups,).

    Each applicant meets the threshold that was drawn for them, and the share `rate` of the belief follows it. Infinite
    thresholds leave beliefs unchanged, so a lottery moves a belief by its finite thresholds, each with its weight:

        b ← b + rate · Σ weight · (threshold − b).

    A group without applicants learns nothing.

    With one threshold, and with lotteries of finite ones, this is the update of
    :class:`fairgate.environments.beliefs.Beliefs`. That class receives only the mean of the finite thresholds. If other
    thresholds are infinite, it still moves the whole `rate` of the way to that mean, although fewer people learn. Both
    updates converge to the mean.
    """
    xp = namespace(beliefs, policy.thresholds)
    finite = xp.isfinite(policy.thresholds)
    weights = policy.weights[:, None] * finite
    heard = (weights * xp.where(finite, policy.thresholds, 0.0)).sum(axis=0)
    moved = (1.0 - rate * weights.sum(axis=0)) * beliefs + rate * heard  # exact if the rate is 1
    return xp.where(counts.people > 0, moved, beliefs)
