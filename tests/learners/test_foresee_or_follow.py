"""One threshold: what is foreseen where steady states can be told, else what is best for the people who come now."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.environments import GaussianScores
from fairgate.learners.foresee_or_follow import DOUBLINGS, FIRST, ForeseeOrFollow
from fairgate.learners.tracking.learner import Tracking
from fairgate.loop import Loop
from fairgate.nature import Nature
from fairgate.worlds.loading import load_world, task_of

OPENING = 60
"""Rounds of SafeForecast's exploration phases."""


def test_the_opening_and_what_can_be_foreseen_are_those_of_safe_forecast() -> None:
    task = fg.load_task("mve-s")
    alone, both = (fg.simulate(task, each, rounds=150, seeds=4) for each in (fg.SafeForecast(), fg.SafeSearch()))
    np.testing.assert_array_equal(alone.policies.thresholds, both.policies.thresholds)
    np.testing.assert_array_equal(alone.policies.weights, both.policies.weights)
    best = fg.oracle(task).best.threshold
    np.testing.assert_allclose(both.settled().single[:, 0], best)


@pytest.mark.parametrize("number", [64, 72])
def test_where_nothing_is_foreseen_to_be_safe_people_are_followed(number: int) -> None:
    task = task_of([load_world(number)])
    alone, both = (fg.simulate(task, each, rounds=400, seeds=1) for each in (fg.SafeForecast(), fg.SafeSearch()))
    assert alone.traces["exploring"][:, OPENING:].mean() > 0.8  # by itself, it knows of nothing but the lottery
    assert not both.traces["exploring"][:, OPENING:].any()
    assert both.population.reward.mean() > alone.population.reward.mean() + 0.02
    late = both.population.residuals[:, :, OPENING:].max(axis=0)
    assert np.maximum(late, 0.0).mean() < 0.001
    assert not both.traces["infeasible"].any()


@pytest.mark.slow
def test_a_forecast_that_has_proved_wrong_gives_way_for_ever_longer() -> None:
    task, learner = task_of([load_world(49)]), ForeseeOrFollow()
    replicates = 1
    loop = Loop(task, replicates, 128, Nature(3), learner.level)
    state: Any = learner.start(task.setting, replicates, np.random.default_rng(3))
    times = np.zeros(replicates, dtype=np.int64)
    for _ in range(1200):
        before, ended = state.wrong.copy(), state.until.copy()
        policy = learner.propose(state)
        found = np.flatnonzero(state.wrong > before)
        for row in found:
            assert state.following[row]
            assert state.wrong[row] == before[row] + 1
            assert state.followed.age[row] >= ended[row]
            assert state.until[row] - state.followed.age[row] == FIRST * 2 ** min(before[row], DOUBLINGS)
            assert state.followed.safe[row]  # for the people who come now
        assert (state.following | (state.followed.age >= state.until)).all()
        times[found] += 1
        learner.observe(state, policy, loop.play(policy).feedback)
    assert times.sum() > 1
    np.testing.assert_array_equal(times, state.wrong)


@pytest.mark.slow
def test_where_people_change_by_themselves_constraints_are_broken_less_than_by_forecasts_alone() -> None:
    task = fg.load_task("drift")
    alone, both = (
        fg.simulate(task, each, rounds=3000, seeds=10).summary() for each in (fg.SafeForecast(), fg.SafeSearch())
    )
    assert both["population_violation"].mean < 0.5 * alone["population_violation"].mean
    assert both["population_reward"].mean > 1.5 * alone["population_reward"].mean


def test_nothing_is_recommended_that_is_a_lottery() -> None:
    run = fg.simulate(fg.load_task("mean-shift"), fg.SafeSearch(), rounds=200, seeds=3)
    assert np.isfinite(run.settled().single).all()
    assert run.policies.thresholds.shape[0] == 2  # in play is a lottery: no threshold is feasible
    uniform = fg.simulate(fg.load_task("mean-shift"), fg.SafeForecast(), rounds=200, seeds=3)
    assert run.population.reward[:, OPENING:].mean() > uniform.population.reward[:, OPENING:].mean()


def still(problem: fg.Problem, grid: list[float], shares: list[float], midpoint: float = 0.1) -> fg.Task:
    """People who answer to nothing."""
    people = GaussianScores(
        means=[0.0, 0.4], shares=shares, sd=[0.5, 0.5], slope=4.0, midpoint=midpoint, gain=0.0, rate=0.1
    )
    return fg.Task(environment=people, problem=problem, grid=grid)


def test_accepting_everybody_is_no_threshold_to_recommend_and_does_not_silence_the_statement() -> None:
    problem = fg.Problem(fg.Utility(0.2), [fg.DemographicParity(0.01)])
    task = still(problem, [0.0, 0.5, 1.0], [0.5, 0.5], midpoint=-1.5)
    assert not fg.oracle(task).best.feasible
    run = fg.simulate(task, fg.SafeSearch(), rounds=300, seeds=3)
    assert np.isfinite(run.settled().single).all()
    assert run.traces["infeasible"][:, -1].all()


def harmed() -> fg.Task:
    """Constraints that look at labels: what comes of people."""
    task = fg.load_task("interior")
    problem = fg.Problem(task.problem.utility, [fg.OutcomeImprovement()])
    return fg.Task(environment=task.environment, problem=problem, grid=task.grid)


def test_a_uniform_lottery_that_may_worsen_peoples_lot_is_not_called_safe() -> None:
    for each, safe in ((fg.load_task("interior"), True), (harmed(), False)):
        run = fg.simulate(each, fg.SafeForecast(), rounds=50, seeds=2)
        assert (run.traces["safe"] == safe).all()
    assert fg.simulate(fg.load_task("interior"), fg.SafeSearch(), rounds=50, seeds=2).traces["safe"].all()


def test_where_a_constraint_looks_at_labels_people_are_followed_from_the_beginning() -> None:
    follow = Tracking(only_thresholds=True, refuge=True)
    one, other = (fg.simulate(harmed(), each, rounds=150, seeds=3) for each in (fg.SafeSearch(), follow))
    np.testing.assert_array_equal(one.policies.thresholds, other.policies.thresholds)
    np.testing.assert_array_equal(one.policies.weights, other.policies.weights)
    for name in ("safe", "infeasible", "exploring"):
        np.testing.assert_array_equal(one.traces[name], other.traces[name])
    assert np.isfinite(one.settled().single).all()


@pytest.mark.slow
def test_a_forecast_is_called_safe_only_if_it_is_so_for_the_people_who_come() -> None:
    """Forecasts of a rare group's labels are surer than they should be, and are checked against people now."""
    problem = fg.Problem(fg.Utility(1.0), [fg.EqualOpportunity(0.1)])
    task = still(problem, np.linspace(-1.0, 1.0, 41).tolist(), [0.95, 0.05])
    run = fg.simulate(task, fg.SafeSearch(), rounds=600, seeds=20, batch=64)
    safe = run.traces["safe"] == 1
    feasible = run.population.residuals.max(axis=0) <= 1e-9
    assert (safe & feasible).sum() > 0.9 * safe.sum(), (safe & feasible).sum() / safe.sum()


def test_a_threshold_that_earns_less_than_a_uniform_lottery_is_not_kept() -> None:
    """The only threshold that is safe accepts nearly everybody, and to accept few by lot earns more."""
    task = task_of([load_world(3091)])
    run = fg.simulate(task, fg.SafeSearch(), rounds=500, seeds=1)
    alone = fg.simulate(task, fg.SafeForecast(), rounds=500, seeds=1)
    late = slice(200, None)
    assert run.population.reward[:, late].mean() > alone.population.reward[:, late].mean() + 0.05
    assert np.maximum(run.population.residuals[:, :, late].max(axis=0), 0.0).mean() < 0.001


def test_to_recommend_a_threshold_changes_nothing() -> None:
    task, learner = fg.load_task("drift"), ForeseeOrFollow()
    policies = []
    for asked in (False, True):
        loop = Loop(task, 3, 128, Nature(1), learner.level)
        state: Any = learner.start(task.setting, 3, np.random.default_rng(1))
        for _ in range(400):
            policy = learner.propose(state)
            if asked:
                learner.recommend(state)
            learner.observe(state, policy, loop.play(policy).feedback)
        policies.append(policy.thresholds.tolist() + policy.weights.tolist())
    assert policies[0] == policies[1]
    recommended = learner.recommend(state)
    assert recommended is not None
    assert np.isin(recommended.single, task.thresholds).all()
