"""ScorePools: exact look-ups, ties, steady state, absent groups, bad tables."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import ScorePools
from fairgate.errors import InputError
from tests.environments.worlds import RNG


def brute_force(
    environment: ScorePools, state: float, group: int, threshold: float
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """P(label, decision) within a group, by counting people."""
    scores, labels = np.asarray(environment.scores, dtype=float), np.asarray(environment.labels)
    members = np.asarray(environment.groups) == group
    cut = np.quantile(scores[members], environment.split)
    cells = np.zeros((2, 2))
    for pool, weight in ((members & (scores > cut), state), (members & (scores <= cut), 1 - state)):
        for label in (0, 1):
            for decision in (0, 1):
                fits = pool & (labels == label) & ((scores >= threshold) == bool(decision))
                cells[label, decision] += weight * fits.sum() / pool.sum()
    return cells


@pytest.mark.parametrize("thresholds", [(0.0, 0.0), (0.3, -0.7), (-99.0, 99.0), (0.1, 0.1)])
def test_probabilities_equal_counting_people(pools: ScorePools, thresholds: tuple[float, float]) -> None:
    """Thresholds on and between the tied scores."""
    state = np.array([[0.3, 0.8]])
    cells = pools.probabilities(state, np.array([thresholds]))
    assert cells.sum() == pytest.approx(1.0, abs=1e-12)
    share = np.bincount(np.asarray(pools.groups)) / 300
    for group in (0, 1):
        expected = share[group] * brute_force(pools, state[0, group], group, thresholds[group])
        np.testing.assert_allclose(cells[0, group], expected, atol=1e-12)


def test_a_score_equal_to_the_threshold_is_accepted() -> None:
    environment = ScorePools([0, 1, 1, 2], [0, 1, 0, 1], [0, 0, 0, 0])
    at = Counts(environment.probabilities(np.array([[0.5]]), np.array([[1.0]]))).overall
    above = Counts(environment.probabilities(np.array([[0.5]]), np.array([[1.0 + 1e-9]]))).overall
    assert (at[0], above[0]) == (pytest.approx(0.5 + 0.5 * 2 / 3), pytest.approx(0.5))


def test_the_steady_state_stands_still_and_a_long_loop_arrives_there(pools: ScorePools) -> None:
    thresholds = np.array([[-1.0, -1.0], [0.0, 0.5], [9.0, -9.0]])
    state = pools.steady_state(thresholds)
    expected = Counts(pools.probabilities(state, thresholds))
    np.testing.assert_allclose(pools.update(state, expected, thresholds, RNG), state, atol=1e-12)
    wandering = pools.start(3)
    for _ in range(2000):
        wandering = pools.expected_update(wandering, thresholds)
    np.testing.assert_allclose(wandering, state, atol=1e-9)


def test_targets_beyond_0_and_1_are_clipped_in_the_loop_and_in_the_steady_state(pools: ScorePools) -> None:
    environment = ScorePools(pools.scores, pools.labels, pools.groups, split=0.4, floor=0.4, ceiling=1.3)
    thresholds = np.array([[-9.0, -9.0]])
    assert environment.steady_state(thresholds).tolist() == [[1.0, 1.0]]
    state = environment.start(1)
    for _ in range(500):
        state = environment.expected_update(state, thresholds)
    np.testing.assert_allclose(state, 1.0)


def test_a_long_simulation_averages_to_the_steady_state(pools: ScorePools, problem: fg.Problem) -> None:
    """Reward and acceptance are linear in the state, so loops are unbiased: within 6 standard errors of 60 loops."""
    run = fg.simulate(fg.Task(pools, problem, [0.0]), fg.Fixed(0.0), rounds=600, seeds=60)
    exact = problem.assess(pools.probabilities(pools.steady_state(np.zeros((1, 2))), np.zeros((1, 2))))
    for simulated, truth in ((run.batch.reward, exact.reward), (run.batch.residuals[1], exact.residuals[1])):
        means = simulated[:, 200:].mean(axis=1)
        assert abs(means.mean() - truth[0]) <= 6 * means.std(ddof=1) / np.sqrt(len(means))


def test_two_states_come_closer_at_least_as_fast_as_the_contraction_says(pools: ScorePools) -> None:
    rng = np.random.default_rng(1)
    one, other = rng.random((200, 2)), rng.random((200, 2))
    thresholds = rng.uniform(-1, 1, (200, 2))
    moved = [pools.expected_update(s, thresholds) for s in (one, other)]
    ratio = np.abs(moved[0] - moved[1]) / np.abs(one - other)
    assert ratio.max() <= pools.contraction() + 1e-9 < 1


def test_a_group_absent_from_a_batch_does_not_move(pools: ScorePools) -> None:
    state = pools.start(1)
    moved = pools.update(state, Counts([[[[0, 0], [0, 0]], [[1, 2], [3, 4]]]]), np.zeros((1, 2)), RNG)
    assert moved[0, 0] == state[0, 0]
    assert moved[0, 1] != state[0, 1]


def test_candidates_are_every_score_at_which_anything_changes(pools: ScorePools) -> None:
    candidates = pools.candidates(-0.5, 0.5)
    assert set(np.unique(np.asarray(pools.scores))) >= set(candidates[1:-1])
    assert candidates[[0, -1]].tolist() == [-0.5, 0.5]


GOOD = {"scores": [0.0, 1.0, 2.0, 3.0], "labels": [0, 1, 0, 1], "groups": [0, 0, 1, 1]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"scores": [0.0, float("nan"), 2.0, 3.0]}, "scores must be finite, got nan at position 1"),
        ({"scores": []}, "scores must be a non-empty array of 1 axes"),
        ({"scores": ["a", "b", "c", "d"]}, "scores must be numbers"),
        ({"labels": [0, 1, 2, 1]}, "labels must be 0 or 1, got 2"),
        ({"labels": [0, 1, 0.5, 1]}, "labels must be 0 or 1, got 0.5 at position 2"),
        ({"labels": [float("nan")] * 4}, "labels must be 0 or 1, got nan at position 0"),
        ({"labels": [0, 1]}, r"labels must have one entry per person, 4, got shape \(2,\)"),
        ({"groups": [0, 0, 2, 2]}, "groups must be numbered 0…G−1 with nobody left out"),
        ({"groups": [0, 0, -1, 1]}, "groups must be whole numbers from 0, got -1 at position 2"),
        ({"scores": [0.0, 1.0, 2.0, 2.0]}, "nobody of group 1 scores above its split quantile 2"),
        ({"split": 1.0}, r"split must be in \(0, 1\), got 1.0"),
        ({"floor": 0.0, "ceiling": 1.0}, "ceiling − floor must be within ±1"),
        ({"rate": 1.5}, r"rate must be in \(0, 1\], got 1.5"),
    ],
)
def test_bad_tables_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        ScorePools(**(GOOD | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("split", [0.1, 1 / 3, 0.5, 0.7])
def test_whole_weights_do_what_repeating_people_does(pools: ScorePools, split: float) -> None:
    people = np.stack((np.asarray(pools.scores), np.asarray(pools.labels), np.asarray(pools.groups)))
    (scores, labels, groups), weights = np.unique(people, axis=1, return_counts=True)
    assert weights.max() > 1
    repeated = ScorePools(people[0], people[1], people[2], split=split)
    weighted = ScorePools(scores, labels, groups, split=split, weights=weights)
    thresholds = np.random.default_rng(0).uniform(-2, 2, (50, 2))
    state = np.random.default_rng(1).random((50, 2))
    np.testing.assert_allclose(
        weighted.probabilities(state, thresholds), repeated.probabilities(state, thresholds), atol=1e-12
    )
    np.testing.assert_allclose(weighted.steady_state(thresholds), repeated.steady_state(thresholds), atol=1e-12)
    assert repr(weighted) == repr(repeated)
    assert "weights" in weighted.describe()
    assert "weights" not in repeated.describe()


def test_weights_of_1_change_no_bit(pools: ScorePools) -> None:
    weighted = ScorePools(pools.scores, pools.labels, pools.groups, split=0.4, weights=np.ones(300))
    thresholds, state = np.array([[0.1, -0.3]]), np.array([[0.3, 0.8]])
    assert (weighted.probabilities(state, thresholds) == pools.probabilities(state, thresholds)).all()


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0, 2.0], "weights must have one entry per person, 4, got 2"),
        ([1.0, -1.0, 1.0, 1.0], "weights must be at least 0, got -1 at position 1"),
        ([1.0, 1.0, 0.0, 0.0], "groups must be numbered 0…G−1 with nobody left out"),
        ([1.0, float("nan"), 1.0, 1.0], "weights must be finite"),
    ],
)
def test_bad_weights_get_one_sentence(weights: list[float], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        ScorePools([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1], [0, 0, 1, 1], weights=weights)


def test_a_shift_moves_the_target_of_each_group(pools: fg.environments.ScorePools) -> None:
    thresholds = np.zeros((1, 2))
    shifted = dataclasses.replace(pools, shift=[0.1, -0.2])
    plain, moved = (each.expected_update(each.start(1), thresholds) for each in (pools, shifted))
    np.testing.assert_allclose(moved - plain, [[0.01, -0.02]], atol=1e-12)  # a tenth of the way per round
    assert "shift" not in pools.describe()
    with pytest.raises(InputError, match="shift must have one number per group, 2, got"):
        dataclasses.replace(pools, shift=[0.1, 0.2, 0.3])
