"""How scores answer to acceptance: a regression that foretells what every threshold leads to in the long run.

Let h(t) be a group's acceptance rate as the group has heard of it, a running mean with an unknown rate ρ:
h ← h + ρ · (acc − h). The share of the group scoring at least θ is modelled as

    S(θ; h) = a(θ) + b(θ) · (h − ½) + c(θ) · (h − ½)² + d(θ) · (1 − ρ)^t,

where the last term is the echo of a start that nobody knows. It is exact for populations mixed of two by a weight that
follows acceptance, and near for others. In the long run the echo is gone and h is the acceptance rate itself, so that
the acceptance rate of a threshold solves acc = S(θ; acc). Every batch shows S at all thresholds, so one state tells of
all; the rate ρ is the one, of a few, that explains most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairgate.learners.outlook import Outlook
from fairgate.learners.state import State
from fairgate.problem import Observation
from fairgate.settings import Array

RATES = np.array([0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0])
"""Rates ρ at which a group may hear of acceptance, of which the data choose."""

TERMS = 4
"""Level, slope, curvature and echo."""

RIDGE = np.diag([1e-6, 1.0, 1.0, 1.0])
"""What steadies the regression, in people."""

STEEPEST = 0.9
"""Largest slope of S in acc that is believed: beyond, a steady state would hardly be one."""

NEWTON_STEPS = 8
"""Steps to the fixed point acc = S(θ; acc), from ½; more change nothing."""


@dataclass
class ResponseState(State):
    """What the regression needs.

    Attributes
    ----------
    age
        Rounds that have gone into it, (R,).
    heard
        Acceptance rates as heard of, for each rate ρ, (P, R, G).
    gram, cross
        Sums of the regression, (P, 4, 4, R, G) and (P, 4, K, R, G): replicates and groups last, which is faster.
    labels
        Labels of the accepted by score bin, (R, G, K + 1, 2).
    arrivals
        People of each group, (R, G).
    """

    age: NDArray[np.int64]
    heard: Array
    gram: Array
    cross: Array
    labels: Array
    arrivals: Array


def blank(replicates: int, groups: int, arms: int) -> dict[str, Array]:
    """Return the fields of a memory that has seen nothing."""
    rates, each = len(RATES), (replicates, groups)
    return {
        "age": np.zeros(replicates, dtype=np.int64),
        "heard": np.full((rates, *each), 0.5),
        "gram": np.zeros((rates, TERMS, TERMS, *each)),
        "cross": np.zeros((rates, TERMS, arms, *each)),
        "labels": np.zeros((*each, arms + 1, 2)),
        "arrivals": np.zeros(each),
    }


def forget(state: ResponseState, rows: NDArray[np.int64]) -> None:
    """Begin anew in some replicates."""
    for name, start in blank(len(rows), state.groups, len(state.grid)).items():
        getattr(state, name)[(..., rows, slice(None)) if name in ("heard", "gram", "cross") else rows] = start


def terms(heard: Array, echo: Array | float = 0.0, axis: int = -1) -> Array:
    """Return the regressors of S at what has been heard of, 4 along a new `axis`, by default (…, 4)."""
    away = heard - 0.5
    return np.stack((np.ones_like(away), away, away * away, np.broadcast_to(echo, away.shape)), axis=axis)


def absorb(state: ResponseState, seen: Observation) -> None:
    """Take in a batch: its scores, its labels, and how many were accepted."""
    assert seen.scores is not None
    assert seen.labels is not None
    above = seen.scores[..., :0:-1].cumsum(axis=-1)[..., ::-1]
    at_least = np.ascontiguousarray(above.transpose(2, 0, 1), dtype=np.float64)  # (K, R, G)
    regressors = terms(state.heard, ((1.0 - RATES)[:, None] ** state.age)[..., None], axis=1)  # (P, 4, R, G)
    state.gram += (regressors * seen.people)[:, :, None] * regressors[:, None]
    for cross, regressor in zip(state.cross, regressors, strict=True):  # little by little, to stay in the cache
        cross += regressor[:, None] * at_least
    state.labels += seen.labels
    state.arrivals += seen.people
    came = seen.people > 0
    rate = seen.accepted / np.maximum(seen.people, 1)
    state.heard += RATES[:, None, None] * np.where(came, rate - state.heard, 0.0)
    state.age += 1


class Fit(NamedTuple):
    """How R replicates answer to acceptance, by the data so far. The K + 2 options are -inf, the grid and inf.

    Attributes
    ----------
    rates, positives
        P(s ≥ option | g) and P(y=1, s ≥ option | g) as terms of what is heard of, (R, G, 4, K + 2).
    inverse
        Covariance of the terms in units of the noise, (R, G, 4, 4).
    chosen
        Index of the rate ρ, (R,).
    """

    rates: Array
    positives: Array
    inverse: Array
    chosen: NDArray[np.int64]


def fit(state: ResponseState, rows: NDArray[np.int64], benefit: float) -> Fit:
    """Fit the regression in replicates `rows`.

    `benefit` is how many standard errors a score bin's share of positives is given on top, where labels are few.
    """
    gram, cross = (np.moveaxis(sums[..., rows, :], (3, 4), (1, 2)).copy() for sums in (state.gram, state.cross))
    inverse = np.linalg.inv(gram + RIDGE)
    coefficients = inverse @ cross
    chosen = (coefficients * cross).sum(axis=(2, 3, 4)).argmax(axis=0)
    every = np.arange(len(rows))
    inverse, coefficients = inverse[chosen, every], coefficients[chosen, every]

    known = state.labels[rows].sum(axis=-1)
    share = (state.labels[rows][..., 1] + 0.5) / (known + 1.0)
    doubt = np.sqrt(np.maximum(share * (1.0 - share), 0.25 / (known + 1.0)) / (known + 1.0))
    good = np.where(known > 0, np.minimum(share + benefit * doubt, 1.0), 1.0)  # (R, G, K + 1)
    none = np.zeros_like(coefficients[..., :1])
    everybody = none + np.eye(TERMS)[:, :1]
    ends = np.concatenate((everybody, coefficients, none), axis=-1)
    bins = (ends[..., 1:-1] - ends[..., 2:]) * good[:, :, None, 1:]
    above = bins[..., ::-1].cumsum(axis=-1)[..., ::-1]
    whole = above[..., :1] + (everybody - coefficients[..., :1]) * good[:, :, None, :1]
    return Fit(ends, np.concatenate((whole, above, none), axis=-1), inverse, chosen)


def shares_of(state: ResponseState, rows: NDArray[np.int64]) -> Array:
    """Return the groups' shares in replicates `rows`, (R, G), equal while nobody has come."""
    people = state.arrivals[rows] + 1e-9
    return np.asarray(people / people.sum(axis=1, keepdims=True))


def slope(coefficients: Array, rates: Array) -> Array:
    """Return how much S of terms (R, G, 4, C) changes with acceptance at `rates` (R, G, C), as far as is believed."""
    return np.clip(coefficients[:, :, 1] + 2.0 * coefficients[:, :, 2] * (rates - 0.5), -STEEPEST, STEEPEST)


def fitted(coefficients: Array) -> tuple[Array, Array]:
    """Return the acceptance rates that terms (R, G, 4, C) lead to, acc = S(acc), and the slopes of S there."""
    rates = np.full(coefficients[:, :, 0].shape, 0.5)
    for _ in range(NEWTON_STEPS):
        steep = slope(coefficients, rates)
        rates = np.clip(rates - (rates - at(coefficients, rates)) / (1.0 - steep), 0.0, 1.0)
    return rates, slope(coefficients, rates)


def at(coefficients: Array, rates: Array) -> Array:
    """Return the value of terms (R, G, 4, C) in the long run of `rates` (R, G, C)."""
    away = rates - 0.5
    return coefficients[:, :, 0] + away * (coefficients[:, :, 1] + away * coefficients[:, :, 2])


def value(coefficients: Array, rates: Array) -> Array:
    """Return the same of terms (R, G, C, 4)."""
    away = rates - 0.5
    return np.asarray(coefficients[..., 0] + away * coefficients[..., 1] + away * away * coefficients[..., 2])


def leverage(inverse: Array, rates: Array) -> Array:
    """Return the variance of S in the long run of `rates` (R, G, C), in units of the noise."""
    return value(terms(rates) @ inverse, rates)


def foresee(state: ResponseState, rows: NDArray[np.int64], found: Fit) -> Outlook:
    """Foretell every threshold's steady state in replicates `rows`."""
    coefficients, people = found.rates[..., 1:-1], state.arrivals[rows]
    rates = np.minimum.accumulate(fitted(coefficients)[0], axis=-1)  # who is above a threshold is above every lower one
    noise = np.maximum(rates * (1.0 - rates), 1.0 / np.maximum(people, 1.0)[..., None])
    error = np.sqrt(noise * leverage(found.inverse, rates)) / (1.0 - slope(coefficients, rates))
    positives = np.clip(at(found.positives[..., 1:-1], rates), 0.0, rates)
    everybody = np.clip(at(found.positives[..., :1], rates), positives, 1.0)
    return Outlook(shares_of(state, rows), rates, positives, everybody, error, np.zeros_like(error))
