"""Labels: labels of accepted applicants that arrive late, or never."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairgate.arrays import Array, add_at, has_64_bits, namespace, put, record, static
from fairgate.core.policy import Policy
from fairgate.counts import Counts
from fairgate.errors import InputError

LATEST = 2.0**-16
"""Probability that a label takes longer than the horizon; such a label arrives in the last round of the horizon."""

LONGEST = 1200
"""Longest horizon in rounds: memory grows with its square, to 23 MB per loop at this length."""


@record
class LabelDelay:
    """Distribution of the delay of accepted applicants' labels.

    Attributes
    ----------
    arrival
        Probability that a label not yet known arrives in a round, starting with the round of the decision.
    loss
        Share of labels that never arrive.
    horizon
        Number of rounds within which labels arrive.
    """

    arrival: Array
    loss: Array
    horizon: int = static()

    @classmethod
    def of(cls, environment: Any) -> LabelDelay | None:
        """Return the label delay of an environment; None if all labels arrive at once."""
        arrival, loss = float(environment.label_arrival), float(environment.label_loss)
        if arrival == 1.0 and loss == 0.0:
            return None
        horizon = 1 if arrival == 1.0 else math.ceil(math.log(LATEST) / math.log1p(-arrival))
        if horizon > LONGEST:
            least = -math.expm1(math.log(LATEST) / LONGEST)
            raise InputError(
                f"{type(environment).__name__}: label_arrival must be at least {least:.4f} for labels to be known "
                f"within {LONGEST:,} rounds, got {arrival:g}"
            )
        return cls(np.float64(arrival), np.float64(loss), horizon)

    def rounds(self, words: Array) -> tuple[Array, Array]:
        """Return the delay of each label in rounds, and whether it ever arrives, from one word of 32 bits each."""
        xp = namespace(words)
        number = xp.float64 if has_64_bits(xp) else xp.float32
        luck = (xp.astype(words, number) + 0.5) * 2.0**-32
        known = luck >= self.loss
        rest = xp.clip((luck - self.loss) / (1.0 - self.loss), 2.0**-33, 1.0)
        late = xp.log(rest) / xp.log1p(-xp.minimum(xp.asarray(self.arrival, dtype=number), 1.0 - 2.0**-24))
        return xp.astype(xp.minimum(late, self.horizon - 1.0), xp.int32), known


@record
class Credits:
    """Labels that arrived in a round, and the reward that they credit to the last H policies; H is the horizon.

    Round t has index t mod H, so that a learner can store its own data on each round at the same index.

    Attributes
    ----------
    policies
        The policies, (H, options, groups or 1) and (H, options).
    labels
        Labels that arrived, (H, groups, 2).
    share
        Share of the labels of each round that arrived now, (H,); over time they add up to 1, or less if any are lost.
    reward
        Reward per person of each round, estimated from the labels that arrived now, (H,); 0 where none did.
    """

    policies: Policy
    labels: Array
    share: Array
    reward: Array


@record
class Pending:
    """Labels that have not arrived yet.

    Attributes
    ----------
    due
        Labels by round of arrival and round of decision, each modulo the horizon, (H, H, groups, 2).
    binned
        Labels by round of arrival and score bin, (H, groups, bins, 2).
    people, accepted
        People and accepted people of the last H rounds, (H, groups).
    policies
        Policies of the last H rounds.
    """

    due: Array
    binned: Array
    people: Array
    accepted: Array
    policies: Policy

    @classmethod
    def none(cls, horizon: int, groups: int, bins: int, policy: Policy) -> Pending:
        """Return a record without pending labels, for policies of the same shape as `policy`."""
        xp = namespace(policy.weights, policy.thresholds)
        past = Policy(*(xp.zeros((horizon, *each.shape)) for each in (policy.thresholds, policy.weights)))
        return cls(
            xp.zeros((horizon, horizon, groups, 2), dtype=xp.int32),
            xp.zeros((horizon, groups, bins, 2), dtype=xp.int32),
            xp.zeros((horizon, groups)),
            xp.zeros((horizon, groups)),
            past,
        )

    def send(
        self,
        number: Array,
        policy: Policy,
        counts: Counts,
        late: Array,
        arrives: Array,
        people: Sequence[Array],
    ) -> Pending:
        """Add the labels of round `number` that will arrive, and clear those that arrived in the round before.

        `people` holds group, score bin and label of each applicant.
        """
        horizon = self.due.shape[0]
        here, last = number % horizon, (number + (horizon - 1)) % horizon
        group, place, label = people
        when = (number + late) % horizon
        one = namespace(late).astype(arrives, self.due.dtype)
        due, binned = (put(each, last, namespace(each).zeros_like(each[0])) for each in (self.due, self.binned))
        return Pending(
            add_at(due, (when, here, group, label), one),
            add_at(binned, (when, group, place, label), one),
            put(self.people, here, counts.people),
            put(self.accepted, here, counts.accepted),
            Policy(
                put(self.policies.thresholds, here, policy.thresholds), put(self.policies.weights, here, policy.weights)
            ),
        )

    def arriving(self, number: Array, problem: Any) -> tuple[Credits, Array]:
        """Return the labels that arrive in round `number`, by policy and by score bin."""
        here = number % self.due.shape[0]
        xp = namespace(self.due)
        labels, binned = (xp.astype(each[here], self.people.dtype) for each in (self.due, self.binned))
        share, reward = earned(problem, labels, self.people, self.accepted, here)
        return Credits(self.policies, labels, share, reward), binned


def earned(problem: Any, labels: Array, people: Array, accepted: Array, now: Array) -> tuple[Array, Array]:
    """Return the share known, and the reward per person, of rounds (H,), from labels (H, groups, 2) that arrived.

    A group counts with the share of its people that the labels represent: those without a label among them count as
    rejected. Shares of rewards therefore add up to the reward of the batch. A round without accepted applicants is
    fully known at once, in round `now`.
    """
    xp = namespace(labels)
    arrived = labels.sum(axis=2)
    taken, known = accepted.sum(axis=1), arrived.sum(axis=1)
    alone = (xp.arange(len(taken)) == now) & (people.sum(axis=1) > 0.0)
    share = xp.where(taken > 0.0, known / xp.maximum(taken, 1.0), alone * 1.0)
    rejected = people * share[:, None] - arrived
    some = xp.maximum(rejected, 0.0)  # negative where a group's labels came first: others shrink
    whole = some.sum(axis=1, keepdims=True)
    some = some * rejected.sum(axis=1, keepdims=True) / xp.where(whole > 0.0, whole, 1.0)
    nobody = xp.zeros_like(some)
    cells = xp.stack((xp.stack((some, labels[..., 0]), axis=-1), xp.stack((nobody, labels[..., 1]), axis=-1)), axis=-2)
    reward = problem.utility.reward(Counts(xp.where(share[:, None, None, None] > 0.0, cells, 1.0)))
    return share, xp.where(share > 0.0, reward, 0.0)
