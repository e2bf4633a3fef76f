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

from fairgate.learners.memory import Memory
from fairgate.learners.outlook import Outlook
from fairgate.problem import Seen
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
class ResponseMemory(Memory):
    """What the regression needs.

    Attributes
    ----------
    age
        Rounds that have gone into it, (R,).
    heard
        Acceptance rates as heard of, for each rate ρ, (P, R, G).
    gram, cross
        Sums of the regression, (P, R, G, 4, 4) and (P, R, G, 4, K).
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
    each = (len(RATES), replicates, groups)
    return {
        "age": np.zeros(replicates, dtype=np.int64),
        "heard": np.full(each, 0.5),
        "gram": np.zeros((*each, TERMS, TERMS)),
        "cross": np.zeros((*each, TERMS, arms)),
        "labels": np.zeros((replicates, groups, arms + 1, 2)),
        "arrivals": np.zeros((replicates, groups)),
    }


def forget(memory: ResponseMemory, rows: NDArray[np.int64]) -> None:
    """Begin anew in some replicates."""
    for name, start in blank(len(rows), memory.groups, len(memory.grid)).items():
        field = getattr(memory, name)
        field[(slice(None), rows) if name in ("heard", "gram", "cross") else rows] = start


def terms(heard: Array, echo: Array | float = 0.0) -> Array:
    """Return the regressors (…, 4) of S at what has been heard of."""
    away = heard - 0.5
    return np.stack((np.ones_like(away), away, away * away, np.broadcast_to(echo, away.shape)), axis=-1)


def terms_now(memory: ResponseMemory) -> Array:
    """Return the regressors of the present round for each rate ρ, (P, R, G, 4)."""
    return terms(memory.heard, ((1.0 - RATES)[:, None] ** memory.age)[..., None])


def absorb(memory: ResponseMemory, seen: Seen) -> None:
    """Take in a batch: its scores, its labels, and how many were accepted."""
    assert seen.scores is not None
    assert seen.labels is not None
    at_least = seen.scores[..., ::-1].cumsum(axis=-1)[..., -2::-1].astype(np.float64)  # (R, G, K)
    regressors = terms_now(memory)
    memory.gram += (regressors * seen.people[..., None])[..., :, None] * regressors[..., None, :]
    memory.cross += regressors[..., None] * at_least[:, :, None, :]
    memory.labels += seen.labels
    memory.arrivals += seen.people
    came = seen.people > 0
    rate = seen.accepted / np.maximum(seen.people, 1)
    memory.heard += RATES[:, None, None] * np.where(came, rate - memory.heard, 0.0)
    memory.age += 1


class Forecast(NamedTuple):
    """What every threshold leads to in the long run, and the fit behind it, for some replicates.

    Attributes
    ----------
    outlook
        The forecast; positives have the benefit of the doubt where labels are few.
    coefficients
        Of S, (R, G, 4, K).
    chosen
        Index of the rate ρ, (R,).
    above, whole
        Positives above every threshold (R, G, 4, K), and of everybody (R, G, 4), in the same terms.
    inverse
        Covariance of the coefficients in units of the noise, (R, G, 4, 4).
    """

    outlook: Outlook
    coefficients: Array
    chosen: NDArray[np.int64]
    above: Array
    whole: Array
    inverse: Array


def foresee(memory: ResponseMemory, rows: NDArray[np.int64], benefit: float) -> Forecast:
    """Fit the regression in replicates `rows` and foretell every threshold's steady state.

    `benefit` is how many standard errors a score bin's share of positives is given on top.
    """
    gram, cross = memory.gram[:, rows] + RIDGE, memory.cross[:, rows]
    inverse = np.linalg.inv(gram)
    coefficients = inverse @ cross
    chosen = (coefficients * cross).sum(axis=(2, 3, 4)).argmax(axis=0)
    every = np.arange(len(rows))
    inverse, coefficients = inverse[chosen, every], coefficients[chosen, every]
    people = memory.arrivals[rows]

    level, slope, bend = coefficients[:, :, 0], coefficients[:, :, 1], coefficients[:, :, 2]
    rates = np.full(level.shape, 0.5)
    for _ in range(NEWTON_STEPS):
        away = rates - 0.5
        steep = np.clip(slope + 2.0 * bend * away, -STEEPEST, STEEPEST)
        rates = np.clip(rates - (rates - level - slope * away - bend * away * away) / (1.0 - steep), 0.0, 1.0)
    rates = np.minimum.accumulate(rates, axis=-1)  # who is above a threshold is above every lower one
    steep = np.clip(slope + 2.0 * bend * (rates - 0.5), -STEEPEST, STEEPEST)
    regressors = terms(rates)  # (R, G, K, 4)
    leverage = ((regressors @ inverse) * regressors).sum(axis=-1)
    noise = np.maximum(rates * (1.0 - rates), 1.0 / np.maximum(people, 1.0)[..., None])
    error = np.sqrt(noise * leverage) / (1.0 - steep)

    known = memory.labels[rows].sum(axis=-1)
    share = (memory.labels[rows][..., 1] + 0.5) / (known + 1.0)
    doubt = np.sqrt(np.maximum(share * (1.0 - share), 0.25 / (known + 1.0)) / (known + 1.0))
    good = np.where(known > 0, np.minimum(share + benefit * doubt, 1.0), 1.0)  # (R, G, K + 1)
    ends = np.concatenate((coefficients, np.zeros_like(coefficients[..., :1])), axis=-1)
    bins = (ends[..., :-1] - ends[..., 1:]) * good[:, :, None, 1:]
    above = bins[..., ::-1].cumsum(axis=-1)[..., ::-1]  # (R, G, 4, K): positives above every threshold, as terms
    positives = np.clip((regressors * above.swapaxes(-1, -2)).sum(axis=-1), 0.0, rates)
    everybody = (regressors * above[..., :1].swapaxes(-1, -2)).sum(axis=-1)
    below = 1.0 - (regressors * coefficients[..., :1].swapaxes(-1, -2)).sum(axis=-1)
    all_positives = np.clip(everybody + below * good[..., :1], positives, 1.0)
    shares = (people + 1e-9) / (people + 1e-9).sum(axis=1, keepdims=True)  # equal while nobody has come
    outlook = Outlook(shares, rates, positives, all_positives, error, np.zeros_like(error))
    whole = above[..., 0] + (np.array([1.0, 0.0, 0.0, 0.0]) - coefficients[..., 0]) * good[..., :1]
    return Forecast(outlook, coefficients, chosen, above, whole, inverse)
