"""Bounds of rates and means, and what they say of constraints, are the same in both libraries."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.confidence import Sums, box, mean_bounds

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")

CONSTRAINTS = [
    fg.DemographicParity(0.05), fg.DisparateImpact(0.8), fg.ServiceRate(0.2, 0.7), fg.GroupService(0.1, 0.9),
    fg.Budget(0.5),
]  # fmt: skip


def test_bounds_are_the_same() -> None:
    rng = np.random.default_rng(0)
    people = np.floor(10.0 ** rng.uniform(0.0, 8.0, (5000, 3)))
    people[0] = 0.0
    accepted = np.floor(people * rng.beta(0.3, 0.3, people.shape))
    alpha = 10.0 ** rng.uniform(-8.0, -1.0, 5000)
    sums = Sums(accepted[:, 0], 0.7 * accepted[:, 0], people[:, 0])
    with jax.enable_x64(True):
        traced = [jax.numpy.asarray(each) for each in (accepted, people, alpha)]
        known, wanted = box(*traced), box(accepted, people, alpha)
        np.testing.assert_allclose(np.concatenate(known, axis=None), np.concatenate(wanted, axis=None), atol=1e-9)
        means = mean_bounds(Sums(*map(jax.numpy.asarray, sums)), -1.0, 1.0, traced[2])
        np.testing.assert_allclose(means, mean_bounds(sums, -1.0, 1.0, alpha), atol=1e-9)
        for constraint in CONSTRAINTS:
            np.testing.assert_allclose(constraint.lowest(known), constraint.lowest(wanted), atol=1e-9)
            np.testing.assert_allclose(constraint.highest(known), constraint.highest(wanted), atol=1e-9)
