"""Exploration stays within what the constraints allow; phases come first, then short epochs, then long ones."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners.forecast.exploration import Exploration, acceptance_window


def exploration(limits: tuple[float, float] = (0.2, 0.8), replicates: int = 1) -> Exploration:
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.05), fg.ServiceRate(*limits)])
    return Exploration.start(problem, replicates, 2, phase_length=15, epoch_length=25)


def test_the_window_is_read_off_the_constraints() -> None:
    parity = fg.DemographicParity(0.05)
    assert acceptance_window(fg.Problem(fg.Utility(1.0), [parity]), 2).T.tolist() == [[0.02, 0.98]]
    served = fg.Problem(fg.Utility(1.0), [fg.GroupService(0.3, 0.6)])
    assert acceptance_window(served, 3)[:, 0] == pytest.approx((0.32, 0.58))
    nothing = fg.Problem(fg.Utility(1.0), [fg.Budget(0.2), fg.ServiceRate(0.5, 0.9)])
    assert acceptance_window(nothing, 2).T.tolist() == [[0.5, 0.5]]


def test_phases_come_first_then_short_epochs_then_long_ones() -> None:
    age = np.array([0, 15, 30, 45, 60, 119, 120, 500])
    assert exploration().duration(age).tolist() == [15, 15, 15, 15, 10, 10, 25, 25]


def test_phases_are_of_high_low_and_high_probability() -> None:
    part, rows = exploration(replicates=4), np.arange(4)
    assert part.begin_phase(rows, np.array([0, 15, 30, 45])).tolist() == [True, True, True, False]
    assert part.active.tolist() == [True, True, True, False]
    assert part.probability == pytest.approx([0.78, 0.22, 0.78, 0.5])


def test_an_acceptance_rate_outside_the_window_is_moved_into_it() -> None:
    part = exploration(limits=(0.4, 0.6), replicates=3)
    part.explore(np.array([0, 2]), np.array([True, False]), np.array([0.9, 0.5]))
    assert part.active.tolist() == [True, False, False]
    assert part.probability[0] == pytest.approx(0.58)
