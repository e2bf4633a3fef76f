"""Exploration stays within what the constraints allow; phases come first, then short epochs, then long ones."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners.forecast.exploration import Exploration, acceptance_window
from fairgate.learners.forecast.play import Play
from fairgate.loop import Loop
from fairgate.nature import Nature


def exploration(limits: tuple[float, float] = (0.2, 0.8), replicates: int = 1) -> Exploration:
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.05), fg.ServiceRate(*limits)])
    window = np.repeat(acceptance_window(problem, 2), replicates, axis=1)
    return Exploration(window, np.ones(replicates, dtype=bool), phase_length=15, epoch_length=25)


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
    part, rows, age = exploration(replicates=4), np.arange(3), np.array([0, 15, 30, 45])
    assert part.phase_due(age).tolist() == [True, True, True, False]
    assert part.probability(rows, age[:3]) == pytest.approx([0.78, 0.22, 0.78])


def test_the_uniform_lottery_takes_the_place_of_the_policy_where_it_is_to_be_played() -> None:
    play = Play.start(2, 1, components=3)
    play.explore[0], play.acceptance[:] = True, 0.75
    assert play.policy.thresholds[:, 0].tolist() == [[-np.inf], [np.inf], [np.inf]]
    assert play.policy.weights[:, 0].tolist() == [0.75, 0.25, 0.0]
    np.testing.assert_array_equal(play.policy.weights[:, 1], play.weights[:, 1])


def test_an_acceptance_rate_outside_the_window_is_moved_into_it() -> None:
    """The fourth phase is at the acceptance rate that looks best, as far as the constraints allow."""
    base, learner = fg.load_task("interior"), fg.SafeForecast(phase_length=4)
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.05), fg.ServiceRate(0.8, 0.9)])
    task = fg.Task(base.environment, problem, base.thresholds, "narrow")
    state, loop = learner.start(task.setting, 3, np.random.default_rng(0)), Loop(task, 3, 256, Nature(0), learner.level)
    for _ in range(13):
        policy = learner.propose(state)
        learner.observe(state, policy, loop.play(policy).feedback)
    assert state.exploring.all()
    assert ((state.play.acceptance >= 0.82 - 1e-9) & (state.play.acceptance <= 0.88 + 1e-9)).all()
