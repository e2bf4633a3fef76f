"""Played: the policy that decisions of a round amount to, where somebody else made them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.policy import Policy
from fairgate.settings import Array

DIGITS = 6
"""Decimals that the weights of a lottery are rounded to, so that a replay elsewhere finds the same."""


def empirical(counts: NDArray[Any], grid: Array) -> Policy:
    """Return the policy that accepts of every group and score bin the share that was accepted, made increasing.

    `counts` are people rejected and accepted by group and bin, (G, K + 1, 2). Bins in which nobody was take the share
    of the bin below, as the increasing fit has it. The result is a lottery of thresholds unless all shares are 0 or 1.

    >>> counts = np.array([[[5, 0], [2, 2], [0, 4]], [[3, 0], [0, 2], [0, 3]]])
    >>> policy = empirical(counts, np.array([0.3, 0.6]))
    >>> policy.thresholds[:, 0].tolist(), policy.weights[:, 0].tolist()
    ([[0.3, 0.3], [0.6, 0.3]], [0.5, 0.5])
    """
    people = counts.sum(axis=-1)
    shares = np.zeros(people.shape)
    for group, came in enumerate(people):
        seen = np.flatnonzero(came)
        if seen.size:
            rate = counts[group, seen, 1] / came[seen]
            fitted = np.clip(increasing(rate, came[seen]), 0.0, 1.0)
            last = np.searchsorted(seen, np.arange(len(came)), side="right") - 1
            shares[group] = np.where(last >= 0, fitted[np.maximum(last, 0)], 0.0)
    shares = shares.round(DIGITS)
    levels = np.unique(np.append(shares, 1.0))
    levels = levels[levels > 0.0]
    lowest = np.concatenate(([-np.inf], grid, [np.inf]))  # the threshold below each bin, and that above all
    reached = (shares[None] >= levels[:, None, None]).argmax(axis=2)
    never = (shares[None] < levels[:, None, None]).all(axis=2)
    thresholds = np.where(never, np.inf, lowest[reached])
    return Policy(thresholds[:, None], np.diff(levels, prepend=0.0)[:, None].round(DIGITS))


def increasing(values: NDArray[Any], weights: NDArray[Any]) -> Array:
    """Return the increasing numbers that are nearest to `values`, by weighted squares: those that fall are pooled.

    Scikit-learn's isotonic regression does the same, but its import would take most of the time a gate needs to start.

    >>> increasing(np.array([0.1, 0.8, 0.2, 0.9]), np.array([5, 1, 3, 2]))
    array([0.1 , 0.35, 0.35, 0.9 ])
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight and how many
    for mean, weight in zip(values.tolist(), weights.tolist(), strict=True):
        count = 1
        while pools and pools[-1][0] >= mean:
            before, heavy, many = pools.pop()
            mean, weight, count = (before * heavy + mean * weight) / (heavy + weight), heavy + weight, count + many
        pools.append((mean, weight, count))
    return np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])


def rounded(policy: Policy, digits: int) -> Policy:
    """Return the policy with weights that are whole millionths, without components of no weight.

    >>> rounded(Policy.uniform([1 / 3], groups=1), 10).weights[:, 0]
    array([0.333333, 0.666667])
    """
    parts = np.round(policy.weights[:, 0] * 10**DIGITS)
    heaviest = parts.argmax()
    parts[heaviest] += 10**DIGITS - parts.sum()  # what rounding left over
    kept = parts > 0
    thresholds = np.asarray(policy.thresholds)[kept]
    finite = np.isfinite(thresholds)
    thresholds = np.where(finite, np.round(np.where(finite, thresholds, 0.0), digits) + 0.0, thresholds)
    return Policy(thresholds, (parts[kept] / 10**DIGITS)[:, None])


def same(one: Policy | None, other: Policy | None) -> bool:
    """Whether two policies are the same, but for rounding of weights."""
    if one is None or other is None:
        return one is other
    return (
        one.thresholds.shape == other.thresholds.shape
        and bool((one.thresholds == other.thresholds).all())
        and bool((abs(one.weights - other.weights) <= 2 * 10.0**-DIGITS).all())
    )
