"""Drift: GaussianScores in a world that changes by itself, whose means also swing or jump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fairgate.counts import Counts
from fairgate.environments.gaussian_scores import GaussianScores, feedback_of
from fairgate.environments.normal_scores import NormalScores
from fairgate.errors import InputError
from fairgate.settings import Array, PositiveShare, Real, as_floats, whole_number


@dataclass(frozen=True)
class Drift(NormalScores):
    r"""Normal scores that answer to acceptance, in a world that also changes by itself.

    As :class:`GaussianScores`, but the scores of round t have mean :math:`\mu_g + shift_g(t)` with

    .. math:: shift_g(t) = swing_g \cdot \sin(2 \pi t / period) + jump_g \cdot 1[t \ge jump\_round],

    while :math:`\mu` moves as it does there. The label model stays. Frozen in round t it is the
    :class:`GaussianScores` of mean :math:`means + shift(t)`, whose steady states and best threshold are exact.

    The state is :math:`\mu` and, in a last column, the round t, which moves on for all: (replicates, groups + 1).

    Parameters
    ----------
    means, shares, sd, slope, midpoint, gain, rate
        See :class:`GaussianScores`.
    swing, period
        How far each group's mean swings up and down, and in how many rounds.
    jump, jump_round
        How far each group's mean jumps, and in which round.

    Examples
    --------
    >>> env = Drift(means=[0.0, 0.5], shares=[0.5, 0.5], sd=[1.0, 1.0], slope=2.0, midpoint=0.0, gain=0.5, rate=0.1,
    ...             swing=[0.2, 0.2], period=1000, jump=[-1.0, 0.0], jump_round=500)
    >>> env.shift([0, 250, 500]).round(3)
    array([[ 0. ,  0. ],
           [ 0.2,  0.2],
           [-1. ,  0. ]])
    >>> env.at(250).means
    [0.2, 0.7]
    """

    per_group: ClassVar[tuple[str, ...]] = (*NormalScores.per_group, "swing", "jump")
    _tabled: ClassVar[frozenset[str]] = frozenset({"gain"})

    gain: Real
    rate: PositiveShare
    swing: Sequence[float] | Array
    period: float
    jump: Sequence[float] | Array
    jump_round: int

    def __post_init__(self) -> None:
        super().__post_init__()
        feedback_of(self, self.gain)
        if not as_floats("Drift: period", self.period, ndim=0) > 0:
            raise InputError(f"Drift: period must be above 0, got {self.period}")
        whole_number("Drift: jump_round", self.jump_round, 0)

    @cached_property
    def _still(self) -> GaussianScores:
        """The same without shifts, which says how means answer to acceptance."""
        return GaussianScores(**{each.name: getattr(self, each.name) for each in fields(GaussianScores)})

    @cached_property
    def reach(self) -> float:
        """How far feedback and shift together can take a mean."""
        shift = np.abs(self._by_group["swing"]) + np.abs(self._by_group["jump"])
        return self._still.reach + float(shift.max())

    def shift(self, rounds: ArrayLike) -> Array:
        """Return how far the means are shifted in `rounds` (N,), (N, groups)."""
        t = np.asarray(rounds, dtype=np.float64)[:, None]
        swing, jump = self._by_group["swing"], self._by_group["jump"]
        return np.asarray(swing * np.sin(2.0 * np.pi / self.period * t) + jump * (t >= self.jump_round))

    def start(self, replicates: int = 1) -> Array:
        """Return `means` and round 0 in every replicate."""
        return np.concatenate((super().start(replicates), np.zeros((replicates, 1))), axis=1)

    def mean_scores(self, state: Array) -> Array:
        """Return the mean scores of the state's round, (replicates, groups)."""
        return np.asarray(state[:, :-1] + self.shift(state[:, -1]))

    def update(self, state: Array, counts: Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        """Return the means after a batch, in the next round."""
        moved = self._still.update(state[:, :-1], counts, thresholds, rng)
        return np.concatenate((moved, state[:, -1:] + 1.0), axis=1)

    def contraction(self) -> float:
        """Return the largest factor by which one round can keep two means apart."""
        return self._still.contraction()

    def steady_state(self, thresholds: Array) -> Array:
        """Refuse: what changes by itself has no steady state."""
        raise InputError("Drift has no steady state while it drifts: freeze it first with at(round_number)")

    def at(self, round_number: int) -> GaussianScores:
        """Return the :class:`GaussianScores` that the means of this round would stay with."""
        shifted = self._by_group["means"] + self.shift([whole_number("round_number", round_number, 0)])[0]
        return replace(self._still, means=shifted.tolist())
