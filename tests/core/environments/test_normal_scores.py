"""Splines of normal scores: right where integrals are known, right at their ends, of few shapes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr as exact_ndtr

import fairgate as fg
from fairgate.core.environments import pure
from fairgate.core.special import ndtr
from fairgate.environments import GaussianScores
from fairgate.environments.normal_scores import positive_mass
from tests.core.environments.cases import steep
from tests.environments.worlds import gaussian


@pytest.mark.parametrize("world", [gaussian(), steep()], ids=["gaussian", "steep"])
def test_cells_are_the_integrals(world: GaussianScores) -> None:
    rng = np.random.default_rng(3)
    made, shares, sd = pure(world), np.asarray(world.shares), np.asarray(world.sd)
    thresholds = np.concatenate((rng.uniform(-4.0, 5.0, (200, 2)), [[-np.inf] * 2, [np.inf] * 2]))
    for ends in (-1.0, 1.0, 0.3):
        means = np.asarray(world.means) + ends * world.reach
        good = positive_mass(means, thresholds, sd, world.slope, world.midpoint)
        accepted = exact_ndtr((means - thresholds) / sd)
        wanted = shares[:, None] * np.stack((accepted - good, good), axis=-1)
        np.testing.assert_allclose(made.above(means, thresholds), wanted, atol=1e-8)
        np.testing.assert_allclose(made.above(means, thresholds)[-2], made.everybody(means), atol=1e-12)


def test_edges_are_thresholds_that_all_groups_share() -> None:
    made, edges = pure(gaussian()).scores, np.linspace(-3.0, 3.0, 17)
    means = made.means + np.array([0.1, -0.2])
    np.testing.assert_allclose(made.above_edges(means, edges), made.above(means, edges[:, None]), atol=1e-14)


def test_a_mean_beyond_the_table_counts_as_the_last_of_it() -> None:
    made, thresholds = pure(gaussian()).scores, np.array([[-np.inf]])
    beyond, last = (made.above(made.means + far * made.reach, thresholds)[0, :, 1] for far in (5.0, 1.0))
    np.testing.assert_allclose(beyond, last)


def test_tasks_share_the_shapes_of_tables() -> None:
    shapes = {pure(fg.load_task(name).environment).scores.table.shape for name in ("interior", "mean-shift", "placebo")}
    assert len(shapes) == 1


def test_the_normal_distribution_is_that_of_scipy() -> None:
    values = np.concatenate((np.linspace(-9.0, 9.0, 1001), [-np.inf, np.inf]))
    np.testing.assert_allclose(ndtr(values), exact_ndtr(values), rtol=1e-13)
