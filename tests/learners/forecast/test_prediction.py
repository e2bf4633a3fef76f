"""A prediction lays out cells as an environment would, carries errors through any problem, and knows its safe set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate.learners.forecast.prediction import Prediction, Value

Array = NDArray[np.float64]


def prediction(gap: float = 0.2, error: Sequence[float] = (0.01, 0.02)) -> Prediction:
    """Two groups, three thresholds; group 1 is accepted more often by `gap`."""
    rates = np.array([[[0.8, 0.5, 0.3], [0.8, 0.5, 0.3]]])
    rates[:, 1] += gap
    errors = np.array(error)[None, :, None] * np.ones((1, 2, 3))
    positives = 0.7 * rates
    return Prediction(np.array([[0.4, 0.6]]), rates, positives, positives + 0.5 * (1 - rates), errors, 0.0 * errors)


def test_cells_are_probabilities_with_the_rates_and_labels_given() -> None:
    view = prediction()
    counts = fg.Counts(view.cells())
    np.testing.assert_allclose(counts.total, 1.0)
    np.testing.assert_allclose(counts.rates[:, 0].T, view.rates[0])
    np.testing.assert_allclose(counts.cells[..., 1, :].sum(axis=-1)[:, 0].T / [[0.4], [0.6]], view.all_positives[0])


def test_errors_of_a_gap_and_of_the_overall_rate_are_those_of_a_linear_function() -> None:
    parity = prediction().value(fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.05)]))
    np.testing.assert_allclose(parity.residual, 0.15)
    np.testing.assert_allclose(parity.residual_error[1:], np.hypot(0.01, 0.02))  # at the first one rate ends at 1
    window = prediction(gap=0.1).value(fg.Problem(fg.Utility(1.0), [fg.ServiceRate(0.0, 0.5)]))
    np.testing.assert_allclose(window.residual_error[:, 0], np.hypot(0.4 * 0.01, 0.6 * 0.02))
    precision = 0.7
    np.testing.assert_allclose(window.reward_error, (precision - (1 - precision)) * window.residual_error)


def test_a_group_between_the_others_does_not_blur_their_gap() -> None:
    rates = np.array([[[0.3], [0.5], [0.7]]])
    errors = np.array([[[0.01], [0.1], [0.01]]])
    view = Prediction(np.full((1, 3), 1 / 3), rates, 0.5 * rates, 0.5 * rates, errors, 0.0 * errors)
    value = view.value(fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)]))
    assert value.residual_error[0, 0] == pytest.approx(np.hypot(0.01, 0.01))


def test_errors_of_positives_move_the_reward_alone() -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.ServiceRate(0.2, 0.8)])
    plain, uncertain = prediction(), prediction()._replace(label_error=np.full((1, 2, 3), 0.01))
    more = uncertain.value(problem).reward_error ** 2 - plain.value(problem).reward_error ** 2
    np.testing.assert_allclose(more, (2 * 0.4 * 0.01) ** 2 + (2 * 0.6 * 0.01) ** 2)
    np.testing.assert_allclose(uncertain.value(problem).residual_error, plain.value(problem).residual_error)


def test_any_constraint_will_do_a_users_own_too() -> None:
    class Squared:
        names = ("squared",)

        def residuals(self, counts: fg.Counts) -> Sequence[Array]:
            return (counts.overall**2 - 0.1,)

    view = prediction(gap=0.0)
    value = view.value(fg.Problem(fg.Utility(1.0), [Squared()]))
    slope = 2 * view.rates[0, 0]
    np.testing.assert_allclose(value.residual_error[:, 0], slope * np.hypot(0.4 * 0.01, 0.6 * 0.02), rtol=0.05)


def test_the_safe_set_comes_first_by_reward_else_what_comes_nearest() -> None:
    reward = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    residual = np.array([[0.1, 0.1], [-0.3, 0.2], [-0.3, 0.05]])
    value = Value(reward, residual, 0.0 * reward, np.full((3, 2), 0.1))
    best, safe = value.best(2.0)
    assert best.tolist() == [1, 2]
    assert safe.tolist() == [True, False]
    assert [value.best(width)[1].tolist() for width in (3.0, 3.001)] == [[True, False], [False, False]]


def test_three_standard_errors_of_every_option_are_strong_evidence_of_infeasibility() -> None:
    residual = np.array([[0.5, 0.5], [0.31, 0.29]])
    value = Value(0.0 * residual, residual, 0.0 * residual, np.full((2, 2), 0.1))
    assert value.strongly_infeasible().tolist() == [True, False]
