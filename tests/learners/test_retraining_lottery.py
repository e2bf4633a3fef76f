"""RetrainingLottery does what its rule says, and is what repeated retraining comes to where lotteries are allowed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import fairgate as fg
from fairgate.learners import RetrainingLottery, check_learner
from fairgate.learners.baselines.retraining_lottery import RetrainingLotteryState
from fairgate.learners.registry import is_baseline
from tests.reference import step


def seen(task: fg.Task, rounds: int = 60) -> tuple[RetrainingLottery, RetrainingLotteryState]:
    """A learner and what it knows after some rounds of two loops."""
    learner, rng = RetrainingLottery(), np.random.default_rng(3)
    state, world = learner.remember(task.setting, common(task, rng)), task.environment.start(2)
    for _ in range(rounds):
        policy = learner.propose(state)
        world, counts = step(task.environment, world, policy, 256, rng, task.thresholds)
        learner.observe(state, policy, task.problem.reveal(counts, "selective-labels"))
    return learner, state


def common(task: fg.Task, rng: np.random.Generator) -> dict[str, object]:
    return {"rng": rng, "setting": task.setting, "replicates": 2, "rounds": 0, "pending": {}}


def test_it_keeps_the_contract_and_is_a_baseline_that_searches_lotteries() -> None:
    check_learner(RetrainingLottery())
    learner = fg.load_learner("retraining-lottery")
    assert is_baseline("retraining-lottery")
    assert (learner.level, learner.policies, learner.searched) == ("selective-labels", "lottery", "lottery")


def test_a_lottery_accepts_each_person_with_the_probability_of_the_thresholds_below() -> None:
    task = fg.load_task("interior")
    learner, state = seen(task)
    options, lottery = len(task.thresholds) + 2, (7.0, 15.0, 0.3)
    found = learner.mixed(state, np.tile(np.array(lottery)[:, None, None], (1, 2, 1)))
    chances = np.zeros(options - 1)  # of people in each bin
    chances[7:], chances[15:] = 0.3, 1.0
    mass = state.scores / state.scores.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found.rates[..., 0], (mass * chances).sum(axis=-1))
    people = state.scores.sum(axis=-1) * 1.97 + 1.0
    spread = (mass * chances**2).sum(axis=-1) - (mass * chances).sum(axis=-1) ** 2
    np.testing.assert_allclose(found.error[..., 0], np.sqrt(spread / people))
    single = np.arange(1.0, options - 1.0)
    alone = np.stack((single, np.full_like(single, options - 1.0), np.ones_like(single)))
    certain = learner.mixed(state, np.repeat(alone[:, None], 2, axis=1))
    for one, other in zip(certain, learner.prediction(state), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("name", ["mean-shift", "interior"])
def test_its_search_finds_about_the_best_of_all_lotteries(name: str) -> None:
    task = fg.load_task(name)
    learner, state = seen(task)
    pairs = np.array(list(combinations(range(len(task.thresholds) + 2), 2)), dtype=float).T
    weights = np.linspace(0.0, 1.0, 41)
    every = np.stack((*np.repeat(pairs, len(weights), axis=1), np.tile(weights, pairs.shape[1])))
    value = learner.mixed(state, np.repeat(every[:, None], 2, axis=1)).value(task.problem)
    best, safe = value.best(np.asarray(learner.width))
    assert safe.all()
    lottery, infeasible = learner.search(state)
    assert not infeasible.any()
    found = learner.mixed(state, lottery[..., None]).value(task.problem)
    assert (found.residual + found.residual_error <= 1e-9).all()
    assert (found.reward[0] >= value.reward[best, np.arange(2)] - 0.005).all()


def test_where_no_threshold_is_feasible_it_earns_more_than_the_best_fair_lottery() -> None:
    task = fg.load_task("mean-shift")
    run = fg.simulate(task, fg.load_learner("retraining-lottery"), rounds=300, seeds=5)
    assert run.policies.is_lottery.all()
    assert run.population.residuals[:, :, :20].max() < 0.0, "it begins with a uniform lottery"
    fair = fg.simulate(task, fg.load_learner("best-lottery"), rounds=300, seeds=5)
    assert run.population.reward[:, 100:].mean() > fair.population.reward[:, 100:].mean() + 0.01
    assert np.maximum(run.population.residuals, 0.0).sum(axis=0).mean() < 0.002
    assert not run.traces["infeasible"].any()
