"""What the forecasting learners share: when people have changed, when forecasts have failed, and how long to stay."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.constraints import Constraint
from fairgate.learners import Mixture, mixture
from fairgate.learners.base import AnyLearner
from fairgate.learners.forecaster import failed, jumped
from fairgate.learners.outlook import Worth
from fairgate.problem import violation


def test_a_jump_is_measured_in_standard_errors_of_both_rates() -> None:
    now, then, noise = np.array([[0.5, 0.5]]), np.array([[0.5, 0.4]]), np.full((1, 2), 0.25)
    people, earlier = np.full((1, 2), 100.0), np.full((1, 2), 100.0)
    squared = 0.1**2 / (0.25 * 2 / 100)
    assert jumped(now, people, then, earlier, noise, np.array([squared - 1e-9])).all()
    assert not jumped(now, people, then, earlier, noise, np.array([squared + 1e-9])).any()
    assert not jumped(now, people, then, 0.0 * earlier, noise, np.array([0.0])).any()  # nothing to compare with


def test_a_single_surprise_must_be_four_times_as_large() -> None:
    surprise = np.array([7.9, 8.1, 20.0, 21.0])
    trials = np.array([1.0, 1.0, 10.0, 10.0])
    assert failed(surprise, trials, np.full(4, 2.0)).tolist() == [False, True, False, True]


def test_the_coin_comes_first_then_short_dwells_then_long_ones() -> None:
    age = np.array([0, 15, 30, 45, 60, 119, 120, 500])
    for learner in (fg.SafeForecast(), Mixture(), fg.learners.PerGroup()):
        assert learner.stay(age).tolist() == [15, 15, 15, 15, 10, 10, 25, 25]


def test_what_surely_holds_comes_first_by_reward_else_what_comes_nearest() -> None:
    reward = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    residual = np.array([[0.1, 0.1], [-0.3, 0.2], [-0.3, 0.05]])
    best, upper = Worth(reward, residual, 0.0 * reward, np.full((3, 2), 0.1)).best(2.0)
    assert best.tolist() == [1, 2]
    assert upper == pytest.approx([-0.1, 0.25])


def test_settings_may_vary_by_replicate() -> None:
    run = fg.simulate(fg.load_task("interior"), fg.SafeForecast(caution=[0.0, 50.0]), rounds=300, seeds=2)
    assert not run.traces["coin"][0].all()
    assert run.traces["coin"][1].all()


def test_looking_at_a_few_lotteries_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task = fg.load_task("mean-shift")
    whole = fg.simulate(task, Mixture(), rounds=150, seeds=4)
    monkeypatch.setattr(mixture, "BLOCK", 500)
    few = fg.simulate(task, Mixture(), rounds=150, seeds=4)
    np.testing.assert_array_equal(whole.counts, few.counts)


@pytest.mark.parametrize("learner", [fg.SafeForecast(), fg.learners.PerGroup(), fg.learners.Mixture()])
def test_the_coin_has_a_window_of_its_own_in_every_replicate(learner: AnyLearner) -> None:
    """Service windows that have no chance in common: a coin for both at once would break one of them, or both."""
    base = fg.load_task("interior")
    limits: list[Constraint] = [fg.DemographicParity(0.05), fg.ServiceRate([0.2, 0.6], [0.4, 0.8])]
    task = fg.Task(base.environment, fg.Problem(fg.Utility(1.0), limits), base.thresholds, "two windows")
    run = fg.simulate(task, learner, rounds=150, seeds=2)
    assert violation(run.population.residuals).sum(axis=1).max() < 0.1
    acceptance = run.frame()["population_acceptance"].to_numpy().reshape(2, 150)[:, :45]
    assert acceptance[0].max() <= 0.4
    assert acceptance[1].min() >= 0.6
