"""DelayedImpact: who is harmed by a loan, settings by replicate, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.counts import Counts
from tests.environments.worlds import RNG, delayed_impact


def test_a_batch_moves_the_mean_as_the_equation_says() -> None:
    """Group 0: 10 people, 4 repay and 2 default, (4·75 − 2·150) / 10 = 0; group 1: 1 repays of 2, 37.5 a head."""
    world = delayed_impact(rate=0.5)
    moved = world.update(
        np.array([[610.0, 640.0]]), Counts([[[[3, 2], [1, 4]], [[1, 0], [0, 1]]]]), np.zeros((1, 2)), RNG
    )
    np.testing.assert_allclose(moved, [[605.0, 640.0 + 0.5 * 0.4 * 37.5]])


def test_a_loan_raises_scores_above_the_break_even_and_lowers_them_below() -> None:
    """The borrower breaks even where P(repay) = 150 / 225, at midpoint + ln 2 / slope."""
    world = delayed_impact(carry=0.1)
    even = world.midpoint + np.log(2.0) / world.slope
    nobody, strict, everybody = (world.steady_state(np.full((1, 2), theta)) for theta in (2000.0, even, -2000.0))
    np.testing.assert_allclose(nobody, world.start(1))
    assert (strict > nobody).all()
    for lower in np.linspace(400.0, even - 10, 5):
        assert (world.steady_state(np.full((1, 2), lower)) < strict).all()
    assert everybody[0, 0] < nobody[0, 0]


def test_settings_may_differ_by_replicate() -> None:
    both = delayed_impact(carry=[0.1, 0.4], rise=[75.0, 50.0])
    thresholds = np.array([[600.0, 600.0], [600.0, 600.0]])
    together = both.steady_state(thresholds)
    np.testing.assert_allclose(together[0], delayed_impact(carry=0.1).steady_state(thresholds[:1])[0])
    np.testing.assert_allclose(together[1], both.rows(slice(1, 2)).steady_state(thresholds[:1])[0])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"carry": 0.7}, r"DelayedImpact: carry must be below 0\.\d+ for these scores .*unique steady state.*got 0.7"),
        ({"carry": -0.1}, "carry must be a finite number of at least 0, got -0.1"),
        ({"fall": -1.0}, "fall must be a finite number of at least 0, got -1.0"),
        ({"rate": 0.0}, r"rate must be in \(0, 1\], got 0.0"),
        ({"sd": [90.0]}, "DelayedImpact: sd must have one value per group, 2"),
        ({"slope": 3.0}, "DelayedImpact: slope must be within"),
    ],
)
def test_bad_numbers_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        delayed_impact(**changes)
