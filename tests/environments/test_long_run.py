"""Where loops lead by iteration: the exact steady states, the contraction declared, what never settles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import Environment
from fairgate.environments.long_run import iterate, measure_contraction, score_range
from fairgate.environments.state import State
from fairgate.settings import Array
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


@dataclass(frozen=True)
class Town(Environment):
    """Head counts of two groups, and the shares of people of label 1 among them, which move slowly."""

    residents: float = 1.0

    @property
    def group_count(self) -> int:
        return 2

    def start(self, replicates: int = 1) -> State:
        first = np.array([[0.7 * self.residents, 0.2], [0.3 * self.residents, 0.2]])
        return np.repeat(first[None], replicates, axis=0)

    def probabilities(self, state: State, thresholds: Array) -> Array:
        size, good = np.asarray(state)[..., 0], np.asarray(state)[..., 1]
        accepted = np.clip(1.0 - thresholds, 0.0, 1.0)
        decided = np.stack((1.0 - accepted, accepted), axis=-1)[..., None, :]
        labels = np.stack((1.0 - good, good), axis=-1)[..., None]
        return np.asarray(labels * decided * (size / size.sum(axis=-1, keepdims=True))[..., None, None])

    def update(self, state: State, counts: Counts, thresholds: Array, rng: np.random.Generator) -> State:
        moved = np.array(state)
        moved[..., 1] += 0.01 * (0.2 + 0.6 * counts.rates - moved[..., 1])
        return np.where((counts.people > 0)[..., None], moved, state)


@pytest.mark.parametrize("residents", [1.0, 3e8])
def test_a_large_number_of_a_state_hides_no_move_of_a_small_one(residents: float) -> None:
    found = np.asarray(iterate(Town(residents=residents), np.full((1, 2), 0.5)))
    np.testing.assert_allclose(found[0, :, 1], 0.5, atol=1e-9)


@frozen
def test_nearly_all_are_accepted_at_one_end_of_the_scores_and_nearly_nobody_at_the_other(world: Environment) -> None:
    low, high = score_range(world)
    overall = [fg.Counts(world.probabilities(world.start(1), np.full((1, 2), at))).overall[0] for at in (low, high)]
    np.testing.assert_allclose(overall, [0.99, 0.01], atol=0.02)  # some scores are tied
