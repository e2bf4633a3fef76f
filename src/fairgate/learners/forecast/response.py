"""The response model: a regression of scores on the moving average of acceptance.

Let h(t) be the moving average of a group's acceptance rate with an unknown speed ρ: h ← h + ρ · (acc − h). The share of
the group scoring at least θ is modelled as

    S(θ; h) = a(θ) + b(θ) · (h − ½) + c(θ) · (h − ½)² + d(θ) · (1 − ρ)^t,

where the last term is the transient of an unknown start. The model is exact for populations mixed of two by a weight
that follows acceptance, and near for others. Every batch shows S at all thresholds, so one state tells of all; the
speed ρ is the one, of a few, that explains most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.shapes import bins_last, filled
from fairgate.problem import Observation
from fairgate.settings import Array

SPEEDS = np.array([0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0])
"""Speeds ρ of the moving average, of which the data choose: a mean over 50 rounds to one."""

TERMS = 4
"""Level, slope, curvature and transient."""

RIDGE = np.diag([1e-6, 1.0, 1.0, 1.0])
"""What steadies the regression, in people: as much as one person says that nothing answers to acceptance."""


@dataclass
class Fit:
    """How R replicates respond to acceptance, by the data so far. The K + 2 options are -inf, the grid and inf."""

    rates: Annotated[Array, "R G 4 K+2"]  # P(s ≥ option | g) as terms of the moving average
    positives: Annotated[Array, "R G 4 K+2"]  # P(y=1, s ≥ option | g) as such terms
    inverse: Annotated[Array, "R G 4 4"]  # covariance of the terms in units of the noise
    speed: Annotated[NDArray[np.int64], "R"]  # index of the speed ρ

    def rows(self, index: NDArray[np.int64]) -> Fit:
        """Return the fit of some replicates."""
        return Fit(self.rates[index], self.positives[index], self.inverse[index], self.speed[index])

    def put(self, index: NDArray[np.int64], fit: Fit) -> None:
        """Replace the fit of some replicates."""
        for name, values in vars(fit).items():
            getattr(self, name)[index] = values


@dataclass
class ResponseModel:
    """What the regression has seen, for R replicates, G groups, K thresholds and P speeds."""

    age: Annotated[NDArray[np.int64], "R"]  # rounds that have gone into it
    average: Annotated[Array, "P R G"]  # moving averages of acceptance, one per speed ρ
    gram: Annotated[Array, "P 4 4 R G"]  # sums of the regression: replicates and groups last, which is faster
    cross: Annotated[Array, "P 4 K R G"]
    labels: Annotated[Array, "R G K+1 2"]  # of the accepted by score bin
    arrivals: Annotated[Array, "R G"]  # people of each group

    @classmethod
    def start(cls, replicates: int, groups: int, arms: int) -> ResponseModel:
        """Make a model that has seen nothing."""
        sizes = {"R": replicates, "G": groups, "K": arms, "P": len(SPEEDS)}
        made = filled(cls, sizes, average=0.5)
        made.labels = bins_last(made.labels)
        return made

    def reset(self, rows: NDArray[np.int64]) -> None:
        """Forget everything in some replicates."""
        self.age[rows] = 0
        self.average[:, rows] = 0.5
        self.gram[..., rows, :] = self.cross[..., rows, :] = 0.0
        self.labels[rows] = 0.0
        self.arrivals[rows] = 0.0

    def absorb(self, seen: Observation) -> None:
        """Take in a batch: its scores, its labels, and how many were accepted."""
        scores, labels = seen.binned
        above = scores[..., :0:-1].cumsum(axis=-1)[..., ::-1]
        at_least = np.ascontiguousarray(above.transpose(2, 0, 1), dtype=np.float64)  # (K, R, G)
        regressors = terms(self.average, ((1.0 - SPEEDS)[:, None] ** self.age)[..., None], axis=1)  # (P, 4, R, G)
        self.gram += (regressors * seen.people)[:, :, None] * regressors[:, None]
        for cross, regressor in zip(self.cross, regressors, strict=True):  # little by little, to stay in the cache
            cross[0] += at_least  # times 1
            cross[1:] += regressor[1:, None] * at_least
        self.labels += labels
        self.arrivals += seen.people
        came = seen.people > 0
        rate = seen.accepted / np.maximum(seen.people, 1)
        self.average += SPEEDS[:, None, None] * np.where(came, rate - self.average, 0.0)
        self.age += 1

    def fit(self, rows: NDArray[np.int64], benefit: float) -> Fit:
        """Fit the regression in replicates `rows`.

        `benefit` is how many standard errors a score bin's share of positives is given on top, where labels are few.
        """
        which = slice(None) if len(rows) == len(self.age) else rows  # all of them are not copied first
        gram, cross = (np.moveaxis(sums[..., which, :], (3, 4), (1, 2)).copy() for sums in (self.gram, self.cross))
        inverse = np.linalg.inv(gram + RIDGE)
        coefficients = inverse @ cross
        speed = (coefficients * cross).sum(axis=(2, 3, 4)).argmax(axis=0)
        every = np.arange(len(rows))
        inverse, coefficients = inverse[speed, every], coefficients[speed, every]

        good = optimistic_share(self.labels[rows], benefit)  # (R, G, K + 1)
        none = np.zeros_like(coefficients[..., :1])
        everybody = none + np.eye(TERMS)[:, :1]
        ends = np.concatenate((everybody, coefficients, none), axis=-1)
        bins = (ends[..., 1:-1] - ends[..., 2:]) * good[:, :, None, 1:]
        above = bins[..., ::-1].cumsum(axis=-1)[..., ::-1]
        whole = above[..., :1] + (everybody - coefficients[..., :1]) * good[:, :, None, :1]
        return Fit(ends, np.concatenate((whole, above, none), axis=-1), inverse, speed)

    def shares(self, rows: NDArray[np.int64]) -> Array:
        """Return the groups' shares in replicates `rows`, (R, G), equal while nobody has come."""
        people = self.arrivals[rows] + 1e-9
        return np.asarray(people / people.sum(axis=1, keepdims=True))

    def regressors(self, speed: NDArray[np.int64]) -> Array:
        """Return the regressors of the present round, (R, G, 4), for the speed of this index in each replicate."""
        average = self.average[speed, np.arange(len(speed))]
        return terms(average, ((1.0 - SPEEDS)[speed] ** self.age)[:, None])


def terms(average: Array, transient: Array | float = 0.0, axis: int = -1) -> Array:
    """Return the regressors of S at a moving average of acceptance, 4 along a new `axis`, by default (…, 4)."""
    shape = list(average.shape)
    shape.insert(axis % (len(shape) + 1), TERMS)
    made = np.empty(shape)
    level, away, squared, last = np.moveaxis(made, axis, 0)  # written to their place, which is faster than np.stack
    level[:] = 1.0
    np.subtract(average, 0.5, out=away)
    np.multiply(away, away, out=squared)
    last[:] = transient
    return made


def optimistic_share(labels: Array, benefit: float) -> Array:
    """Return the share of positives in labels (…, 2) plus `benefit` standard errors, 1 where nobody is known.

    >>> optimistic_share(np.array([[0.0, 0.0], [50.0, 50.0], [0.0, 9.0]]), 1.0).round(2)
    array([1.  , 0.55, 1.  ])
    """
    known = labels.sum(axis=-1)
    share = (labels[..., 1] + 0.5) / (known + 1.0)
    error = np.sqrt(np.maximum(share * (1.0 - share), 0.25 / (known + 1.0)) / (known + 1.0))
    return np.where(known > 0, np.minimum(share + benefit * error, 1.0), 1.0)
