"""Policy: whom to accept. Thresholds per group, or a lottery of thresholds that is drawn for each person."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgate.errors import InputError
from fairgate.settings import Array, Index

CLASSES = ("threshold", "lottery", "per-group")
"""Classes of policies: one threshold for all groups, lotteries of these, a threshold per group."""


class Policy(NamedTuple):
    """Whom to accept: threshold m of each group is used with its weight, drawn for each person.

    One threshold per group is M = 1. A threshold of -inf accepts everybody and one of inf nobody.

    Attributes
    ----------
    thresholds
        (M, replicates, groups).
    weights
        (M, replicates), at least 0, summing to 1 over M.

    Examples
    --------
    >>> Policy.of([[0.5, 0.7]]).decide([0.6, 0.6], groups=[0, 1])
    array([ True, False])

    Everybody is accepted with probability 0.6, whatever the score or group.

    >>> lottery = Policy.uniform([0.6], groups=2)
    >>> lottery.accepted_share(edges=np.array([0.0, 1.0]))
    array([[[0.6, 0.6, 0.6],
            [0.6, 0.6, 0.6]]])
    >>> lottery.decide([0.1, 0.9], groups=[0, 1], draws=[0.7, 0.2])
    array([False,  True])
    >>> Policy.from_json(lottery.to_json()).weights
    array([[0.6],
           [0.4]])
    """

    thresholds: Array
    weights: Array

    @classmethod
    def of(cls, thresholds: ArrayLike) -> Policy:
        """Make the policy of one threshold per replicate and group, (replicates, groups)."""
        single = np.asarray(thresholds, dtype=np.float64)[None]
        return cls(single, _certain(single.shape[1]))

    @classmethod
    def shared(cls, thresholds: ArrayLike, groups: int) -> Policy:
        """Make the policy of one threshold per replicate, (replicates,), the same for all groups."""
        single = np.asarray(thresholds, dtype=np.float64)[None, :, None].repeat(groups, axis=2)
        return cls(single, _certain(single.shape[1]))

    @classmethod
    def uniform(cls, probability: ArrayLike, groups: int) -> Policy:
        """Make the uniform lottery: everybody is accepted with one probability, (replicates,)."""
        accepted = np.asarray(probability, dtype=np.float64)
        ends = np.array([-np.inf, np.inf])[:, None, None]
        return cls(np.broadcast_to(ends, (2, len(accepted), groups)), np.stack((accepted, 1.0 - accepted)))

    @classmethod
    def lottery(cls, thresholds: ArrayLike, weights: ArrayLike, groups: int) -> Policy:
        """Make a lottery of thresholds that all groups share, the same in one replicate or (replicates, options) each.

        >>> Policy.lottery([0.3, 0.7], [0.25, 0.75], groups=2).accepted_share(np.array([0.3, 0.7]))[0, 0]
        array([0.  , 0.25, 1.  ])
        """
        options, chances = (np.atleast_2d(np.asarray(each, dtype=np.float64)) for each in (thresholds, weights))
        if options.shape[-1:] != chances.shape[-1:]:
            raise InputError(
                f"Policy.lottery: weights must be as many as thresholds, {options.shape[-1]}, got {chances.shape[-1]}"
            )
        options, chances = np.broadcast_arrays(options, chances)
        shared = np.broadcast_to(options.T[:, :, None], (*options.T.shape, groups))
        return cls(shared, chances.T.copy()).checked(None, (len(options), groups))

    @property
    def replicates(self) -> int:
        """Number of replicates."""
        return int(self.weights.shape[1])

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.thresholds.shape[2])

    @property
    def single(self) -> Array:
        """The threshold of each replicate and group, (replicates, groups), where there is one; NaN in a lottery."""
        if len(self.weights) == 1:
            return np.asarray(self.thresholds[0])
        heaviest = self.weights.argmax(axis=0)
        rows = np.arange(self.replicates)
        certain = self.weights[heaviest, rows] == 1.0
        return np.where(certain[:, None], self.thresholds[heaviest, rows], np.nan)

    @property
    def is_lottery(self) -> NDArray[np.bool_]:
        """Whether more than one threshold has any weight, (replicates,)."""
        return np.asarray(self.weights.max(axis=0) < 1.0)

    @property
    def is_certain(self) -> NDArray[np.bool_]:
        """Whether one threshold has all the weight, and no other any, (replicates,)."""
        if len(self.weights) == 1:
            return np.ones(self.replicates, dtype=bool)
        return np.asarray((self.weights == 1.0).any(axis=0) & (np.count_nonzero(self.weights, axis=0) == 1))

    @property
    def published(self) -> Array:
        """The thresholds people hear of, (replicates, groups): a lottery's mean of its finite ones, NaN if none."""
        finite = np.isfinite(self.thresholds)
        if len(self.weights) == 1 and np.count_nonzero(finite) == finite.size:
            return np.asarray(self.thresholds[0])
        weights = self.weights[:, :, None] * finite
        total = weights.sum(axis=0)
        mean = (weights * np.where(finite, self.thresholds, 0.0)).sum(axis=0)
        return np.asarray(np.divide(mean, total, out=np.full(total.shape, np.nan), where=total > 0))

    def frozen(self) -> Policy:
        """Return the policy once nobody can write to it, so that what is asked about it is worked out only once."""
        for array in self:
            array.flags.writeable = False
        return self

    @property
    def is_frozen(self) -> bool:
        """Whether nobody can write to it."""
        return not (self.thresholds.flags.writeable or self.weights.flags.writeable)

    def accepted_share(self, edges: Array) -> Array:
        """Return the share accepted per score bin, (replicates, groups, bins), for thresholds in `edges` or ±inf."""
        return _share(_Asked(self, edges)) if self.is_frozen else self._share(edges)

    def accepts_same(self, other: Policy, edges: Array) -> NDArray[np.bool_]:
        """Whether both accept the same people, (replicates,), for thresholds in `edges` or ±inf."""
        if self.is_frozen and other.is_frozen:
            return _same(_Asked(self, edges), _Asked(other, edges))
        return _close(self.accepted_share(edges), other.accepted_share(edges))

    def _share(self, edges: Array) -> Array:
        lowest = np.concatenate(([-np.inf], edges))
        if len(self.weights) == 1 or (self.weights.max(axis=0).min() == 1.0 and self.is_certain.all()):
            return np.asarray(lowest >= self.single[..., None], dtype=np.float64)
        if len(self.weights) == 2:
            for place, everybody in enumerate(self.thresholds):
                if np.count_nonzero(everybody == -np.inf) == everybody.size:  # what accepts all: the other adds to it
                    most = np.minimum(self.weights[0] + self.weights[1], 1.0)[:, None, None]
                    least = np.minimum(self.weights[place], 1.0)[:, None, None]
                    return np.asarray(np.where(lowest >= self.thresholds[1 - place][..., None], most, least))
        share = (self.weights[:, :, None, None] * (lowest >= self.thresholds[..., None])).sum(axis=0)
        return np.asarray(np.minimum(share, 1.0))  # weights that sum to 1 may do so but for rounding

    def decide(
        self, scores: ArrayLike, groups: ArrayLike, draws: ArrayLike | None = None, replicate: int = 0
    ) -> NDArray[np.bool_]:
        """Decide on people, one at a time or many: True is accepted.

        Parameters
        ----------
        scores, groups
            Score and number of the group of each person, (N,).
        draws
            One number of [0, 1) per person, (N,), that decides a lottery; not needed where there is none.
        replicate
            Which replicate's policy to use.
        """
        values, members = np.asarray(scores, dtype=np.float64), np.asarray(groups, dtype=np.int64)
        if values.shape != members.shape or values.ndim > 1:
            raise InputError(f"scores and groups must have one entry per person, got {values.shape}, {members.shape}")
        if members.size and not (members.min() >= 0 and members.max() < self.groups):
            wrong = members[(members < 0) | (members >= self.groups)].flat[0]
            raise InputError(f"groups must be whole numbers from 0 to {self.groups - 1}, got {wrong}")
        if np.isnan(values).any():
            raise InputError("scores must be numbers, got nan")
        component: Any = 0
        if len(self.weights) > 1:
            if draws is None:
                raise InputError("draws must be one number of [0, 1) per person to decide by lottery, got None")
            numbers = np.asarray(draws, dtype=np.float64)
            if numbers.shape != values.shape or not ((numbers >= 0.0) & (numbers < 1.0)).all():
                raise InputError("draws must be one number of [0, 1) per person")
            ends = self.weights[:-1, replicate].cumsum()
            component = np.searchsorted(ends, numbers, side="right")
        return np.asarray(values >= self.thresholds[component, replicate, members])

    def rows(self, index: Index) -> Policy:
        """Return the policy of these replicates only."""
        return Policy(self.thresholds[:, index], self.weights[:, index])

    def copy(self) -> Policy:
        """Return a policy that shares no memory with this one."""
        return Policy(self.thresholds.copy(), self.weights.copy())

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON, exact: infinite thresholds become the words "-inf" and "inf"."""
        words = np.where(np.isfinite(self.thresholds), self.thresholds.astype(object), self.thresholds.astype(str))
        return {"thresholds": words.tolist(), "weights": self.weights.tolist()}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Policy:
        """Return the policy that :meth:`to_json` gave."""
        try:
            thresholds, weights = (np.array(plain[name], dtype=np.float64) for name in ("thresholds", "weights"))
        except (KeyError, TypeError, ValueError):
            raise InputError(f"this is no policy: it must have thresholds and weights, got {plain!r}") from None
        if thresholds.ndim != 3 or weights.ndim != 2:
            axes = f"got {thresholds.ndim} and {weights.ndim}"
            raise InputError(f"a policy must have thresholds of 3 axes and weights of 2, {axes}")
        return cls(thresholds, weights).checked(None, thresholds.shape[1:])

    def checked(self, owner: object, shape: tuple[int, ...], edges: Array | None = None) -> Policy:
        """Return the policy if it fits replicates and groups of `shape`, and `edges` if given; else say why not."""
        wrong = _wrong(_Asked(self, edges), shape) if self.is_frozen else self._wrong(shape, edges)
        if wrong:
            raise InputError(f"the policy of {owner!r} must have {wrong}" if owner else f"a policy must have {wrong}")
        return self

    def _wrong(self, shape: tuple[int, ...], edges: Array | None) -> str:
        thresholds, weights = np.asarray(self.thresholds), np.asarray(self.weights)
        wanted = (len(weights), *shape)
        if thresholds.shape != wanted or weights.shape != wanted[:2]:
            got = f"got {thresholds.shape} and {weights.shape}"
            return f"thresholds of shape {wanted} and weights of shape {wanted[:2]}, {got}"
        if np.count_nonzero(np.isnan(thresholds)):
            return "thresholds that are numbers or ±inf, got nan"
        if weights is not _certain(shape[0]) and not _weights(weights):
            return "weights of at least 0 that sum to 1"
        if edges is not None:
            nearest = edges[np.minimum(edges.searchsorted(thresholds), len(edges) - 1)]
            strange = thresholds[(nearest != thresholds) & np.isfinite(thresholds)]
            return f"thresholds of the grid, as it sees scores in bins, got {strange[0]:g}" if strange.size else ""
        return ""


def as_policy(proposed: Any) -> Policy:
    """Return what a learner proposes as a policy: plain thresholds (replicates, groups) are one."""
    return proposed if isinstance(proposed, Policy) else Policy.of(proposed)


def _weights(weights: Array) -> bool:
    """Whether these are at least 0 and sum to 1 in every replicate."""
    return bool((weights >= 0).all() and (abs(weights.sum(axis=0) - 1.0) <= 1e-9).all())


@functools.lru_cache(maxsize=16)
def _certain(replicates: int) -> Array:
    """Weights of a policy without a lottery; shared, so they cannot be written to."""
    ones = np.ones((1, replicates))
    ones.flags.writeable = False
    return ones


class _Asked:
    """A frozen policy that something is asked about: the same if it is the same object, and the edges are equal."""

    def __init__(self, policy: Policy, edges: Array | None) -> None:
        self.policy, self.edges = policy, edges
        self.key = (id(policy), None if edges is None else edges.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=4)
def _share(asked: _Asked) -> Array:
    """Return what :meth:`Policy.accepted_share` does, once; shared, so it cannot be written to."""
    share = asked.policy._share(np.asarray(asked.edges))
    share.flags.writeable = False
    return share


@functools.lru_cache(maxsize=4)
def _same(one: _Asked, other: _Asked) -> NDArray[np.bool_]:
    """Return what :meth:`Policy.accepts_same` does, once; shared, so it cannot be written to."""
    same = _close(*(each.policy.accepted_share(np.asarray(each.edges)) for each in (one, other)))
    same.flags.writeable = False
    return same


def _close(one: Array, other: Array) -> NDArray[np.bool_]:
    """Whether shares (replicates, groups, bins) are the same but for rounding, (replicates,).

    What ``np.isclose`` tells, which looks for infinite numbers first.
    """
    return np.asarray((np.abs(one - other) <= 1e-8 + 1e-5 * other).all(axis=(1, 2)))


@functools.lru_cache(maxsize=4)
def _wrong(asked: _Asked, shape: tuple[int, ...]) -> str:
    """Return what is wrong with a policy, as :meth:`Policy.checked` says it; nothing if all is right."""
    return asked.policy._wrong(shape, asked.edges)
