"""Shared small worlds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

import fairgate as fg

settings.register_profile("no clock", deadline=None)  # speed is judged in benchmarks/, not by single tests
settings.load_profile("no clock")


@pytest.fixture
def gaussian() -> fg.environments.GaussianScores:
    return fg.environments.GaussianScores(
        means=[-0.2, 0.3], shares=[0.4, 0.6], sd=[1.0, 0.7], slope=2.5, midpoint=0.1, gain=0.5, rate=0.1
    )


@pytest.fixture
def pools() -> fg.environments.ScorePools:
    """People with tied scores and unequal groups."""
    rng = np.random.default_rng(7)
    groups = (rng.random(300) < 0.7).astype(int)
    scores = np.round(rng.normal(0.3 * groups, 1.0), 1)
    labels = (rng.random(300) < 1 / (1 + np.exp(-1.5 * scores))).astype(int)
    return fg.environments.ScorePools(scores, labels, groups, split=0.4, floor=0.1, ceiling=0.9, rate=0.1)


@pytest.fixture
def problem() -> fg.Problem:
    return fg.Problem(fg.Utility(1.5), [fg.DemographicParity(0.2), fg.ServiceRate(0.3, 0.9)])


@pytest.fixture
def small_task(gaussian: fg.environments.GaussianScores, problem: fg.Problem) -> fg.Task:
    return fg.Task(gaussian, problem, np.linspace(-2, 2, 9), "small")
