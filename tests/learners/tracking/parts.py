"""Small people, labels and outlooks that the parts of Tracking are tested on: two replicates and two groups."""

from __future__ import annotations

from itertools import product

import numpy as np

import fairgate as fg
from fairgate.constraints import (
    Constraint,
    DemographicParity,
    EqualisedOdds,
    EqualOpportunity,
    GroupService,
    ServiceRate,
)
from fairgate.learners.tracking import label_curve, people_now
from fairgate.learners.tracking.answers import SPEEDS
from fairgate.learners.tracking.label_curve import Labels
from fairgate.learners.tracking.outlook import Outlook
from fairgate.learners.tracking.people_now import Now
from fairgate.settings import Array

SIZES = {"R": 2, "G": 2, "K": 4, "W": len(people_now.WINDOWS), "L": len(label_curve.WINDOWS), "P": len(SPEEDS)}
EVERY = np.arange(2)


def above_of(scores: Array) -> Array:
    return np.array([[[scores[r, g, k + 1 :].sum() for k in range(4)] for g in range(2)] for r in range(2)])


def still(share: float) -> list[float]:
    """Return probabilities of five score bins, of which the upper two hold a share."""
    return [(1 - share) / 3] * 3 + [share / 2] * 2


def labels_of(share: Array, variance: float = 0.0, hope: float = 0.0) -> Labels:
    return Labels(share, np.clip(share + hope, 0.0, 1.0), np.full(share.shape, variance))


def outlook_of(
    constraints: list[Constraint],
    seed: int = 0,
    variance: float = 0.002,
    doubt: float = 0.003,
    thresholds: int = 4,
    hope: float = 0.01,
) -> Outlook:
    """Return an outlook of two replicates and two groups, of random people and labels."""
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.random((2, 2, thresholds)))[..., ::-1]
    above = np.concatenate((np.ones((2, 2, 1)), inner, np.zeros((2, 2, 1))), axis=-1)
    share = np.sort(rng.random((2, 2, thresholds + 1)))
    shares = np.array([[0.3, 0.7], [0.5, 0.5]])
    now = Now(above, shares, np.full((2, 2), variance), np.zeros(2), None)
    return Outlook.of(fg.Problem(fg.Utility(1.5), constraints), now, np.zeros(2), labels_of(share, doubt, hope))


def some_lotteries(options: int = 6) -> Array:
    """Return lotteries (3, 2, C): of all pairs of options, with several weights."""
    found = [(low, high, w) for low, high in product(range(options), repeat=2) if low < high for w in (0.0, 0.3, 1.0)]
    return np.array(found).T[:, None].repeat(2, axis=1)


ALL = [DemographicParity(0.1), EqualOpportunity(0.1), EqualisedOdds(0.1), ServiceRate(0.3, 0.6), GroupService(0.2, 0.8)]
