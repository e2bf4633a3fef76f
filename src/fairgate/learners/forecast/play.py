"""What is in play: a plan, the epoch it is kept for, and what that epoch has shown so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.shapes import filled
from fairgate.policy import Policy
from fairgate.problem import Feedback
from fairgate.settings import Array


@dataclass
class Plan:
    """What R replicates are to play, and what it should do."""

    thresholds: Annotated[Array, "M R G"]  # the policy
    weights: Annotated[Array, "M R"]
    rates: Annotated[Array, "R G"]  # predicted acceptance rates in the steady state
    variance: Annotated[Array, "R G"]  # their squared errors
    # prediction for any round, of acceptance and of accepted positives, as terms of the moving average
    terms: Annotated[Array, "2 R G 4"]
    speed: Annotated[NDArray[np.int64], "R"]  # index of that average's speed
    explore: Annotated[NDArray[np.bool_], "R"]  # whether the uniform lottery is to be played instead
    acceptance: Annotated[Array, "R"]  # at which acceptance rate
    # whether the evidence that nothing in the policy space is feasible is strong
    infeasible: Annotated[NDArray[np.bool_], "R"]
    transient: Annotated[NDArray[np.bool_], "R"]  # whether the state has yet to settle: the first rounds tell nothing
    safe: Annotated[NDArray[np.bool_], "R"]  # whether the policy is in the safe set

    @property
    def policy(self) -> Policy:
        """The policy, with the uniform lottery in its place where that is to be played."""
        parts = (self.thresholds, self.weights, self.explore, self.acceptance)
        return policy_of(self.thresholds.shape, *(part.tobytes() for part in parts))


@dataclass
class Play(Plan):
    """The plan in play, and its epoch."""

    due: Annotated[NDArray[np.int64], "R"]  # age of the response model at which this epoch ends
    waited: Annotated[NDArray[np.int64], "R"]  # its rounds so far
    # of its settled rounds: people, accepted, labels of these that have arrived, positives among them, and predicted
    # accepted and positives
    tally: Annotated[Array, "6 R G"]

    @classmethod
    def start(cls, replicates: int, groups: int, components: int) -> Play:
        """Make one whose first epoch is due at once; policies will have so many `components`."""
        sizes = {"R": replicates, "G": groups, "M": components}
        return filled(cls, sizes, thresholds=np.inf, weights=1.0 / components, acceptance=0.5)

    def adopt(self, rows: NDArray[np.int64], plan: Plan) -> None:
        """Put a plan into play in replicates `rows`."""
        for name, values in vars(plan).items():
            field = getattr(self, name)
            field[(slice(None), rows) if name in ("thresholds", "weights", "terms") else rows] = values

    def count(
        self, feedback: Feedback, regressors: Array, counted: NDArray[np.bool_], first: NDArray[np.int64]
    ) -> None:
        """Add a batch to the epoch's tally where it is `counted` (R,), with what was predicted of it.

        Of delayed labels, those of people accepted since round `first` (R,) count.
        """
        seen = feedback.observation
        labelled, positives = seen.positives + seen.negatives, seen.positives
        if feedback.credits is not None:
            since = [np.where((each.round >= first)[:, None, None], each.labels, 0) for each in feedback.credits]
            labels = sum(since, np.zeros((*positives.shape, 2)))
            labelled, positives = labels.sum(axis=-1), labels[..., 1]
        predicted = (regressors * self.terms).sum(axis=-1) * seen.people
        self.tally += counted[:, None] * np.stack((seen.people, seen.accepted, labelled, positives, *predicted))
        self.waited += 1

    def shown(self, rows: NDArray[np.int64]) -> tuple[Array, Array, Array, Array, Array]:
        """Return what the epoch of replicates `rows` showed: people, accepted, positives, and the latter two predicted.

        Labels that have not arrived are supposed to be like those that have, or as predicted if none has, (R, G) each.
        """
        people, accepted, labelled, positives, predicted, predicted_positives = self.tally[:, rows]
        unknown = (labelled == 0.0) & (accepted > 0.0)
        estimated = np.where(unknown, predicted_positives, positives * (accepted / np.maximum(labelled, 1.0)))
        return people, accepted, estimated, predicted, predicted_positives

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Make the first epoch due once more in some replicates."""
        self.due[rows] = 0
        self.infeasible[rows] = False


@lru_cache(maxsize=8)
def policy_of(
    shape: tuple[int, int, int], thresholds: bytes, weights: bytes, explore: bytes, acceptance: bytes
) -> Policy:
    """Return the policy of thresholds of this shape, uniform where to `explore`; the same while all of these are.

    Plans change seldom, so that what a loop works out of a policy holds for many rounds.
    """
    options, shares = np.frombuffer(thresholds).reshape(shape).copy(), np.frombuffer(weights).reshape(shape[:2]).copy()
    where = np.frombuffer(explore, dtype=np.bool_)
    probability = np.frombuffer(acceptance)[where]
    if probability.size:
        options[0, where], options[1:, where] = -np.inf, np.inf
        shares[0, where], shares[1, where], shares[2:, where] = probability, 1.0 - probability, 0.0
    return Policy(options, shares).frozen()
