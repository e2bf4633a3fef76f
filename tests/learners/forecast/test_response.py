"""The response model predicts steady states: exactly where it is exact, and else with honest errors."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairgate as fg
from fairgate.learners.forecast.prediction import Prediction
from fairgate.learners.forecast.response import SPEEDS, ResponseModel
from fairgate.learners.forecast.steady_state import SteadyStates
from fairgate.policy import Policy
from fairgate.problem import Observation
from tests.reference import step

Array = NDArray[np.float64]


def explored(task: fg.Task, replicates: int, rounds: int, rng: np.random.Generator | None) -> ResponseModel:
    """Play phases of a uniform lottery; without random numbers every batch is a million people exactly as expected."""
    groups = task.environment.group_count
    model = ResponseModel.start(replicates, groups, len(task.thresholds))
    world = task.environment.start(replicates)
    for t in range(rounds):
        policy = Policy.uniform(np.full(replicates, (0.9, 0.4)[t // 15 % 2]), groups)
        if rng is None:
            cells: NDArray[Any] = task.environment.cells(world, policy, task.thresholds) * 1e6
            counts, unheard = fg.Counts(cells.sum(axis=2)), np.full_like(world, np.nan)
            world = task.environment.update(world, counts, unheard, np.random.default_rng(0))
        else:
            world, cells = step(task.environment, world, policy, 256, rng, task.thresholds)
        model.absorb(task.problem.reveal(cells, "selective-labels").observation)
    return model


def predicted(model: ResponseModel) -> Prediction:
    rows = np.arange(len(model.age))
    return SteadyStates.trusted(model, rows, model.fit(rows, benefit=0.0)).thresholds()


def truth(task: fg.Task) -> tuple[Array, Array]:
    """Rates and accepted positives of every group at every threshold's steady state, (G, K)."""
    shared = np.repeat(task.thresholds[:, None], task.environment.group_count, axis=1)
    cells = task.environment.probabilities(task.environment.steady_state(shared), shared)
    people = cells.sum(axis=(2, 3))
    return fg.Counts(cells).rates.T, (cells[..., 1, 1] / people).T


def test_mixed_pools_are_predicted_exactly_from_a_uniform_lottery_alone(pools: fg.environments.ScorePools) -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    task = fg.Task(pools, problem, np.linspace(-2, 2, 15), "pools")
    model = explored(task, 1, 60, None)
    assert SPEEDS[model.fit(np.array([0]), benefit=0.0).speed] == [0.1]  # the rate of these pools
    rates, positives = truth(task)
    np.testing.assert_allclose(predicted(model).rates[0], rates, atol=1e-4)
    # within a bin that the pools' border cuts, the share of positives depends on the state: near, not exact
    np.testing.assert_allclose(predicted(model).positives[0], positives, atol=0.02)


def test_normal_scores_are_predicted_nearly() -> None:
    task = fg.load_task("interior")
    prediction = predicted(explored(task, 1, 60, None))
    rates, positives = truth(task)
    np.testing.assert_allclose(prediction.rates[0], rates, atol=2e-3)
    np.testing.assert_allclose(prediction.positives[0], positives, atol=2e-3)
    everybody = task.environment.cells(task.environment.start(1), Policy.shared(task.thresholds[:1], groups=2))
    assert abs(prediction.all_positives[0, 0].mean() - 2 * everybody[0, 0, 1].sum()) < 0.05


def test_standard_errors_tell_how_far_off_predictions_are() -> None:
    """Over 200 loops, where acceptance has been, the mean squared standardised error is near 1: within a factor 2."""
    task = fg.load_task("interior")
    prediction = predicted(explored(task, 200, 120, np.random.default_rng(3)))
    rates, _ = truth(task)
    inner = (rates > 0.35) & (rates < 0.95)
    squared = (((prediction.rates - rates) / prediction.error) ** 2).mean(axis=0)[inner]
    assert 0.5 < squared.min() < squared.max() < 2.0


def test_a_reset_of_some_replicates_leaves_the_others_alone() -> None:
    task = fg.load_task("interior")
    model, fresh = (explored(task, 3, rounds, np.random.default_rng(0)) for rounds in (20, 0))
    before = copy.deepcopy(model)
    model.reset(np.array([1]))
    for name in vars(fresh):
        axis = -2 if name in ("average", "gram", "cross") else 0
        now, then, start = (getattr(each, name) for each in (model, before, fresh))
        np.testing.assert_array_equal(np.take(now, [1], axis=axis), np.take(start, [1], axis=axis))
        np.testing.assert_array_equal(np.take(now, [0, 2], axis=axis), np.take(then, [0, 2], axis=axis))


def test_it_says_so_if_it_may_not_see_scores() -> None:
    counts = np.ones((1, 2))
    with pytest.raises(fg.InputError, match="needs scores and labels by bin"):
        ResponseModel.start(1, 2, 5).absorb(Observation(counts, counts, counts, counts))
