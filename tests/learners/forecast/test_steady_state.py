"""Fixed points solve acc = S(acc); errors grow with what is not known, and shifts correct what has failed."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.learners.forecast.response import Fit
from fairgate.learners.forecast.steady_state import SteadyStates, fixed_point, steady
from fairgate.settings import Array


def linear(level: float, slope: float) -> Array:
    """Terms of S(acc) = level + slope · (acc − ½), (1, 1, 4, 1)."""
    return np.array([level, slope, 0.0, 0.3])[None, None, :, None]


def states(failures: int = 0, shift: float = 0.0) -> SteadyStates:
    terms = np.concatenate((linear(1.0, 0.0), linear(0.6, 0.5), linear(0.0, 0.0)), axis=-1)
    fit = Fit(terms, 0.5 * terms, np.diag([1e-4, 1e-3, 1e-2, 1.0])[None, None], np.array([2]))
    one, people = np.ones((1, 1)), np.array([1000.0, 100.0])[:, None, None]
    return SteadyStates(fit, one, people, np.array([failures]), np.full((2, 1, 1), shift), 1e6 * one, 0.5 * one)


@pytest.mark.parametrize("slope", [-0.8, 0.0, 0.5, 0.85])
def test_the_fixed_point_is_where_acceptance_brings_itself_about(slope: float) -> None:
    rates, steep = fixed_point(linear(0.55, slope))
    assert rates[0, 0, 0] == pytest.approx(min(0.5 + 0.05 / (1.0 - slope), 1.0))
    assert steep[0, 0, 0] == slope
    assert steady(linear(0.55, slope), rates)[0, 0, 0] == pytest.approx(rates[0, 0, 0])


def test_curved_responses_are_solved_too() -> None:
    rates, _ = fixed_point(np.array([0.4, 0.3, 0.6, 0.0])[None, None, :, None])
    assert steady(np.array([0.4, 0.3, 0.6, 0.0])[None, None, :, None], rates) == pytest.approx(rates)


def test_a_uniform_lottery_is_certain_but_for_fluctuation() -> None:
    rates, steep = np.full((1, 1, 1), 0.6), np.full((1, 1, 1), 0.5)
    threshold = states().predict(rates, 0.5 * rates, steep)
    lottery = states().predict(rates, 0.5 * rates, steep, spread=np.zeros((1, 1, 1)))
    still = states().predict(rates, 0.5 * rates, steep, spread=np.zeros((1, 1, 1)), fluctuating=False)
    assert threshold.error > lottery.error > still.error == 0.0
    speed, contraction = 0.1, 1.0 - 0.1 * (1.0 - 0.5)
    fluctuation = speed**2 * 0.24 / 100 / (1.0 - contraction**2)
    assert lottery.error[0, 0, 0] == pytest.approx(0.5 * np.sqrt(fluctuation))


def test_after_a_failure_predictions_are_shifted_and_trusted_the_less_the_further_away() -> None:
    rates, flat = np.array([[[0.5, 0.9]]]), np.zeros((1, 1, 2))
    found = states(failures=1, shift=0.05).predict(rates, 0.4 * rates, flat)
    assert found.rates[0, 0] == pytest.approx([0.55, 0.95])
    assert found.positives[0, 0] == pytest.approx([0.25, 0.41])
    assert found.error[0, 0] == pytest.approx([0.0, 0.2 * 0.4], abs=1e-3)
    assert found.label_error[0, 0, 1] == found.error[0, 0, 1]
