"""Strategic: the point mass at what is believed, the jump it makes, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import fairgate as fg
from fairgate.counts import Counts
from tests.environments.worlds import RNG, strategic


def rates(believed: float, threshold: float) -> list[float]:
    cells = strategic().probabilities(np.full((1, 2), believed), np.full((1, 2), threshold))
    return [float(rate) for rate in Counts(cells).rates[0]]


def honest(score: float) -> float:
    return float(norm.sf(score, loc=-0.2, scale=1.0))  # group 0


@pytest.mark.parametrize(
    ("believed", "threshold", "enough"),
    [(0.4, 0.4, -0.1), (0.4, 0.41, 0.41), (0.4, 0.39, -0.1), (0.4, 0.0, -0.1), (0.4, -0.3, -0.3), (0.4, 1.0, 1.0)],
)
def test_the_true_score_that_is_enough(believed: float, threshold: float, enough: float) -> None:
    """Group 0 can raise its scores by 0.5."""
    assert rates(believed, threshold)[0] == pytest.approx(honest(enough), abs=1e-12)


def test_a_threshold_just_above_what_is_believed_loses_all_who_raised_their_score() -> None:
    below, above = rates(0.4, 0.4), rates(0.4, 0.4 + 1e-8)
    assert below[0] - above[0] == pytest.approx(honest(-0.1) - honest(0.4), abs=1e-6)


def test_in_the_long_run_the_budget_is_taken_off_the_threshold() -> None:
    world, thresholds = strategic(), np.array([[0.7, 0.1]])
    state = world.steady_state(thresholds)
    np.testing.assert_array_equal(state, thresholds)
    accepted = Counts(world.probabilities(state, thresholds)).rates[0]
    np.testing.assert_allclose(accepted, norm.sf([0.2, -0.1], loc=world.means, scale=world.sd), atol=1e-12)


def test_gaming_changes_the_scores_but_not_the_labels() -> None:
    world, edges = strategic(), np.array([-0.1, 0.4, 0.8])
    nobody, some = (world.histogram(np.full((1, 2), believed), edges) for believed in (-50.0, 0.4))
    np.testing.assert_allclose(nobody.sum(axis=2), some.sum(axis=2), atol=1e-8)
    assert (some[0, 0, 1] < 1e-8).all()  # all of [−0.1, 0.4) of group 0 present 0.4
    np.testing.assert_allclose(some[0, 0, 2], nobody[0, 0, 1] + nobody[0, 0, 2], atol=1e-8)


def test_a_threshold_is_believed_by_and_by_and_an_unpublished_one_is_not() -> None:
    world, counts = strategic(rate=0.25), Counts([[[[1, 1], [1, 1]], [[1, 1], [1, 1]]]])
    moved = world.update(world.start(1), counts, np.array([[1.0, np.nan]]), RNG)
    np.testing.assert_allclose(moved, [[0.4, 0.2]])


def test_yesterdays_threshold_is_believed_exactly_and_a_slow_belief_gets_there_in_time() -> None:
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=(50, 2))
    for rate, rounds in ((1.0, 1), (0.3, 100)):
        world = strategic(rate=rate)
        state = rng.normal(size=(50, 2))
        for _ in range(rounds):
            state = world.expected_update(state, thresholds)
        assert rate < 1.0 or (state == thresholds).all()
        known = world.probabilities(thresholds, thresholds)
        np.testing.assert_allclose(world.probabilities(state, thresholds), known, atol=1e-8)


def test_expectations_and_rates_may_differ_by_replicate() -> None:
    world = strategic(expected=[0.0, 1.0], rate=[1.0, 0.5])
    assert world.start(2).tolist() == [[0.0, 0.0], [1.0, 1.0]]
    moved = world.update(world.start(2), Counts(np.ones((2, 2, 2, 2))), np.full((2, 2), 2.0), RNG)
    assert moved.tolist() == [[2.0, 2.0], [1.5, 1.5]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"budgets": [0.5]}, r"Strategic: budgets must have one value per group, 2, got \[0.5\]"),
        ({"budgets": [0.5, -0.1]}, r"Strategic: budgets must be at least 0, got \[0.5, -0.1\]"),
        ({"expected": float("inf")}, "Strategic: expected must be a finite number, got inf"),
        ({"rate": 2.0}, r"Strategic: rate must be in \(0, 1\], got 2.0"),
    ],
)
def test_bad_numbers_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        strategic(**changes)
