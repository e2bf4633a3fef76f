"""Problem: what is wanted (utility) and what is required (constraints), read off counts or probabilities alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from fairgate.arrays import as_array, namespace
from fairgate.constraints import Constraint, PlainConstraint, as_constraint
from fairgate.counts import Counts, across_groups, over_bins, per_person
from fairgate.errors import InputError
from fairgate.policy import Policy
from fairgate.settings import (
    Array,
    Index,
    NonNegative,
    Settings,
    common_replicates,
    replicates_of,
    rows_of,
)

LEVELS = ("bandit", "scores", "selective-labels", "full-labels")
"""What a learner may see, from least to most: see :class:`Observation`."""


class Observation(NamedTuple):
    """The counts of a round that a learner sees; how much depends on its feedback level.

    Attributes
    ----------
    people, accepted
        People of each group who came, and who were accepted, (replicates, groups).
    positives, negatives
        Labels of accepted people that arrived in this round, of this batch or of earlier ones, (replicates, groups).
    scores
        All people by score bin, (replicates, groups, bins); from level `scores` on.
    labels
        Labels that arrived in this round by score bin, (replicates, groups, bins, 2), from `selective-labels` on;
        `full-labels` has the labels of rejected people as well.
    """

    people: Array
    accepted: Array
    positives: Array
    negatives: Array
    scores: Array | None = None
    labels: Array | None = None

    @property
    def binned(self) -> tuple[Array, Array]:
        """People and labels by score bin; say so if they may not be seen."""
        if self.scores is None or self.labels is None:
            raise InputError("this learner needs scores and labels by bin: give it feedback of its own level")
        return self.scores, self.labels


class Assessment(NamedTuple):
    """Reward (…, replicates) and residuals (J, …, replicates), read off counts or probabilities; feasible is ≤ 0."""

    reward: Array
    residuals: Array


class Arrival(NamedTuple):
    """Labels that arrived in a round, of people whom one batch accepted.

    Attributes
    ----------
    round
        Number of the round in which these people were accepted, from 0.
    played
        The policy that accepted them.
    labels
        How many labels of either kind arrived, (replicates, groups, 2), or (replicates, groups, bins, 2).
    people, accepted
        People of that batch, and how many of them were accepted, (replicates, groups).
    last
        Whether no more labels of that batch will come; not known of a batch of which labels are lost.
    """

    round: int
    played: Policy
    labels: NDArray[Any]
    people: NDArray[Any]
    accepted: NDArray[Any]
    last: bool = False


class Arrivals(Sequence[Arrival]):
    """Labels of many batches that arrived in one round: a sequence of :class:`Arrival`, stacked.

    Parameters
    ----------
    rounds, played, last
        One per batch; see :class:`Arrival`.
    labels
        (batches, replicates, groups, 2), without score bins.
    people, accepted
        (batches, replicates, groups).
    """

    def __init__(
        self,
        rounds: Sequence[int],
        played: Sequence[Policy],
        labels: NDArray[Any],
        people: NDArray[Any],
        accepted: NDArray[Any],
        last: Sequence[bool],
    ) -> None:
        self.rounds, self.played, self.last = rounds, played, last
        self.labels, self.people, self.accepted = labels, people, accepted

    @classmethod
    def of(cls, arrivals: Sequence[Arrival]) -> Arrivals:
        """Stack arrivals, unless they are stacked already."""
        if isinstance(arrivals, Arrivals):
            return arrivals
        rounds, played, labels, people, accepted, last = zip(*arrivals, strict=True)
        stacked = np.stack([coarse(each) for each in labels])
        return cls(rounds, played, stacked, np.stack(people), np.stack(accepted), last)

    def __len__(self) -> int:
        return len(self.rounds)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        stacked = (self.labels[place], self.people[place], self.accepted[place])
        return Arrival(self.rounds[place], self.played[place], *stacked, self.last[place])


class Credit(NamedTuple):
    """What arrived labels say of the policy that accepted those people.

    Attributes
    ----------
    round, played, last
        See :class:`Arrival`.
    labels
        (replicates, groups, 2).
    reward
        Reward per person of that batch, going by the labels that arrived: their mean worth times the share of the
        batch that was accepted, (replicates,). 0 where `share` is 0.
    share
        Share of the batch's labels that arrived, (replicates,): the shares of a batch add up to 1 once all are known.
    people
        As many people of the batch as these labels stand for, (replicates,).
    """

    round: int
    played: Policy
    last: bool
    labels: Array
    reward: Array
    share: Array
    people: Array

    def only(self, rows: NDArray[np.bool_]) -> Credit:
        """Return the same for these replicates (replicates,), as if nothing had arrived in the others."""
        labels = np.where(rows[:, None, None], self.labels, 0)
        return self._replace(
            labels=labels, share=np.where(rows, self.share, 0.0), people=np.where(rows, self.people, 0), last=False
        )


class Feedback(NamedTuple):
    """What a round reveals to a learner.

    Attributes
    ----------
    reward
        Reward per person, (replicates,): of the batch, or, where labels are delayed, of the labels that arrived in this
        round. NaN where none did: a label that has not arrived is unknown.
    residuals
        Of the batch, (J, replicates). NaN where they depend on labels the learner may not see, or nobody came.
    observation
        The counts it may see.
    credits
        Where labels are delayed, what those that arrived say of the policies that accepted these people: a tuple of
        :class:`Credit`, or in the pure core its `Credits`; None if all labels are known at once.
    round
        Number of the round, by which later :class:`Arrival` of its labels refer to it; −1 if none will.
    """

    reward: Array
    residuals: Array
    observation: Observation
    credits: Any = None
    round: int = -1

    def credited(self, played: Policy) -> tuple[Credit, ...]:
        """Return what labels say of policies, whether delayed or not; `played` is the policy of this round."""
        if self.credits is not None:
            found: tuple[Credit, ...] = self.credits
            return found
        people = self.observation.people.sum(axis=1)
        labels = np.stack((self.observation.negatives, self.observation.positives), axis=-1)
        return (Credit(self.round, played, True, labels, self.reward, np.ones(len(people)), people),)


ROUNDING = 1e-12
"""How far above 0 a residual may lie and still count as met: the rounding of exact probabilities."""


def is_feasible(residuals: Array) -> NDArray[np.bool_]:
    """Whether every residual (J, …) is met, (…)."""
    return as_array((residuals <= ROUNDING).all(axis=0))


def violation(residuals: Array) -> Array:
    """Sum of the positive parts of the residuals (J, …), (…)."""
    return as_array(namespace(residuals).maximum(residuals, 0.0).sum(axis=0))


def best_feasible(reward: Array, residuals: Array, known: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return the best feasible option, else the least violating one: the last axis of `reward` (…, K).

    `residuals` is (J, …, K); only options `known` (…, K) are looked at. Ties go to the lowest.

    >>> reward, residuals = np.array([0.1, 0.3, 0.9]), np.array([[-0.2, -0.1, 0.2]])
    >>> int(best_feasible(reward, residuals)), int(best_feasible(reward, residuals + 0.3))
    (1, 0)
    """
    xp = namespace(reward, residuals)
    feasible = is_feasible(residuals) if known is None else is_feasible(residuals) & known
    best = xp.where(feasible, reward, -np.inf).argmax(axis=-1)
    if xp is np and feasible.any(axis=-1).all():
        return np.asarray(best)
    broken = violation(residuals) if known is None else xp.where(known, violation(residuals), np.inf)
    return as_array(xp.where(feasible.any(axis=-1), best, broken.argmin(axis=-1)))


def coarse(labels: NDArray[Any]) -> NDArray[Any]:
    """Sum labels (replicates, groups, …, 2) over score bins, if there are any."""
    return over_bins(labels) if labels.ndim == 4 else np.asarray(labels)


def _in_turn(values: Array) -> Array:
    """Sum values (N, replicates) one after the other, so that rounding does not depend on how many replicates are."""
    return np.asarray(values.sum(axis=0) if values.shape[1] > 1 else values.cumsum(axis=0)[-1])


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
        return per_person(good - as_array(self.false_positive_cost) * bad, counts.total)


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

    @cached_property
    def hidden(self) -> list[bool]:
        """Whether each residual depends on labels of rejected people."""
        return [each.needs == "all-labels" for each in self.constraints for _ in each.names]

    def assess(self, cells: Any) -> Assessment:
        """Return reward and residuals of counts or exact probabilities, (…, replicates, groups, 2, 2)."""
        counts = cells if isinstance(cells, Counts) else Counts(cells)
        reward = self.utility.reward(counts)
        residuals = [residual for constraint in self.constraints for residual in constraint.residuals(counts)]
        xp = namespace(reward)
        if xp is not np:
            return Assessment(reward, xp.stack([*residuals]) if residuals else xp.zeros((0, *reward.shape)))
        stacked = np.empty((len(residuals), *reward.shape))
        for place, residual in enumerate(residuals):  # faster than np.array of all
            stacked[place] = residual
        return Assessment(reward, stacked)

    def predict(self, histogram: Any, policy: Policy, edges: Any) -> Assessment:
        """Return reward and residuals of a policy for applicants whose scores and labels are known or estimated.

        Parameters
        ----------
        histogram
            Applicants, counted or as probabilities, by group, score bin and label, (replicates, groups, K + 1, 2).
        policy
            The policy, whose thresholds are among the edges or ±inf.
        edges
            Edges of the bins, increasing, (K,): bin k has scores of at least edge k − 1 and below edge k.

        Examples
        --------
        >>> import fairgate as fg
        >>> people = np.array([[[[3, 1], [2, 4]], [[5, 1], [1, 3]]]])    # two groups, scores below and from 0.5 on
        >>> problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
        >>> found = problem.predict(people, fg.Policy.of([[0.5, 0.5]]), [0.5])
        >>> found.reward, found.residuals[0]
        (array([0.2]), array([0.1]))
        """
        people, bins = np.asarray(histogram, dtype=np.float64), np.asarray(edges, dtype=np.float64)
        if people.ndim != 4 or people.shape[2:] != (len(bins) + 1, 2):
            raise InputError(
                f"histogram must have shape (replicates, groups, {len(bins) + 1}, 2) for {len(bins)} edges, "
                f"got {people.shape}"
            )
        share = policy.checked(None, people.shape[:2], bins).accepted_share(bins)[..., None]
        return self.assess(Counts.of_bins(np.stack((people * (1.0 - share), people * share), axis=-1)))

    def reveal(
        self,
        counts: Any,
        level: str = "bandit",
        arrivals: Sequence[Arrival] | None = None,
        labels: NDArray[Any] | None = None,
        round_number: int = -1,
    ) -> Feedback:
        """Return what a learner of a feedback level gets to know of a batch.

        Parameters
        ----------
        counts
            :class:`~fairgate.Counts`, or cells (replicates, groups, 2, 2); above level `bandit` with a bin axis,
            (replicates, groups, bins, 2, 2).
        level
            "bandit" to "full-labels", see :class:`Observation`. Residuals that depend on labels of rejected people are
            NaN below "full-labels".
        arrivals
            Labels that arrived in this round and the batches they belong to, if not all are known at once.
        labels
            All of them together by score bin, (replicates, groups, bins, 2), if those of `arrivals` have no bins.
        round_number
            Number of this round, by which `arrivals` of later rounds refer to it.
        """
        if isinstance(counts, Counts):
            found = counts
        else:
            found = Counts.of_bins(np.asarray(counts)) if np.ndim(counts) == 5 else Counts(counts)
        cells = found.cells if found.binned is None or level == "bandit" else found.binned
        binned = cells.ndim == 5
        reward, residuals = self.assess(found)
        if level != "full-labels" and True in self.hidden:
            residuals = np.where(np.array(self.hidden)[:, None], np.nan, residuals)
        credited = None
        if arrivals is not None:
            credited, reward = self._credited(arrivals, len(reward))
            if labels is None:
                shown = [each.labels if binned else coarse(each.labels) for each in arrivals]
                labels = sum(shown, np.zeros_like(cells[..., 1]))
        known = found.cells[..., 1] if labels is None else coarse(labels)
        labels = cells[..., 1] if labels is None else labels
        seen = Observation(found.people, found.accepted, known[..., 1], known[..., 0])
        if level != "bandit":
            scores = cells[..., 0, 0] + cells[..., 0, 1]
            scores += cells[..., 1, 0]  # one by one, which is fast however cells lie in memory
            scores += cells[..., 1, 1]
            seen = seen._replace(scores=scores)
        if level in ("selective-labels", "full-labels"):
            seen = seen._replace(labels=labels + cells[..., 0] if level == "full-labels" else labels)
        return Feedback(reward, residuals, seen, credited, round_number)

    def _credited(self, arrivals: Sequence[Arrival], replicates: int) -> tuple[tuple[Credit, ...], Array]:
        """Read the rewards of batches off those of their labels that arrived; and the mean of these rewards.

        In the mean, (replicates,), each is weighted by its share; it is NaN where no label arrived.
        """
        if not arrivals:
            return (), np.full(replicates, np.nan)
        stacked = Arrivals.of(arrivals)
        labels, people, accepted = stacked.labels, stacked.people, stacked.accepted
        arrived = labels[..., 0] + labels[..., 1]
        if people.shape != arrived.shape or (arrived > accepted).any() or (accepted > people).any():
            got = f"{arrived.sum()} labels, {accepted.sum()} accepted, {people.sum()} people"
            raise InputError(
                "arrivals must have no more labels than people accepted, and no more accepted than people, "
                f"(replicates, groups) each, got {got}"
            )
        total, taken, known = (across_groups(np.add, each) for each in (people, accepted, arrived))
        nobody = np.where(total > 0, 1.0, 0.0)  # accepted: the reward is known without a label
        share = np.divide(known, taken, out=nobody, where=taken > 0)
        cells = np.empty((labels.shape[2], 2, 2, *share.shape))  # groups first: what is read together lies together
        cells[:, :, 1], cells[:, 1, 0] = labels.transpose(2, 3, 0, 1), 0.0
        meant = people.transpose(2, 0, 1) * share
        rejected = meant - arrived.transpose(2, 0, 1)  # of a group whose labels came first, fewer than none:
        some = np.maximum(rejected, 0.0, out=cells[:, 0, 0])  # others have so many fewer
        fewer, whole, stood_for = (across_groups(np.add, each.transpose(1, 2, 0)) for each in (rejected, some, meant))
        some *= np.divide(fewer, whole, out=whole * 0.0, where=whole > 0)
        reward = np.nan_to_num(self.utility.reward(Counts(cells.transpose(3, 4, 0, 1, 2))), nan=0.0)
        values = zip(labels, reward, share, stood_for, strict=True)
        origins = zip(stacked.rounds, stacked.played, stacked.last, strict=True)
        credited = tuple(Credit(*origin, *value) for origin, value in zip(origins, values, strict=True))
        return credited, per_person(_in_turn(share * reward), _in_turn(share))

    @property
    def replicates(self) -> int | None:
        """How many replicates the parts are for, or None if they fit any number."""
        return common_replicates({repr(part): replicates_of(part) for part in (self.utility, *self.constraints)})

    def rows(self, index: Index) -> Self:
        """Return the same problem for these replicates only."""
        cut = [rows_of(constraint, index) for constraint in self.constraints]
        return replace(self, utility=rows_of(self.utility, index), constraints=cut)
