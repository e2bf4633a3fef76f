"""The best lottery and the best thresholds per group, against brute force."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import pytest

import fairgate as fg
from fairgate.environments import GaussianScores
from fairgate.environments.long_run import iterate, settle
from fairgate.oracle import per_group
from fairgate.policy import Policy
from fairgate.problem import is_feasible, violation
from fairgate.settings import Array


def coarse(name: str, size: int) -> fg.Task:
    """A built-in task with fewer thresholds."""
    task = fg.load_task(name)
    return replace(task, grid=np.linspace(task.thresholds[0], task.thresholds[-1], size))


def kept(task: fg.Task, policy: Policy, rounds: int = 1000) -> Array:
    """Cells of a policy kept for so many expected rounds."""
    environment = task.environment
    state = np.repeat(environment.start(1), policy.replicates, axis=0)
    for _ in range(rounds):
        counts = fg.Counts(environment.cells(state, policy))
        state = environment.update(state, counts, policy.published, np.random.default_rng(0))
    return environment.cells(state, policy)


def lotteries(task: fg.Task, weights: Array) -> Policy:
    """Every lottery of two options at these weights."""
    pairs = combinations([-np.inf, *task.thresholds, np.inf], 2)
    low, high, weight = np.array([(*pair, each) for pair, each in product(pairs, weights)]).T
    thresholds = np.stack((low, high))[:, :, None].repeat(task.environment.group_count, axis=2)
    return Policy(thresholds, np.stack((weight, 1.0 - weight)))


@pytest.mark.parametrize("name", ["mve-s", "compas", "delayed-impact", "strategic", "many-groups"])
def test_what_a_policy_settles_in_is_where_expected_rounds_lead(name: str) -> None:
    task = coarse(name, 4)
    environment = task.environment
    single = np.repeat(task.thresholds[:, None], environment.group_count, axis=1)
    np.testing.assert_allclose(
        settle(environment, Policy.of(single)), iterate(environment, single), rtol=1e-9, atol=1e-9
    )
    lottery = lotteries(task, np.array([0.1, 0.7]))
    found = environment.cells(settle(environment, lottery), lottery)
    np.testing.assert_allclose(found, kept(task, lottery), atol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "german-strict",
        "compas-strict",
        pytest.param("interior", marks=pytest.mark.slow),
        pytest.param("mean-shift", marks=pytest.mark.slow),
        pytest.param("delayed-impact", marks=pytest.mark.slow),
    ],
)
def test_no_lottery_of_a_fine_grid_is_better_than_the_best(name: str) -> None:
    task = coarse(name, 5)
    best = fg.oracle(task, "lottery", refine=False).best
    tried = lotteries(task, np.linspace(0.0, 1.0, 51))
    cells = task.environment.cells(settle(task.environment, tried), tried)
    reward, residuals = task.problem.assess(cells)
    feasible = is_feasible(residuals)
    assert feasible.any()
    assert best.feasible
    assert reward[feasible].max() <= best.reward + 1e-9
    exact = task.problem.assess(kept(task, best.policy))
    assert exact.reward[0] == pytest.approx(best.reward, abs=1e-9)
    np.testing.assert_allclose(exact.residuals[:, 0], best.residuals, atol=1e-9)


@pytest.mark.parametrize("name", ["german-strict", pytest.param("mean-shift", marks=pytest.mark.slow)])
def test_a_third_threshold_is_found_where_it_helps(name: str) -> None:
    task = coarse(name, 4)
    best = fg.oracle(task, "lottery", refine=False).best
    assert len(best.policy.weights) == 3
    options = list(combinations([-np.inf, *task.thresholds, np.inf], 3))
    parts = [(a, b, 20 - a - b) for a in range(21) for b in range(21 - a)]
    rows = np.array([(*chosen, *part) for chosen, part in product(options, parts)]).T
    tried = Policy(rows[:3, :, None].repeat(task.environment.group_count, axis=2), rows[3:] / 20.0)
    reward, residuals = task.problem.assess(task.environment.cells(settle(task.environment, tried), tried))
    assert reward[is_feasible(residuals)].max() <= best.reward + 1e-9


def test_if_no_lottery_is_feasible_the_least_violating_one_is_found() -> None:
    task = coarse("interior", 5)
    task = replace(task, problem=fg.Problem(fg.Utility(1.0), [fg.ServiceRate(0.6, 0.7), fg.Budget(0.3)]))
    found = fg.oracle(task, "lottery", refine=False)
    assert not found.best.feasible
    assert violation(np.array(found.best.residuals)) == pytest.approx(0.3, abs=1e-5)
    assert np.isnan(found.gain)
    best, least = found.targets(0, 3)
    assert np.isnan(best).all()
    np.testing.assert_allclose(least, 0.3, atol=1e-5)


@pytest.mark.parametrize("name", ["interior", "mean-shift", "performative"])
def test_no_combination_of_thresholds_is_better_than_the_best(name: str) -> None:
    task = coarse(name, 9)
    found = fg.oracle(task, "per-group", refine=False)
    top, at = -np.inf, (np.nan, np.nan)
    for pair in product(task.thresholds, repeat=2):
        row = np.array([pair])
        cells = task.environment.probabilities(task.environment.steady_state(row), row)
        reward, residuals = task.problem.assess(cells)
        if (residuals <= 1e-12).all() and reward[0] > top:
            top, at = float(reward[0]), pair
    assert found.exhaustive
    assert found.searched == 81
    assert found.best.reward == pytest.approx(top, abs=1e-12)
    assert found.best.policy.single[0].tolist() == list(at)


@pytest.mark.parametrize("limit", [0.086, 0.03, 0.01])
def test_a_search_of_many_groups_finds_what_all_combinations_have(
    limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = coarse("many-groups", 7)
    task = replace(task, problem=fg.Problem(fg.Utility(1.0), [fg.DemographicParity(limit), fg.ServiceRate(0.2, 0.8)]))
    whole = fg.oracle(task, "per-group", refine=False)
    monkeypatch.setattr(per_group, "ALL", 1000)
    searched = fg.oracle(task, "per-group", refine=False)
    assert (whole.exhaustive, searched.exhaustive) == (True, False)
    assert whole.searched == 7**6 > 5 * searched.searched
    assert searched.best.feasible == whole.best.feasible
    assert searched.best.reward == pytest.approx(whole.best.reward, abs=1e-12)


@dataclass(frozen=True)
class Neighbours(GaussianScores):
    """Each group's mean is drawn to the other's acceptance."""

    def update(self, state: Array, counts: fg.Counts, thresholds: Array, rng: np.random.Generator) -> Array:
        moved = super().update(state, counts, thresholds, rng)
        return np.asarray(moved + 0.05 * (counts.rates[:, ::-1] - 0.5))

    def steady_state(self, thresholds: Array) -> Array:
        return np.asarray(iterate(self, thresholds))


def test_groups_that_move_each_other_are_solved_together() -> None:
    task = coarse("interior", 5)
    described = {**task.environment.describe(), "rate": 0.5}
    del described["kind"]
    task = replace(task, environment=Neighbours(**described))
    found = fg.oracle(task, "per-group", refine=False)
    rows = np.array(list(product(task.thresholds, repeat=2)))
    cells = task.environment.probabilities(task.environment.steady_state(rows), rows)
    reward, residuals = task.problem.assess(cells)
    assert found.best.reward == pytest.approx(reward[is_feasible(residuals)].max(), abs=1e-8)


def test_a_run_is_judged_by_the_best_policy_and_gain_is_over_the_single_threshold() -> None:
    task = coarse("interior", 9)
    single, lottery = fg.oracle(task, refine=False), fg.oracle(task, "lottery", refine=False)
    assert lottery.gain == pytest.approx(lottery.best.reward - single.best.reward)
    assert lottery.gain > 0.0
    run = fg.simulate(task, fg.OFS(), 30, 2)
    more = run.against(lottery).regret - run.against(single).regret
    np.testing.assert_allclose(more, lottery.gain)
    assert "with probability" in str(lottery.best)


def test_what_cannot_be_solved_is_said() -> None:
    with pytest.raises(fg.InputError, match="unknown policies 'lotery': did you mean 'lottery'"):
        fg.oracle(fg.load_task("interior"), "lotery")  # type: ignore[call-overload]
    with pytest.raises(fg.InputError, match="freeze it first with at"):
        fg.oracle(fg.load_task("drift"), "per-group")
    drifting = fg.load_task("drift")
    assert fg.oracle(replace(drifting, grid=[0.0, 0.5]).at(100), "per-group").best.reward > 0.0


def test_where_nothing_is_required_the_best_lottery_is_the_best_threshold() -> None:
    fico = fg.load_task("fico")
    free = fg.Task(fico.environment, fg.Problem(fico.problem.utility), fico.grid, "free")
    found = fg.oracle(free, "lottery").best
    assert found.feasible
    assert found.policy.thresholds.ravel().tolist() == [fg.oracle(free).best.threshold] * 2
