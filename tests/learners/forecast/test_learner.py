"""What SafeForecast, PerGroup and Mixture share: settings by replicate, windows, saving in the middle of things."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.constraints import Constraint
from fairgate.learners.base import AnyLearner
from fairgate.learners.forecast.learner import Forecast
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.policy import Policy
from fairgate.problem import violation


def test_settings_may_vary_by_replicate() -> None:
    run = fg.simulate(fg.load_task("interior"), fg.SafeForecast(width=[0.0, 50.0]), rounds=300, seeds=2)
    assert not run.traces["exploring"][0].all()
    assert run.traces["exploring"][1].all()


@pytest.mark.parametrize("learner", [fg.SafeForecast(), fg.learners.PerGroup(), fg.learners.Mixture()])
def test_the_uniform_lottery_has_a_window_per_replicate(learner: AnyLearner) -> None:
    """Service windows that have no probability in common: one lottery for both would break one in every round.

    That would sum to 45 · 0.1 = 4.5 in the exploration phase alone, where nothing is broken. Later, chance breaks 0.1
    in 9 of 100 pairs of loops at most; not in this one.
    """
    base = fg.load_task("interior")
    limits: list[Constraint] = [fg.DemographicParity(0.05), fg.ServiceRate([0.2, 0.6], [0.4, 0.8])]
    task = fg.Task(base.environment, fg.Problem(fg.Utility(1.0), limits), base.thresholds, "two windows")
    run = fg.simulate(task, learner, rounds=150, seeds=2, seed=1)
    broken = violation(run.population.residuals)
    assert broken[:, :45].max() == 0.0
    assert broken.sum(axis=1).max() < 0.1
    acceptance = run.frame()["population_acceptance"].to_numpy().reshape(2, 150)[:, :45]
    assert acceptance[0].max() <= 0.4
    assert acceptance[1].min() >= 0.6


@pytest.mark.parametrize("learner", [fg.SafeForecast(), fg.learners.PerGroup(), fg.learners.Mixture()])
def test_all_explore_in_three_phases_and_then_play_short_epochs_and_long_ones(learner: Forecast) -> None:
    state = learner.start(fg.load_task("interior").setting, 1, np.random.default_rng(0))
    age = np.array([0, 15, 30, 45, 60, 119, 120, 500])
    assert state.exploration.duration(age).tolist() == [15, 15, 15, 15, 10, 10, 25, 25]


@pytest.mark.parametrize("learner", [fg.SafeForecast(), fg.learners.PerGroup(), fg.learners.Mixture()])
def test_every_part_survives_saving(learner: Forecast) -> None:
    """After 200 rounds of gaming, predictions have failed and a correction is at work."""
    task, rng = fg.load_task("strategic"), np.random.default_rng(0)
    state, loop = learner.start(task.setting, 2, rng), Loop(task, 2, 256, Nature(0), learner.level)
    for _ in range(200):
        policy = learner.propose(state)
        learner.observe(state, policy, loop.play(policy).feedback)
    assert state.misfit.any()
    loaded = learner.load(json.loads(json.dumps(learner.save(state))), task.setting)
    for name in ("response", "exploration", "play", "monitor", "space"):
        assert_equal(getattr(loaded, name), getattr(state, name))


def test_how_much_must_change_for_a_reset_may_differ_by_replicate() -> None:
    """Limits of 0 take any two epochs on one threshold for a change."""
    task, learner = fg.load_task("interior"), fg.SafeForecast(change=[0.0, 1e9])
    state, loop = learner.start(task.setting, 2, np.random.default_rng(0)), Loop(task, 2, 256, Nature(0), learner.level)
    for _ in range(150):
        policy = learner.propose(state)
        learner.observe(state, policy, loop.play(policy).feedback)
    assert state.response.age[0] < state.response.age[1] == 150


def assert_equal(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    for name, value in vars(one).items():
        if dataclasses.is_dataclass(value):
            assert_equal(value, getattr(other, name))
        else:
            np.testing.assert_array_equal(value, getattr(other, name), strict=True)


def test_a_reset_forgets_the_reset_replicates_and_no_others() -> None:
    task, learner, rng = fg.load_task("interior"), fg.learners.PerGroup(), np.random.default_rng(0)
    state, loop = learner.start(task.setting, 3, rng), Loop(task, 3, 256, Nature(0), learner.level)
    for _ in range(90):
        policy = learner.propose(state)
        learner.observe(state, policy, loop.play(policy).feedback)
    assert not state.exploring.any()
    learner.reset(state, np.array([1]))
    learner.propose(state)
    assert state.exploring.tolist() == [False, True, False]
    assert state.response.age.tolist() == [90, 0, 90]
    assert state.play.due.tolist() == [100, 15, 100]


def test_rounds_in_which_something_else_was_played_are_not_compared_with_the_prediction() -> None:
    """An override that accepts everybody for twenty rounds is no misfit, and no change of people."""
    task, learner, rng = fg.load_task("interior"), fg.SafeForecast(), np.random.default_rng(0)
    state, loop = learner.start(task.setting, 3, rng), Loop(task, 3, 256, Nature(0), learner.level)
    everybody = Policy.uniform(np.ones(3), 2)
    for t in range(260):
        policy = learner.propose(state)
        played = everybody if 180 <= t < 200 else policy
        counted = state.play.tally[0].copy()
        learner.observe(state, played, loop.play(played).feedback)
        if played is everybody:
            assert (state.play.tally[0] <= counted).all()
    assert (state.response.age == 260).all()  # no reset
    assert not state.misfit.any()


def test_delayed_labels_count_for_the_epoch_that_accepted_those_people() -> None:
    task, rng = fg.load_task("label-delay"), np.random.default_rng(0)
    for learner in (fg.learners.PerGroup(), fg.SafeForecast()):
        state, loop = learner.start(task.setting, 4, rng), Loop(task, 4, 256, Nature(0), learner.level)
        labelled = []
        for _ in range(300):
            policy = learner.propose(state)
            learner.observe(state, policy, loop.play(policy).feedback)
            _, accepted, labels, positives, *_ = state.play.tally
            assert (labels <= accepted).all()
            assert (positives <= labels).all()
            labelled.append(labels.sum() / max(accepted.sum(), 1.0))
        assert 0.2 < max(labelled) < 1.0


@pytest.mark.parametrize("learner", [fg.SafeForecast(width=[1.0, 2.0]), fg.learners.PerGroup(), fg.learners.Mixture()])
def test_a_batch_of_nobody_in_one_replicate_changes_the_others_only(learner: Forecast) -> None:
    task, rng = fg.load_task("interior"), np.random.default_rng(0)
    state, loop = learner.start(task.setting, 2, rng), Loop(task, 2, 256, Nature(0), learner.level)
    for _ in range(70):
        policy = learner.propose(state)
        learner.observe(state, policy, loop.play(policy).feedback)
    people = np.ones((2, 2, len(task.thresholds) + 1, 2, 2), dtype=np.int64)
    people[1] = 0
    policy, before = learner.propose(state), copy.deepcopy(state)
    learner.observe(state, policy, task.problem.reveal(people, learner.level))
    assert state.response.age.tolist() == [71, 70]
    assert state.play.due[1] == before.play.due[1]
    np.testing.assert_array_equal(state.play.tally[:, 1], before.play.tally[:, 1])
    np.testing.assert_array_equal(state.response.cross[..., 1, :], before.response.cross[..., 1, :])
    assert (state.response.cross[..., 0, :] != before.response.cross[..., 0, :]).any()
