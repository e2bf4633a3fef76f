"""What every environment offers: who arrives, and how decisions change who arrives next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts, draw
from fairgate.errors import InputError
from fairgate.settings import Array, Settings

State = NDArray[np.float64]


@dataclass(frozen=True)
class Environment(Settings, ABC):
    """Immutable parameters and pure functions of an explicit state.

    The state is an array (replicates, groups). A subclass says where it starts, how likely each
    cell group × label × decision is, and how it moves; drawing people and stepping follow from that.
    """

    @property
    @abstractmethod
    def group_count(self) -> int:
        """Number of groups."""

    @abstractmethod
    def start(self, replicates: int = 1) -> State:
        """Return the state before anybody has been decided on, (replicates, groups)."""

    @abstractmethod
    def probabilities(self, state: State, thresholds: Array) -> Array:
        """Return P(group, label, decision), (replicates, groups, 2, 2); sums to 1 in every replicate."""

    @abstractmethod
    def update(self, state: State, counts: Counts) -> State:
        """Return the state after a batch; a group with nobody in the batch does not move."""

    @abstractmethod
    def steady_state(self, thresholds: Array) -> State:
        """Return the state that fixed `thresholds` (replicates, groups) lead to, solved exactly."""

    @abstractmethod
    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart; always below 1."""

    def step(
        self, state: State, thresholds: Array, people: int, rng: np.random.Generator
    ) -> tuple[State, NDArray[np.int64]]:
        """Draw a batch, decide on it, and return the next state and the batch's counts."""
        cells = draw(self.probabilities(state, thresholds), people, rng)
        return self.update(state, Counts(cells)), cells

    def candidates(self, low: float, high: float) -> Array:
        """Return thresholds between `low` and `high` fine enough to look for the best one."""
        return np.linspace(low, high, 2001)


def check_shares(name: str, shares: Array) -> None:
    """Say so if the groups' shares are not positive or do not sum to 1."""
    if (shares <= 0).any() or abs(shares.sum() - 1.0) > 1e-9:
        raise InputError(f"{name} must be positive and sum to 1, got {shares.tolist()}")


def slowest_approach(rate: Array, feedback: float) -> float:
    """Largest factor by which x ← x + rate · (f(x) − x) keeps two states apart, if f's slope is within ± `feedback`."""
    slow, fast = float(np.min(rate)), float(np.max(rate))
    return max(1.0 - slow * (1.0 - feedback), abs(1.0 - fast * (1.0 + feedback)))


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
