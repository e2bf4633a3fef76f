"""The misfit test and the change-point test detect what they should, and a reset forgets it."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.learners.forecast.monitor import MisfitTest, apart
from fairgate.settings import Array

ROW = np.array([0])
YES = np.array([True])


def rates_apart(now: float, then: float, earlier: float = 100.0) -> Array:
    """One replicate and two groups of 100 people; in the first nothing has changed."""
    full = np.ones((1, 2))
    return apart(np.array([[0.5, now]]), 100 * full, np.array([[0.5, then]]), earlier * full, 0.25 * full)


def test_a_change_is_measured_in_standard_errors_of_both_rates() -> None:
    assert rates_apart(0.5, 0.4) == pytest.approx([0.1**2 / (0.25 * 2 / 100)])
    assert rates_apart(0.5, 0.4, earlier=0.0).tolist() == [0.0]  # nothing to compare with


def test_a_single_misfit_must_be_four_times_as_large() -> None:
    test, rows, tested = MisfitTest.start(2, limit=2.0), np.arange(2), np.ones(2, dtype=bool)
    assert test.update(rows, np.array([7.9, 8.1]), tested).tolist() == [False, True]
    assert test.failures.tolist() == [0, 1]
    many = MisfitTest.start(2, limit=2.0)
    found = [many.update(rows, np.array([1.9, 2.3]), tested).tolist() for _ in range(9)]
    assert found[0] == [False, False]
    assert many.failures.tolist() == [0, 1]
    ten = MisfitTest.start(2, limit=2.0)
    for _ in range(9):
        ten.update(rows, np.zeros(2), tested)
    assert ten.update(rows, np.array([20.0, 21.0]), tested).tolist() == [False, True]


def test_epochs_that_are_no_test_do_not_count() -> None:
    test = MisfitTest.start(1, limit=2.0)
    assert not test.update(ROW, np.array([100.0]), ~YES).any()
    assert test.trials.tolist() == [0.0]


def test_old_misfits_fade_where_the_discount_is_strong() -> None:
    long, short = MisfitTest.start(1, limit=2.0), MisfitTest.start(1, limit=2.0, discount=0.5)
    for squared in (3.9, 0.0, 0.0, 0.0, 0.0):
        long.update(ROW, np.array([squared]), YES)
        short.update(ROW, np.array([squared]), YES)
    assert long.squared[0] == 3.9
    assert short.squared[0] == 3.9 / 16
    assert short.trials[0] == 1.9375


def test_a_second_failure_takes_errors_four_times_as_large() -> None:
    once, twice = MisfitTest.start(1, limit=1.0), MisfitTest.start(1, limit=1.0, most=2)
    for test in (once, twice):
        detected = [test.update(ROW, np.array([squared]), YES)[0] for squared in (4.1, 15.9, 1.0)]
        assert detected == [True, False, True]  # beyond 4, within 4 · 4, and beyond 4 · (2 + 3 / 2) in sum
    assert once.failures.tolist() == [1]
    assert twice.failures.tolist() == [2]


def test_a_reset_trusts_predictions_again_in_these_replicates_only() -> None:
    test = MisfitTest.start(3, limit=1.0)
    test.update(np.arange(3), np.array([5.0, 5.0, 1.0]), np.ones(3, dtype=bool))
    test.reset(np.array([1]))
    assert test.failures.tolist() == [1, 0, 0]
    assert test.trials.tolist() == [0.0, 0.0, 1.0]


def test_limits_may_differ_by_replicate() -> None:
    test = MisfitTest.start(2, limit=[1.0, 9.0])
    assert test.update(np.arange(2), np.array([5.0, 5.0]), np.ones(2, dtype=bool)).tolist() == [True, False]
    assert test.failures.tolist() == [1, 0]
