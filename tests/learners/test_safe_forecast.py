"""SafeForecast keeps the promise: the oracle's threshold, and hardly a violation on the way."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import fairgate as fg


@pytest.mark.parametrize(("name", "limit"), [("interior", 0.1), ("german", 0.1), ("label-delay", 0.1)])
def test_it_settles_on_the_oracle_and_hardly_ever_violates(name: str, limit: float) -> None:
    task = fg.load_task(name)
    run = fg.simulate(task, fg.SafeForecast(), rounds=2000, seeds=10, seed=21)
    assert np.isclose(run.settled().single[:, 0], fg.oracle(task).best.threshold).mean() >= 0.9
    assert run.per_replicate()["population_violation"].max() <= limit
    assert not run.traces["infeasible"].any()


def test_exploration_has_no_gap_and_stays_in_the_window() -> None:
    run = fg.simulate(fg.load_task("interior"), fg.SafeForecast(), rounds=60, seeds=5)
    assert run.traces["exploring"].all()
    assert run.population_gap.max() < 1e-12
    assert run.population.residuals.max() <= 0
    rates = np.unique(fg.Counts(run.probabilities).overall[:, :45].round(9))
    np.testing.assert_allclose(rates, [0.22, 0.78])


def test_where_no_threshold_is_feasible_it_says_so_and_keeps_exploring() -> None:
    run = fg.simulate(fg.load_task("mean-shift"), fg.SafeForecast(), rounds=800, seeds=10, seed=2)
    assert run.traces["infeasible"][:, -1].mean() >= 0.9
    assert run.traces["exploring"].mean() > 0.99
    assert run.per_replicate()["population_violation"].max() < 1.0


def test_it_notices_that_people_have_changed_and_resets() -> None:
    task = fg.load_task("shock")
    run = fg.simulate(task, fg.SafeForecast(), rounds=2500, seeds=10, seed=4)
    assert not run.traces["exploring"][:, 1300:1500].all(axis=1).any()
    assert run.traces["exploring"][:, 1500:1600].sum(axis=1).min() >= 45  # the exploration phases once more
    assert np.isclose(run.settled().single[:, 0], fg.oracle(task.at(2499)).best.threshold).mean() >= 0.9


def test_it_notices_misfit_where_scores_respond_to_the_threshold_itself() -> None:
    gamed = fg.simulate(fg.load_task("strategic"), fg.SafeForecast(), rounds=200, seeds=10)
    assert gamed.traces["misfit"][:, -1].all()
    honest = fg.simulate(fg.load_task("compas"), fg.SafeForecast(), rounds=1000, seeds=10)
    assert honest.traces["misfit"][:, -1].mean() <= 0.1


def test_constraints_on_labels_are_met_by_estimating_those_of_the_rejected() -> None:
    interior = fg.load_task("interior")
    problem = fg.Problem(fg.Utility(1.0), [fg.EqualOpportunity(0.1), fg.ServiceRate(0.2, 0.8)])
    task = dataclasses.replace(interior, problem=problem)
    run = fg.simulate(task, fg.SafeForecast(), rounds=1500, seeds=10)
    best = fg.oracle(task).best
    assert best.feasible
    assert abs(run.settled().single[:, 0] - best.threshold).max() < 0.11  # the grid's step is 0.1
    with pytest.raises(fg.InputError, match=r"EqualOpportunity.* asks for labels of the rejected.* level 'bandit'"):
        fg.simulate(task, fg.SmoothOptimist(), rounds=10, seeds=1)


def test_problems_may_differ_by_replicate() -> None:
    """The gap at the best threshold of all, 0.3, is 0.05: five of these limits forbid it."""
    interior = fg.load_task("interior")
    limits = [0.02, 0.02, 0.5, 0.5]
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(limits), fg.ServiceRate(0.2, 0.8)])
    task = dataclasses.replace(interior, problem=problem)
    run = fg.simulate(task, fg.SafeForecast(), rounds=1200)
    single = [dataclasses.replace(task, problem=problem.rows(slice(i, i + 1))) for i in range(4)]
    wanted = [fg.oracle(each).best.threshold for each in single]
    assert abs(run.settled().single[:, 0] - wanted).max() < 0.11
    assert run.settled().single[0, 0] < run.settled().single[2, 0] - 0.15


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"epoch_length": 1}, "SafeForecast: epoch_length must be a whole number of at least 2, got 1"),
        ({"epoch_length": 25.5}, "SafeForecast: epoch_length must be a whole number of at least 2, got 25.5"),
        ({"phase_length": [15, 20]}, "phase_length must be a whole number of at least 2, the same for all replicates"),
        ({"width": -1.0}, "SafeForecast: width must be a finite number of at least 0, got -1"),
        ({"misfit": float("nan")}, "SafeForecast: misfit must be a finite number of at least 0, got nan"),
    ],
)
def test_bad_settings_get_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        fg.SafeForecast(**settings)
