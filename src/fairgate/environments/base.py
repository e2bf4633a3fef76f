"""What every environment offers: who arrives, and how decisions change who arrives next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairgate.counts import Counts, draw
from fairgate.errors import InputError
from fairgate.policy import Lottery, accepted_share, published
from fairgate.settings import Array, Settings, as_floats

State = NDArray[np.float64]


@dataclass(frozen=True)
class Environment(Settings, ABC):
    """Immutable parameters and pure functions of an explicit state.

    The state is an array (replicates, …), what follows being the environment's own affair. A subclass says
    where it starts, how likely each cell group × label × decision is, and how it moves; drawing people,
    histograms of scores and stepping follow from that.

    Parameters
    ----------
    label_arrival
        Probability that a label still awaited arrives in a round, so that labels are 1 / `label_arrival` − 1 rounds
        late on average; 1, the default of every environment, if they are known at once.
    """

    label_arrival: float = field(default=1.0, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        arrival = as_floats(f"{type(self).__name__}: label_arrival", self.label_arrival, ndim=0)
        if not 0.0 < arrival <= 1.0:
            raise InputError(f"{type(self).__name__}: label_arrival must be in (0, 1], got {self.label_arrival}")

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
    def update(self, state: State, counts: Counts, thresholds: Array) -> State:
        """Return the state after a batch decided by `thresholds`; a group with nobody in the batch does not move."""

    @abstractmethod
    def steady_state(self, thresholds: Array) -> State:
        """Return the state that fixed `thresholds` (replicates, groups) lead to, solved exactly."""

    @abstractmethod
    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two states apart; always below 1."""

    def step(
        self,
        state: State,
        policy: Array | Lottery,
        people: int,
        rng: np.random.Generator,
        edges: Array | None = None,
    ) -> tuple[State, NDArray[np.int64]]:
        """Draw a batch, decide on it, and return the next state and the batch's counts (see :meth:`cells`)."""
        cells = draw(self.cells(state, policy, edges), people, rng)
        counts = Counts(cells if edges is None else cells.sum(axis=-3))
        return self.update(state, counts, published(policy)), cells

    def histogram(self, state: State, edges: Array) -> Array:
        """Return P(group, bin, label), (replicates, groups, bins, 2), of the scores that increasing `edges` (K,) part.

        Bin 0 lies below the first edge, bin k holds edge k − 1 and what is below edge k, bin K has no upper end.
        """
        at_edges = [self.probabilities(state, np.full((len(state), self.group_count), edge)) for edge in edges]
        above = np.stack([cells[..., 1] for cells in at_edges], axis=-2)
        return bins_between(above, at_edges[0].sum(axis=-1))

    def cells(self, state: State, policy: Array | Lottery, edges: Array | None = None) -> Array:
        """Return P(group, label, decision) under thresholds or a lottery, with a score-bin axis if `edges` are given.

        Shape (replicates, groups, 2, 2), or (replicates, groups, bins, 2, 2) with the bins of :meth:`histogram`.
        """
        if edges is not None:
            labelled = self.histogram(state, edges)[..., None]
            accepted = accepted_share(policy, edges)[..., None, None]
            return np.concatenate((labelled * (1.0 - accepted), labelled * accepted), axis=-1)
        if not isinstance(policy, Lottery):
            return self.probabilities(state, policy)
        parts = zip(policy.weights, policy.thresholds, strict=True)
        return np.asarray(sum(weight[:, None, None, None] * self.probabilities(state, each) for weight, each in parts))

    def at(self, round_number: int) -> Environment:
        """Return the environment as it stands in a round, for ever: itself, unless it changes of its own accord."""
        return self

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
