"""Bounds: what is known of a constraint's residuals while the acceptance rates are known to lie between bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.confidence import Box, Sums, mean_bounds
from fairgate.constraints.base import Constraint
from fairgate.errors import InputError
from fairgate.settings import Array

BROKEN, MET, UNDECIDED = "broken", "met", "undecided"

UNEVEN = 0.05
"""By which part the shares of accepted and of rejected people with a label may differ, that labels are relied on."""

CHANCE = 2.0
"""Standard errors by which the difference may be larger in a single look, where few people came."""


class RateBounds(NamedTuple):
    """Bounds of acceptance rates, (…, 1 + 3 G) each: of everybody, each group, its people of label 0, and of label 1.

    Of a rate nothing is known of, the bounds are 0 and 1.
    """

    low: Array
    high: Array

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.low.shape[-1] - 1) // 3

    @property
    def box(self) -> Box:
        """The bounds that labels have nothing to do with."""
        each = slice(1, 1 + self.groups)
        return Box(self.low[..., each], self.high[..., each], self.low[..., 0], self.high[..., 0])


class PairBounds(NamedTuple):
    """Bounds of the same rates with the same weights of periods in two groups, (…, 1 + 3 G, G): beside each group."""

    low: Array
    high: Array

    @classmethod
    def of(cls, everybody: tuple[Array, Array], families: Sequence[tuple[Array, Array]]) -> PairBounds:
        """Return bounds of everybody's rate (…), and of rates (…, G, G) of all people, of label 0, and of label 1."""
        groups = families[0][0].shape[-1]
        made = []
        for side, unknown in ((0, 0.0), (1, 1.0)):
            known = [np.repeat(np.asarray(everybody[side])[..., None, None], groups, axis=-1)]
            known += [family[side] for family in families]
            known += [np.full(families[0][0].shape, unknown)] * (3 - len(families))
            made.append(np.concatenate(known, axis=-2))
        return cls(*made)

    def beside(self, group: int) -> RateBounds:
        """Return the bounds of a group and each later one, (…, later, 1 + 3 G), and 0 and 1 for third groups."""
        groups = self.low.shape[-1]
        later = np.arange(group + 1, groups)
        made = []
        for values, unknown in ((self.low, 0.0), (self.high, 1.0)):
            found = np.full((*values.shape[:-2], len(later), values.shape[-2]), unknown)
            found[..., 0] = values[..., 0, later]
            for start in range(1, values.shape[-2], groups):
                found[..., later - group - 1, start + later] = values[..., start + later, group]
                found[..., start + group] = values[..., start + group, later]
            made.append(found)
        return RateBounds(*made)


def residual_bounds(constraint: Constraint, known: RateBounds) -> tuple[Array, Array] | None:
    """Return the smallest and the largest that each residual can be, (J, …) each; None if that cannot be told.

    Above 0 the smallest says that the constraint is broken; at most 0 the largest says that it is met.

    >>> from fairgate.constraints import DemographicParity, EqualOpportunity
    >>> low = np.array([0.5, 0.3, 0.6, 0.0, 0.0, 0.4, 0.7])
    >>> known = RateBounds(low, low + 0.1)                    # of two groups
    >>> lowest, highest = residual_bounds(DemographicParity(0.15), known)
    >>> lowest.round(2), highest.round(2)
    (array([0.05]), array([0.25]))
    >>> lowest, highest = residual_bounds(EqualOpportunity(0.25), known)
    >>> lowest.round(2), highest.round(2)
    (array([-0.05]), array([0.15]))
    """
    if constraint.compares_groups and known.groups < 2:
        raise InputError(f"{constraint.text} compares groups and needs at least 2, got {known.groups} group")
    if constraint.needs == "decisions" and constraint.bounded:
        return np.stack(constraint.lowest(known.box)), np.stack(constraint.highest(known.box))
    pieces = constraint.pieces(known.groups)
    if pieces is None:
        return None
    lowest, highest = [], []
    for rows, limit in pieces:
        up, down = np.maximum(rows, 0.0).T, np.minimum(rows, 0.0).T
        lowest.append((known.low @ up + known.high @ down).max(axis=-1) - limit)
        highest.append((known.high @ up + known.low @ down).max(axis=-1) - limit)
    return np.stack(lowest), np.stack(highest)


def pair_bounds(constraint: Constraint, alike: PairBounds) -> tuple[Array, Array] | None:
    """Return the smallest and the largest that each residual can be in the pair of groups where it is largest."""
    each = [residual_bounds(constraint, alike.beside(group)) for group in range(alike.low.shape[-1] - 1)]
    known = [[side.max(axis=-1) for side in found] for found in each if found is not None]
    return (np.max([low for low, _ in known], axis=0), np.max([high for _, high in known], axis=0)) if known else None


class Judged(NamedTuple):
    """Bounds of residuals, (J, …) each, and whether only each group's own weights of periods break them."""

    lowest: Array
    highest: Array
    mixed: NDArray[np.bool_]

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Whether residuals are broken."""
        return (self.lowest > 0.0) & ~self.mixed


def judge(constraint: Constraint, own: RateBounds, alike: PairBounds | None) -> Judged | None:
    """Judge a constraint by bounds of average rates, with each group's own weights of periods and with the same.

    A constraint that compares groups is broken only if two groups break it with the same weights of periods, too:
    averages with a group's own weights can differ although all groups had the same rates in every period, if the mix of
    groups changed (Simpson's paradox). With only the `own` bounds, averages of each group over its own people count.

    >>> from fairgate.constraints import DemographicParity
    >>> own = RateBounds(np.array([0.4, 0.5, 0.3, 0, 0, 0, 0]), np.array([0.5, 0.55, 0.35, 1, 1, 1, 1]))
    >>> alike = PairBounds.of((own.low[0], own.high[0]), [(np.full((2, 2), 0.4), np.full((2, 2), 0.45))])
    >>> judge(DemographicParity(0.05), own, alike).mixed, judge(DemographicParity(0.05), own, None).broken
    (array([ True]), array([ True]))
    """
    bounds = residual_bounds(constraint, own)
    if bounds is None:
        return None
    lowest, highest = bounds
    pairs = pair_bounds(constraint, alike) if alike is not None and constraint.compares_groups else None
    return Judged(lowest, highest, np.zeros(lowest.shape, bool) if pairs is None else (lowest > 0) & (pairs[0] <= 0))


def verdict(lowest: float, highest: float, *, mixed: bool = False) -> str:
    """Say what bounds of a residual tell, and whether only each group's own weights of periods break it.

    >>> verdict(0.01, 0.2), verdict(-0.2, -0.01), verdict(-0.1, 0.1), verdict(0.01, 0.2, mixed=True)
    ('broken', 'met', 'undecided', 'undecided')
    """
    return UNDECIDED if mixed else BROKEN if lowest > 0.0 else MET if highest <= 0.0 else UNDECIDED


def label_gaps(people: NDArray[Any]) -> tuple[str, str]:
    """Say why acceptance among people of a label cannot be told, or else what must be kept in mind; nothing if nothing.

    `people` are by group, label (0, 1, missing) and decision, (G, 3, 2).

    >>> label_gaps(np.array([[[0, 5], [0, 5], [10, 0]]]))[0]
    'By group, labels are known of 100% of the accepted and 0% of the rejected: too few of the rejected to tell.'
    """
    known, _ = _known(people)
    shares = f"labels are known of {_range(known[:, 1])} of the accepted and {_range(known[:, 0])} of the rejected"
    if uneven(people):
        whom = "rejected" if known[:, 0].min() < known[:, 1].min() else "accepted"
        return f"By group, {shares}: too few of the {whom} to tell.", ""
    return "", f"Among people with a label only: by group, {shares}." if (known < 1.0).any() else ""


def uneven(people: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether labels are known of the accepted and of the rejected of some group not alike; people (…, G, 3, 2)."""
    known, _ = _known(people)
    return np.asarray((np.abs(known[..., 1] - known[..., 0]) > UNEVEN * known.max(axis=-1)).any(axis=-1))


def counting_labels(people: NDArray[Any]) -> NDArray[np.bool_]:
    """Say of each look whether its labels count: those of its accepted and rejected are known alike, but for chance.

    `people` are those of single looks, (T, G, 3, 2). A look that does not pass would bias every average it is part of.

    >>> alike, selective = [[[5, 5], [5, 5], [0, 0]]], [[[0, 5], [0, 5], [10, 0]]]
    >>> counting_labels(np.array([alike, selective]))
    array([ True, False])
    """
    known, error = _known(people)
    allowed = UNEVEN * known.max(axis=-1) + CHANCE * error
    return np.asarray((np.abs(known[..., 1] - known[..., 0]) <= allowed).all(axis=-1))


def _known(people: NDArray[Any]) -> tuple[Array, Array]:
    """Return shares with a label by group and decision, (…, G, 2), and the standard error of their difference (…, G).

    Where nobody was rejected, or nobody accepted, there is nothing to compare, and the share is that of the others.
    """
    everybody, labelled = people.sum(axis=-2), people[..., :2, :].sum(axis=-2)  # (…, G, 2)
    size = everybody.sum(axis=-1)
    share = np.divide(labelled.sum(axis=-1), size, out=np.ones(size.shape), where=size > 0)
    known = np.broadcast_to(share[..., None], everybody.shape).copy()
    np.divide(labelled, everybody, out=known, where=everybody > 0)
    both = everybody.min(axis=-1) > 0
    inverse = np.divide(size, everybody.prod(axis=-1), out=np.zeros(size.shape), where=both)  # 1/accepted + 1/rejected
    return known, np.sqrt(share * (1.0 - share) * inverse)


def common_bounds(successes: NDArray[Any], trials: NDArray[Any], alpha: float) -> tuple[Array, Array]:
    r"""Bound the average rate of each group after every batch, with the weights of batches that each other group has.

    Averages in which each group has its own weights can differ although rates are the same in every batch (Simpson's
    paradox). With :math:`n_{gt}` people of group g in batch t, the batch has the same weight w for both groups of a
    pair, and each person of group g has the value v:

    .. math:: w_t = \min(n_{gt}, n_{ht}) \qquad v_{gt} = w_t / n_{gt} \le 1.

    A batch without one of the two groups has no weight, and third groups have no influence. The bounds of a group in
    all its pairs, by :func:`fairgate.confidence.mean_bounds` of the values v (accepted) and 0, hold at all batches
    together with probability 1 − alpha. Counts are (T, G); bounds are (T, G, G), of group g beside group h.

    >>> low, high = common_bounds(np.array([[450, 150], [100, 300]]), np.array([[750, 250], [250, 750]]), 0.05)
    >>> low[-1].round(2)[[0, 1], [1, 0]], high[-1].round(2)[[0, 1], [1, 0]]     # rates of 0.6, then 0.4, in both groups
    (array([0.42, 0.42]), array([0.58, 0.58]))
    """
    hits, tries = successes[:, :, None], trials[:, :, None]
    weights = np.minimum(tries, trials[:, None, :])
    value = np.divide(weights, tries, out=np.zeros(weights.shape), where=tries > 0)
    total, people = (value * hits).cumsum(axis=0), (value * tries).cumsum(axis=0)
    predicted = (total - value * hits + 0.5) / (people - value * tries + 1.0)  # before each batch
    spread = (value**2 * (hits * (1.0 - 2.0 * predicted) + tries * predicted**2)).cumsum(axis=0)
    others = max(trials.shape[1] - 1, 1)
    return mean_bounds(Sums(total, spread, people), low=0.0, high=1.0, alpha=alpha / others)


def _range(shares: Array) -> str:
    low, high = f"{shares.min():.0%}", f"{shares.max():.0%}"
    return low if low == high else f"{low} to {high}"
