"""Policy: what a learner may propose, thresholds or a lottery of thresholds, and whom it accepts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairgate.settings import Array


class Lottery(NamedTuple):
    """A lottery drawn anew for every person: threshold m of each group is used with its weight.

    Attributes
    ----------
    thresholds
        (M, replicates, groups). -inf accepts everybody and inf nobody.
    weights
        (M, replicates), at least 0, summing to 1 over M.

    Examples
    --------
    Everybody is accepted with probability 0.6, whatever the score or group.

    >>> all_or_none = np.array([-np.inf, np.inf])[:, None, None].repeat(2, axis=2)
    >>> coin = Lottery(all_or_none, np.array([[0.6], [0.4]]))
    >>> accepted_share(coin, edges=np.array([0.0, 1.0]))
    array([[[0.6, 0.6, 0.6],
            [0.6, 0.6, 0.6]]])
    """

    thresholds: Array
    weights: Array


def accepted_share(policy: Array | Lottery, edges: Array) -> Array:
    """Return the share accepted in each score bin, (replicates, groups, bins), for thresholds among `edges` or ±inf."""
    lowest = np.concatenate(([-np.inf], edges))
    if not isinstance(policy, Lottery):
        return (lowest >= np.asarray(policy)[..., None]).astype(np.float64)
    accepts = lowest >= policy.thresholds[..., None]
    share = (policy.weights[:, :, None, None] * accepts).sum(axis=0)
    return np.asarray(np.minimum(share, 1.0))  # weights that sum to 1 may do so but for rounding


def published(policy: Array | Lottery) -> Array:
    """Return the thresholds people hear of, (replicates, groups): a lottery's mean of its finite ones, NaN if none."""
    if not isinstance(policy, Lottery):
        return policy
    finite = np.isfinite(policy.thresholds)
    weights = policy.weights[:, :, None] * finite
    total = weights.sum(axis=0)
    mean = (weights * np.where(finite, policy.thresholds, 0.0)).sum(axis=0)
    return np.asarray(np.divide(mean, total, out=np.full(total.shape, np.nan), where=total > 0))
