"""What every environment offers: who arrives, and how decisions change who arrives next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fairgate.bins import decided
from fairgate.counts import Counts
from fairgate.environments.long_run import iterate, measure_contraction, settle
from fairgate.environments.state import State, replicates_in
from fairgate.errors import InputError
from fairgate.policy import Policy
from fairgate.settings import Array, Settings, as_floats

E = TypeVar("E", bound="Environment")

ROUNDING = 1e-9
"""By how much the sum of probabilities may differ from 1, and a probability lie below 0."""


@dataclass(frozen=True)
class Environment(Settings, ABC):
    r"""Immutable parameters and pure functions of an explicit state.

    An environment says how many groups there are, where it starts, how likely each cell group × label × decision is,
    and how it moves: :attr:`group_count`, :meth:`start`, :meth:`probabilities` and :meth:`update`. Histograms of
    scores, steady states and the contraction follow from these; write them where they can be had faster or exactly.
    :func:`check_environment` tells whether all of it fits together.

    The action is a threshold per replicate and group, people of :math:`s \ge \theta_g` being accepted; what is observed
    are counts of the batch, off which a :class:`~fairgate.Problem` reads the reward. A state is an array
    (replicates, …) or a dataclass of such arrays, and a group with nobody in the batch does not move.

    Parameters
    ----------
    label_arrival
        Probability that a label not yet known arrives in a round, so that labels are 1 / `label_arrival` − 1 rounds
        late on average; 1, the default of every environment, if they are known at once.
    label_loss
        Probability that a label never arrives, whatever it is; 0 by default.
    """

    label_arrival: float = field(default=1.0, kw_only=True, repr=False)
    label_loss: float = field(default=0.0, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        arrival = as_floats(f"{type(self).__name__}: label_arrival", self.label_arrival, ndim=0)
        if not 0.0 < arrival <= 1.0:
            raise InputError(f"{type(self).__name__}: label_arrival must be in (0, 1], got {self.label_arrival}")
        loss = as_floats(f"{type(self).__name__}: label_loss", self.label_loss, ndim=0)
        if not 0.0 <= loss < 1.0:
            raise InputError(f"{type(self).__name__}: label_loss must be in [0, 1), got {self.label_loss}")

    @cached_property
    def _by_replicate(self) -> dict[str, Array]:
        """Every number that may vary by replicate, with an axis of groups: (replicates, 1), or (1,) if it is one."""
        return {name: np.asarray(getattr(self, name), dtype=np.float64)[..., None] for name in self._numbers()}

    @cached_property
    def _kept(self) -> dict[bytes, tuple[Any, Array]]:
        """Tables that histograms are read from, by their edges."""
        return {}

    @property
    @abstractmethod
    def group_count(self) -> int:
        """Number of groups."""

    @abstractmethod
    def start(self, replicates: int = 1) -> State:
        """Return the state before anybody has been decided on, (replicates, …)."""

    @abstractmethod
    def probabilities(self, state: State, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2); sums to 1 in every replicate."""

    @abstractmethod
    def update(self, state: State, counts: Counts, thresholds: Array, rng: np.random.Generator) -> State:
        """Return the state after a batch decided by `thresholds` (replicates, groups), NaN where none was published.

        Leaves `state` as it is. All randomness comes from `rng`, which few environments need.
        """

    def expected_update(self, state: State, thresholds: Array) -> State:
        """Return the state after a round that goes as expected: `update` with exact probabilities in place of counts.

        An environment whose `update` draws random numbers replaces it by that update's mean.
        """
        counts = Counts(self.probabilities(state, thresholds))
        return self.update(state, counts, thresholds, np.random.default_rng(0))

    def steady_state(self, thresholds: Array) -> State:
        """Return the state that fixed `thresholds` (replicates, groups) lead to: expected updates until it stops."""
        return iterate(self, thresholds)

    def published(self, policy: Policy) -> Array:
        """Return the thresholds of a policy that people hear of, (replicates, groups); NaN where there is none."""
        return policy.published

    @cached_property
    def hastened(self) -> Environment:
        """An environment that ends in the same steady states in fewer rounds: itself, unless a class has one."""
        return self

    def contraction(self) -> float:
        """Return the largest factor by which one expected round can keep two states apart; by default as measured."""
        return measure_contraction(self)

    def histogram(self, state: State, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores that increasing `edges` (K,) part.

        Bin 0 lies below the first edge, bin k holds edge k − 1 and what is below edge k, bin K has no upper end.
        """
        shared = np.full((len(edges), replicates_in(state), self.group_count), np.reshape(edges, (-1, 1, 1)))
        cells = [self.probabilities(state, thresholds) for thresholds in shared]
        return bins_between(np.stack([each[..., 1] for each in cells], axis=-2), cells[0].sum(axis=-1))

    def cells(self, state: State, policy: Policy, edges: Array | None = None) -> Array:
        """Return P(group, label, decision) under a policy, with a score-bin axis if `edges` are given.

        Shape (replicates, groups, 2, 2), or (replicates, groups, bins, 2, 2) with the bins of :meth:`histogram`.
        """
        if edges is not None:
            return decided(self.histogram(state, edges), policy.accepted_share(edges))
        if len(policy.weights) == 1:
            return self.probabilities(state, policy.thresholds[0])
        parts = zip(policy.weights, policy.thresholds, strict=True)
        return np.asarray(sum(weight[:, None, None, None] * self.probabilities(state, each) for weight, each in parts))

    def long_run_cells(self, policy: Policy) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2), in the steady state of each policy.

        Refuses a steady state in which these are not probabilities.
        """
        if len(policy.weights) == 1:
            found = self.probabilities(self.steady_state(policy.thresholds[0]), policy.thresholds[0])
        elif type(self).expected_update is not Environment.expected_update:
            raise InputError(
                f"{type(self).__name__} moves people at random, so the steady state of a lottery is not known: ask "
                'for policies="per-group" or "threshold"'
            )
        else:
            found = self.cells(settle(self.hastened, policy), policy)
        totals, least = found.sum(axis=(1, 2, 3)), found.min(axis=(1, 2, 3))
        wrong = ~((np.abs(totals - 1.0) <= ROUNDING) & (least >= -ROUNDING))  # NaN is wrong
        if wrong.any():
            place = int(np.argmax(wrong))
            raise InputError(
                f"{type(self).__name__}: probabilities must be at least 0 and sum to 1, but in the steady state of "
                f"thresholds {policy.thresholds[:, place].tolist()} the least is {least[place]:.6g} and they sum to "
                f"{totals[place]:.6g}; fg.environments.check_environment finds the cause"
            )
        return found

    def at(self, round_number: int) -> Environment:
        """Return the environment as it stands in a round, kept so: itself, unless it changes by itself."""
        return self

    def candidates(self, low: float, high: float) -> Array:
        """Return thresholds between `low` and `high` fine enough to look for the best one."""
        return np.linspace(low, high, 2001)


def bins_between(above: Array, everybody: Array) -> Array:
    """Turn P(group, label, s ≥ edge), (…, groups, edges, 2), into P(group, bin, label), (…, groups, edges + 1, 2)."""
    ends = np.concatenate((everybody[..., None, :], above, np.zeros_like(everybody)[..., None, :]), axis=-2)
    return np.maximum(ends[..., :-1, :] - ends[..., 1:, :], 0.0)  # differences of rounded numbers


def joint(shares: Array, accepted: Array, positives: Array, accepted_positives: Array) -> Array:
    """Assemble P(group, label, decision) from shares and, within each group, P(d=1), P(y=1) and P(y=1, d=1)."""
    cells = np.empty((*accepted.shape, 2, 2))
    cells[..., 1, 1] = accepted_positives
    cells[..., 0, 1] = accepted - accepted_positives
    cells[..., 1, 0] = positives - accepted_positives
    cells[..., 0, 0] = 1.0 - accepted - cells[..., 1, 0]
    np.maximum(cells, 0.0, out=cells)  # differences of rounded numbers can fall just below 0
    cells *= shares[:, None, None]
    return cells


def approach(state: Array, target: Array, rate: Array) -> Array:
    """Move `state` the share `rate` of the way to `target`; where that is NaN, nobody came and nothing moves.

    >>> approach(np.array([1.0, 1.0]), np.array([2.0, np.nan]), np.array([0.5]))
    array([1.5, 1. ])
    """
    moved = state + rate * (target - state)
    return np.where(np.isnan(moved), state, moved)


def slowest_approach(rate: Array, feedback: float) -> float:
    """Largest factor by which x ← x + rate · (f(x) − x) keeps two states apart, if f's slope is within ± `feedback`."""
    slow, fast = float(np.min(rate)), float(np.max(rate))
    return max(1.0 - slow * (1.0 - feedback), abs(1.0 - fast * (1.0 + feedback)))


def at_once(environment: E) -> E:
    """Return the same environment at rate 1, if that is a contraction too, so that both end in the same state."""
    made = replace(environment, **{"rate": 1.0})
    return made if made.contraction() < 1.0 else environment
