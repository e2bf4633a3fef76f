"""Where loops lead by iteration: the exact steady states, the contraction declared, what never settles."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.environments import Environment
from fairgate.environments.long_run import iterate, measure_contraction, score_range
from tests.environments.worlds import WORLDS, drift, gaussian, some_thresholds, unit

frozen = pytest.mark.parametrize("world", [world.at(700) for world in WORLDS.values()], ids=WORLDS)


@frozen
def test_iteration_arrives_where_the_exact_solution_is(world: Environment) -> None:
    thresholds = some_thresholds(world, 20, np.random.default_rng(0))
    found = iterate(world, thresholds)
    np.testing.assert_allclose(found, world.steady_state(thresholds), atol=1e-7 * unit(world)[1])


def test_replicates_with_settings_of_their_own_arrive_each_at_its_own() -> None:
    world = gaussian(gain=[0.5, -0.5, 0.0])
    thresholds = np.full((3, 2), 0.3)
    np.testing.assert_allclose(iterate(world, thresholds), world.steady_state(thresholds), atol=1e-7)


@frozen
def test_the_contraction_measured_is_at_most_the_one_declared_and_not_far_below(world: Environment) -> None:
    measured = measure_contraction(world)
    assert measured <= world.contraction() + 1e-6
    assert measured >= world.contraction() - 0.2
    assert Environment.contraction(world) == measured


def test_what_never_settles_says_so() -> None:
    with pytest.raises(
        fg.InputError, match=r"Drift has no steady state for thresholds \[0.1, 0.1\]: after 10000 expected"
    ):
        iterate(drift(), np.full((1, 2), 0.1))


@frozen
def test_nearly_all_are_accepted_at_one_end_of_the_scores_and_nearly_nobody_at_the_other(world: Environment) -> None:
    low, high = score_range(world)
    overall = [fg.Counts(world.probabilities(world.start(1), np.full((1, 2), at))).overall[0] for at in (low, high)]
    np.testing.assert_allclose(overall, [0.99, 0.01], atol=0.02)  # some scores are tied
