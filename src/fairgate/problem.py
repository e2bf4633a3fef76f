"""Problem: what is wanted (utility) and what is required (constraints), read off counts or probabilities alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fairgate.constraints import Constraint, PlainConstraint, as_constraint
from fairgate.counts import Counts, across_groups, over_bins
from fairgate.settings import (
    Array,
    Index,
    NonNegative,
    Settings,
    common_replicates,
    replicates_of,
    rows_of,
)


class Observation(NamedTuple):
    """What a learner sees of a batch besides its signals; how much depends on the learner's level.

    Attributes
    ----------
    people, accepted
        People of each group who came, and who were accepted, (replicates, groups).
    positives, negatives
        Labels of the accepted, of this batch or of earlier ones, that arrived in this round, (replicates, groups).
    scores
        All people by score bin, (replicates, groups, bins); levels `scores` to `full-labels`.
    labels
        Labels of the accepted that arrived in this round by score bin, (replicates, groups, bins, 2), from
        `selective-labels` on; `full-labels` has the labels of the rejected as well.
    """

    people: Array
    accepted: Array
    positives: Array
    negatives: Array
    scores: Array | None = None
    labels: Array | None = None


class Assessment(NamedTuple):
    """Reward (…, replicates) and residuals (J, …, replicates), read off counts or probabilities; feasible is ≤ 0."""

    reward: Array
    residuals: Array


class Feedback(NamedTuple):
    """What a round reveals to a learner: reward (replicates,), residuals (J, replicates), and the counts it may see."""

    reward: Array
    residuals: Array
    observation: Observation


ROUNDING = 1e-12
"""How far above 0 a residual may lie and still count as met: the rounding of exact probabilities."""


def is_feasible(residuals: Array) -> NDArray[np.bool_]:
    """Whether every residual (J, …) is met, (…)."""
    return np.asarray((residuals <= ROUNDING).all(axis=0))


def violation(residuals: Array) -> Array:
    """Sum of the positive parts of the residuals (J, …), (…)."""
    return np.asarray(np.maximum(residuals, 0.0).sum(axis=0))


def best_feasible(reward: Array, residuals: Array, known: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return the place of the highest reward among those that are feasible; if none is, of the least violation.

    Parameters
    ----------
    reward, residuals
        (…, K) and (J, …, K): K choices on the last axis.
    known
        Choices to look at, (…, K); all if not given.

    Returns
    -------
    places
        (…,). Ties go to the lowest place.

    Examples
    --------
    >>> reward, residuals = np.array([0.1, 0.3, 0.9]), np.array([[-0.2, -0.1, 0.2]])
    >>> best_feasible(reward, residuals), best_feasible(reward, residuals, np.array([False, False, True]))
    (array(1), array(2))
    """
    looked_at = np.True_ if known is None else known
    feasible = is_feasible(residuals) & looked_at
    best = np.where(feasible, reward, -np.inf).argmax(axis=-1)
    least = np.where(looked_at, violation(residuals), np.inf).argmin(axis=-1)
    return np.asarray(np.where(feasible.any(axis=-1), best, least))


class Reward(Protocol):
    """Anything with a `reward`: the built-in :class:`Utility` or a user's own."""

    def reward(self, counts: Counts) -> Array:
        """Return the reward per person, (…, replicates)."""


@dataclass(frozen=True)
class Utility(Settings):
    r"""Reward of accepting: 1 for a positive label, minus a cost for a negative one, per person of the batch.

    .. math:: r(\theta) = \mathbb{E}[d \cdot (y - c_{fp} (1 - y))]

    Parameters
    ----------
    false_positive_cost
        Cost :math:`c_{fp}` of accepting somebody whose label is 0.

    Examples
    --------
    >>> cells = [[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]]     # 12 good and 3 bad accepted of 20
    >>> Utility(false_positive_cost=2.0).reward(Counts(cells))
    array([0.3])
    """

    false_positive_cost: NonNegative

    def reward(self, counts: Counts) -> Array:
        """Return the reward per person."""
        good = across_groups(np.add, counts.cells[..., 1, 1])
        bad = across_groups(np.add, counts.cells[..., 0, 1])
        return np.asarray((good - np.asarray(self.false_positive_cost) * bad) / counts.total)


@dataclass(frozen=True, init=False)
class Problem(Settings):
    """A utility to maximise and constraints to keep.

    Parameters
    ----------
    utility
        :class:`Utility`, or any object with ``reward(counts)``.
    constraints
        From :mod:`fairgate.constraints`, or any objects with ``names`` and ``residuals(counts)``, which
        :func:`~fairgate.constraints.as_constraint` adapts.

    Examples
    --------
    >>> from fairgate.constraints import DemographicParity, ServiceRate
    >>> problem = Problem(Utility(1.0), [DemographicParity(0.1), ServiceRate(0.3, 0.7)])
    >>> problem.names
    ('parity', 'service-low', 'service-high')
    >>> assessment = problem.assess([[[[3, 1], [1, 5]], [[1, 2], [0, 7]]]])
    >>> assessment.reward, assessment.residuals[:, 0].round(2)
    (array([0.45]), array([ 0.2 , -0.45,  0.05]))
    """

    utility: Reward
    constraints: Sequence[Constraint]

    def __init__(self, utility: Reward, constraints: Sequence[PlainConstraint] = ()) -> None:
        object.__setattr__(self, "utility", utility)
        object.__setattr__(self, "constraints", [as_constraint(each) for each in constraints])
        self.__post_init__()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all residuals, in order."""
        return tuple(name for constraint in self.constraints for name in constraint.names)

    def assess(self, cells: Any) -> Assessment:
        """Return reward and residuals of counts or exact probabilities, (…, replicates, groups, 2, 2)."""
        counts = cells if isinstance(cells, Counts) else Counts(cells)
        reward = self.utility.reward(counts)
        residuals = [residual for constraint in self.constraints for residual in constraint.residuals(counts)]
        return Assessment(reward, np.array(residuals, dtype=np.float64).reshape(-1, *reward.shape))

    def reveal(self, cells: Any, level: str = "bandit", arrived: Any = None) -> Feedback:
        """Return what a learner of `level` gets to know of a batch.

        Parameters
        ----------
        cells
            Counts, (replicates, groups, 2, 2); with a bin axis, (replicates, groups, bins, 2, 2), above level `bandit`.
        level
            "bandit" to "full-labels", see :class:`Observation`. Residuals that depend on labels of the rejected are
            NaN below "full-labels".
        arrived
            Labels that arrived in this round by group (and bin), (replicates, groups, 2) or (replicates, groups,
            bins, 2), if they are not those of this batch. The reward is then theirs.
        """
        cells = np.asarray(cells)
        binned = cells.ndim == 5
        counts = Counts(over_bins(cells) if binned else cells)
        labels = cells[..., 1] if arrived is None else np.asarray(arrived)
        known = over_bins(labels) if binned else labels
        reward, residuals = self.assess(counts)
        if arrived is not None:
            late = np.zeros_like(counts.cells)
            late[..., 1] = known
            late[..., 0, 0] = counts.people - known.sum(axis=-1)  # as many people as came
            reward = self.utility.reward(Counts(late))
        hidden = [each.needs == "all-labels" for each in self.constraints for _ in each.names]
        if level != "full-labels" and any(hidden):  # what depends on labels of the rejected is for nobody else to see
            residuals = np.where(np.array(hidden)[:, None], np.nan, residuals)
        seen = Observation(counts.people, counts.accepted, known[..., 1], known[..., 0])
        if level != "bandit":
            by_decision = cells[..., 0, :] + cells[..., 1, :]
            seen = seen._replace(scores=by_decision[..., 0] + by_decision[..., 1])
        if level in ("selective-labels", "full-labels"):
            seen = seen._replace(labels=labels + cells[..., 0] if level == "full-labels" else labels)
        return Feedback(reward, residuals, seen)

    @property
    def replicates(self) -> int | None:
        """How many replicates the parts are for, or None if they fit any number."""
        return common_replicates({repr(part): replicates_of(part) for part in (self.utility, *self.constraints)})

    def rows(self, index: Index) -> Self:
        """Return the same problem for these replicates only."""
        cut = [rows_of(constraint, index) for constraint in self.constraints]
        return replace(self, utility=rows_of(self.utility, index), constraints=cut)
