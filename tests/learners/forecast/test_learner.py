"""What SafeForecast, PerGroup and Mixture share: settings by replicate, windows, saving in the middle of things."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.constraints import Constraint
from fairgate.learners.base import AnyLearner
from fairgate.learners.forecast.learner import Forecast
from fairgate.problem import violation


def test_settings_may_vary_by_replicate() -> None:
    run = fg.simulate(fg.load_task("interior"), fg.SafeForecast(width=[0.0, 50.0]), rounds=300, seeds=2)
    assert not run.traces["exploring"][0].all()
    assert run.traces["exploring"][1].all()


@pytest.mark.parametrize("learner", [fg.SafeForecast(), fg.learners.PerGroup(), fg.learners.Mixture()])
def test_the_uniform_lottery_has_a_window_per_replicate(learner: AnyLearner) -> None:
    """Service windows that have no probability in common: one lottery for both would break one of them, or both."""
    base = fg.load_task("interior")
    limits: list[Constraint] = [fg.DemographicParity(0.05), fg.ServiceRate([0.2, 0.6], [0.4, 0.8])]
    task = fg.Task(base.environment, fg.Problem(fg.Utility(1.0), limits), base.thresholds, "two windows")
    run = fg.simulate(task, learner, rounds=150, seeds=2)
    assert violation(run.population.residuals).sum(axis=1).max() < 0.1
    acceptance = run.frame()["population_acceptance"].to_numpy().reshape(2, 150)[:, :45]
    assert acceptance[0].max() <= 0.4
    assert acceptance[1].min() >= 0.6


@pytest.mark.parametrize("learner", [fg.SafeForecast(), fg.learners.PerGroup(), fg.learners.Mixture()])
def test_every_part_survives_saving(learner: Forecast) -> None:
    """After 200 rounds of gaming, predictions have failed and a correction is at work."""
    task, rng = fg.load_task("strategic"), np.random.default_rng(0)
    state, world = learner.start(task, 2, rng), task.environment.start(2)
    for _ in range(200):
        policy = learner.propose(state)
        world, cells = task.environment.step(world, policy, 256, rng, task.thresholds)
        learner.observe(state, policy.thresholds[0], task.problem.reveal(cells, "selective-labels"))
    assert state.misfit.any()
    copy = learner.load(json.loads(json.dumps(learner.save(state))), task)
    for name in ("response", "exploration", "play", "monitor", "planner"):
        assert_equal(getattr(copy, name), getattr(state, name))


def assert_equal(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    for name, value in vars(one).items():
        if dataclasses.is_dataclass(value):
            assert_equal(value, getattr(other, name))
        else:
            np.testing.assert_array_equal(value, getattr(other, name), strict=True)


def test_a_reset_forgets_the_reset_replicates_and_no_others() -> None:
    task, learner, rng = fg.load_task("interior"), fg.learners.PerGroup(), np.random.default_rng(0)
    state, world = learner.start(task, 3, rng), task.environment.start(3)
    for _ in range(90):
        policy = learner.propose(state)
        world, cells = task.environment.step(world, policy, 256, rng, task.thresholds)
        learner.observe(state, policy.thresholds[0], task.problem.reveal(cells, "selective-labels"))
    assert not state.exploring.any()
    learner.reset(state, np.array([1]))
    learner.propose(state)
    assert state.exploring.tolist() == [False, True, False]
    assert state.response.age.tolist() == [90, 0, 90]
    assert state.play.due.tolist() == [100, 15, 100]
