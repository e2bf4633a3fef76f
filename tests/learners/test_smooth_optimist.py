"""SmoothOptimist: its posterior is scikit-learn's, it finds the oracle, and it calls infeasible only what is so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import fairgate as fg
from fairgate.learners.smooth_optimist import TYPICAL_PRECISION
from fairgate.problem import Feedback, Observation


def test_the_posterior_is_that_of_an_independent_implementation() -> None:
    task = fg.load_task("interior")
    learner = fg.SmoothOptimist()
    state = learner.start(task.setting, 1, np.random.default_rng(0))
    played = [5, 20, 30]
    state.people[0, :, played] = [[1000, 900], [4000, 4100], [300, 350]]
    state.accepted[0, :, played] = [[950, 600], [2400, 1200], [150, 20]]
    state.labelled[0, :, played] = state.accepted[0, :, played]
    state.positives[0, :, played] = [[400, 380], [1500, 800], [90, 18]]
    state.arrivals[:] = state.people.sum(axis=2)

    grid = np.linspace(0, 1, 41)
    line = np.linspace(0.98, 0.02, 41)
    rates, positives, error = np.empty((2, 41)), np.empty((2, 41)), np.empty((2, 41))
    for group in range(2):
        people = state.people[0, group, played]
        share = (state.accepted[0, group, played] + 1) / (people + 2)
        kernel = ConstantKernel(0.3**2, "fixed") * RBF(0.125, "fixed") + WhiteKernel(0.3**2 * 1e-5, "fixed")
        process = GaussianProcessRegressor(kernel, alpha=2 * share * (1 - share) / people, optimizer=None)
        for prior, sums, mean in (
            (line, state.accepted, rates),
            (TYPICAL_PRECISION * line, state.positives, positives),
        ):
            process.fit(grid[played, None], sums[0, group, played] / people - prior[played])
            moved, error[group] = process.predict(grid[:, None], return_std=True)
            mean[group] = prior + moved
    shares = state.arrivals[0] / state.arrivals[0].sum()
    rates = np.clip(rates, 0, 1)
    positives = np.clip(positives, 0, rates)
    value = learner.value(state)
    reward = (shares[:, None] * (positives - (rates - positives))).sum(axis=0)
    np.testing.assert_allclose(value.reward[:, 0], reward, atol=1e-4)
    overall = (shares[:, None] * rates).sum(axis=0)
    residual = np.max([abs(rates[0] - rates[1]) - 0.05, 0.2 - overall, overall - 0.8], axis=0)
    np.testing.assert_allclose(value.residual[:, 0], residual, atol=1e-4)
    smooth = (abs(rates[0] - rates[1]) > 3 * error.max(axis=0)) & (residual == abs(rates[0] - rates[1]) - 0.05)
    assert smooth.sum() > 5
    np.testing.assert_allclose(value.residual_error[smooth, 0], np.hypot(*error)[smooth], rtol=0.05)


def test_it_settles_on_the_oracle_of_the_interior_task() -> None:
    task = fg.load_task("interior")
    run = fg.simulate(task, fg.SmoothOptimist(), rounds=2000, seeds=20, seed=11)
    assert np.isclose(run.settled().single[:, 0], fg.oracle(task).best.threshold).mean() >= 0.9
    assert not run.traces["infeasible"].any()


def test_it_says_so_where_no_threshold_is_feasible() -> None:
    run = fg.simulate(fg.load_task("mean-shift"), fg.SmoothOptimist(), rounds=1500, seeds=20, seed=11)
    assert run.traces["infeasible"][:, -1].mean() >= 0.95


def test_rounds_in_which_the_state_settles_are_not_counted() -> None:
    task = fg.load_task("interior")
    learner = fg.SmoothOptimist(epoch_length=4, burn_in=3)
    state = learner.start(task.setting, 2, np.random.default_rng(0))
    seen = Observation(*(np.full((2, 2), count) for count in (128.0, 64.0, 40.0, 24.0)))
    for _ in range(4):
        learner.observe(state, learner.propose(state), Feedback(np.zeros(2), np.zeros((3, 2)), seen))
    assert state.people.sum() == 2 * 2 * 128  # one round of four
    learner.propose(state)
    state.moved[:] = False  # had the threshold been kept, every round would count
    for _ in range(4):
        learner.observe(
            state, state.grid[state.arm][:, None].repeat(2, axis=1), Feedback(np.zeros(2), np.zeros((3, 2)), seen)
        )
    assert state.people.sum() == 2 * 2 * 128 * 5


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epoch_length": 0}, "SmoothOptimist: epoch_length must be a whole number of at least 1, got 0"),
        ({"epoch_length": 50.9}, "SmoothOptimist: epoch_length must be a whole number of at least 1, got 50.9"),
        (
            {"epoch_length": [50, 60]},
            r"a whole number of at least 1, the same for all replicates, got \[50, 60\]",
        ),
        ({"burn_in": "many"}, "SmoothOptimist: burn_in must be a whole number of at least 0"),
        ({"epoch_length": 10, "burn_in": 10}, "burn_in must be below epoch_length, 10, or nothing is counted, got 10"),
        ({"optimism": -1.0}, "SmoothOptimist: optimism must be a finite number above 0, got -1.0"),
    ],
)
def test_bad_settings_get_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        fg.SmoothOptimist(**settings)


def test_a_float_that_is_whole_is_a_whole_number() -> None:
    learner = fg.load_learner("smooth-optimist:epoch_length=50,burn_in=10")
    assert learner == fg.SmoothOptimist(epoch_length=50, burn_in=10)
    assert "epoch_length=50, burn_in=10," in repr(learner)
