"""PerGroup: near the best pair of thresholds by exact enumeration, feasible where no shared threshold is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from fairgate.learners import PerGroup, check_learner
from fairgate.learners.per_group import lottery
from fairgate.policy import Policy
from fairgate.problem import is_feasible
from fairgate.settings import Array


def test_it_keeps_the_contract() -> None:
    check_learner(PerGroup())


def best_pair(task: fg.Task) -> tuple[Array, float]:
    """Return the best feasible pair of the grid and its reward, or -inf, from the exact steady states of all pairs."""
    pairs = np.stack(np.meshgrid(task.thresholds, task.thresholds), axis=-1).reshape(-1, 2)
    found = task.problem.assess(task.environment.probabilities(task.environment.steady_state(pairs), pairs))
    reward = np.where(is_feasible(found.residuals), found.reward, -np.inf)
    return pairs[reward.argmax()], float(reward.max())


@pytest.mark.parametrize(
    ("name", "short", "spent"),
    [("interior", 0.001, 0.5), ("mean-shift", 0.003, 0.5), ("german-strict", -0.08, 1.0)],
)
def test_it_earns_what_the_best_pair_of_the_grid_earns(name: str, short: float, spent: float) -> None:
    """A negative shortfall: between the thresholds of the grid there is more to be had than on it."""
    task = fg.load_task(name)
    run = fg.simulate(task, PerGroup(), rounds=1500, seeds=6, seed=2)
    figures = run.per_replicate()
    _, exact = best_pair(task)
    assert figures["population_reward"].mean() > exact - short
    assert np.median(figures["feasible"]) > 0.97
    assert figures["population_violation"].mean() < spent


def test_it_is_feasible_where_no_pair_of_the_grid_is() -> None:
    """On compas-strict with every third threshold; of all pairs, five are feasible."""
    strict = fg.load_task("compas-strict")
    task = dataclasses.replace(strict, grid=strict.thresholds[::3])
    assert best_pair(task)[1] == -np.inf
    figures = fg.simulate(task, PerGroup(), rounds=2000, seeds=5, seed=2).per_replicate()
    uniform = fg.simulate(task, fg.learners.BestLottery(), rounds=500, seeds=5, seed=2).per_replicate()
    assert np.median(figures["feasible"]) > 0.95  # of 90 seeds, five were feasible in less than 0.85 of the tail
    assert figures["population_violation"].mean() < 1.0
    assert figures["population_reward"].mean() > uniform["population_reward"].mean() + 0.04


def test_it_earns_more_than_any_shared_threshold() -> None:
    task = fg.load_task("interior")
    run = fg.simulate(task, PerGroup(), rounds=1000, seeds=6)
    assert run.summary()["population_reward"].mean > fg.oracle(task).best.reward + 0.01


def test_it_recommends_plain_thresholds_near_the_best_pair() -> None:
    task = fg.load_task("mean-shift")
    run = fg.simulate(task, PerGroup(), rounds=1000, seeds=8, seed=2)
    pairs = run.settled().single
    assert pairs.shape == (8, 2)
    assert np.isin(pairs, task.thresholds).all()
    exact = task.environment.probabilities(task.environment.steady_state(pairs), pairs)
    feedback = task.problem.assess(exact)
    assert is_feasible(feedback.residuals).mean() >= 0.8
    assert feedback.reward.mean() > best_pair(task)[1] - 0.01


def test_it_holds_the_rates_though_the_state_fluctuates() -> None:
    """On german a fixed pair's gap wanders by several hundredths with the luck of the batches."""
    task = fg.load_task("german-strict")
    fixed = fg.simulate(task, Pair(best_pair(task)[0]), rounds=1000, seeds=5)
    held = fg.simulate(task, PerGroup(), rounds=1000, seeds=5)
    assert fixed.population_gap[:, 500:].std() > 0.01
    assert held.population_gap[:, 500:].std() < 0.005


class Pair:
    """Plays one pair of thresholds for ever."""

    def __init__(self, pair: Array) -> None:
        self.pair = pair

    def start(self, setting: fg.Setting, replicates: int, rng: np.random.Generator) -> int:
        return replicates

    def propose(self, state: int) -> Array:
        return np.tile(self.pair, (state, 1))

    def observe(self, state: int, played: Policy, feedback: fg.Feedback) -> None:
        pass


def test_six_groups_are_no_harder() -> None:
    task = fg.load_task("many-groups")
    run = fg.simulate(task, PerGroup(), rounds=700, seeds=4)
    assert run.summary()["population_reward"].mean > fg.oracle(task).best.reward
    assert run.summary()["feasible"].mean > 0.85


def test_it_follows_a_drift_by_correcting_its_predictions() -> None:
    run = fg.simulate(fg.load_task("drift"), PerGroup(), rounds=1500, seeds=4)
    assert run.traces["misfit"][:, -1].all()
    assert run.per_replicate()["population_violation"].mean() < 4.0
    assert run.population.reward.mean() > 0.11


def test_gamed_thresholds_are_noticed_as_misfit() -> None:
    run = fg.simulate(fg.load_task("strategic"), PerGroup(), rounds=200, seeds=6)
    assert (run.traces["misfit"][:, -1] > 0).all()
    honest = fg.simulate(fg.load_task("compas"), PerGroup(), rounds=800, seeds=6)
    assert honest.traces["misfit"].max() == 0


def test_problems_may_differ_by_replicate() -> None:
    limits = [0.0, 0.0, 0.4, 0.4]
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity([limit + 0.01 for limit in limits])])
    task = dataclasses.replace(fg.load_task("mean-shift"), problem=problem)
    run = fg.simulate(task, PerGroup(), rounds=800)
    gaps = run.population_gap[:, -100:].mean(axis=1)
    assert gaps[:2].max() < 0.01 < 0.1 < gaps[2:].min()


def test_other_constraints_will_do() -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.EqualOpportunity(0.05), fg.ServiceRate(0.2, 0.8)])
    task = dataclasses.replace(fg.load_task("mean-shift"), problem=problem)
    figures = fg.simulate(task, PerGroup(), rounds=700, seeds=4).per_replicate()
    assert figures["feasible"].mean() > 0.9
    assert figures["population_reward"].mean() > best_pair(task)[1] - 0.01


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
def test_one_lottery_gives_every_group_its_own_odds(weights: list[float]) -> None:
    grid, weight = np.array([0.0, 1.0]), np.array([weights])
    policy = lottery(grid, np.ones(weight.shape, dtype=np.int64), weight)
    assert policy.weights.sum(axis=0) == pytest.approx(1.0)
    np.testing.assert_allclose(policy.accepted_share(grid)[0, :, 1], weights, atol=1e-12)
    np.testing.assert_allclose(policy.accepted_share(grid)[0, :, [0, 2]], [[0.0] * len(weights), [1.0] * len(weights)])
