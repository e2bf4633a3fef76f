"""Drift: what a round shifts, the frozen environment, feedback kept, no steady state of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairgate as fg
from fairgate.counts import Counts
from tests.environments.worlds import RNG, drift, gaussian


@pytest.mark.parametrize("rounds", [0, 225, 699, 700, 1000])
def test_stepping_to_a_round_meets_the_people_of_the_environment_frozen_there(rounds: int) -> None:
    world, counts, thresholds = drift(), Counts([[[[1, 2], [3, 4]], [[4, 3], [2, 1]]]]), np.array([[0.2, -0.1]])
    state = world.start(1)
    for _ in range(rounds):
        state = world.update(state, counts, thresholds, RNG)
    assert state[0, -1] == rounds
    shift = [
        swing * math.sin(2 * math.pi * rounds / 900) + (jump if rounds >= 700 else 0.0)
        for swing, jump in ((0.3, -0.2), (0.1, 0.4))
    ]
    frozen = world.at(rounds)
    assert isinstance(frozen, fg.environments.GaussianScores)
    np.testing.assert_allclose(frozen.means, np.add(world.means, shift))
    there = state[:, :2] + shift
    np.testing.assert_allclose(
        world.probabilities(state, thresholds), frozen.probabilities(there, thresholds), atol=1e-8
    )
    edges = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_allclose(world.histogram(state, edges), frozen.histogram(there, edges), atol=1e-8)
    moved = frozen.update(there, counts, thresholds, RNG) - shift
    np.testing.assert_allclose(world.update(state, counts, thresholds, RNG)[:, :2], moved)


def test_without_swing_and_jump_it_is_gaussian_scores() -> None:
    still, plain = drift(swing=[0.0, 0.0], jump=[0.0, 0.0]), gaussian()
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    runs = [fg.simulate(fg.Task(world, problem, [0.1]), fg.Fixed(0.1), rounds=50, seeds=4) for world in (still, plain)]
    np.testing.assert_array_equal(runs[0].counts, runs[1].counts)


def test_frozen_it_keeps_how_late_its_labels_are() -> None:
    assert drift(label_arrival=0.2).at(5).label_arrival == 0.2


def test_a_drifting_environment_has_no_steady_state_and_says_what_to_do() -> None:
    with pytest.raises(
        fg.InputError, match=r"no steady state while it drifts: freeze it first with at\(round_number\)"
    ):
        drift().steady_state(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"swing": [0.1]}, r"Drift: swing must have one value per group, 2, got \[0.1\]"),
        ({"jump": [0.1, float("inf")]}, "Drift: jump must be finite, got inf at position 1"),
        ({"period": 0.0}, "Drift: period must be above 0, got 0.0"),
        ({"jump_round": 1.5}, "Drift: jump_round must be a whole number of at least 0, got 1.5"),
        ({"gain": 2.0}, "Drift: gain must be within ±1.755"),
    ],
)
def test_bad_numbers_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        drift(**changes)


def test_a_round_before_the_first_is_refused() -> None:
    with pytest.raises(fg.InputError, match="round_number must be a whole number of at least 0, got -1"):
        drift().at(-1)
