"""The regression foretells steady states: exactly where the model is exact, and else with honest errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import fairgate as fg
from fairgate.learners.response import RATES, ResponseState, absorb, blank, fit, foresee, forget
from fairgate.learners.state import State
from fairgate.policy import Lottery
from tests.reference import step

Array = NDArray[np.float64]


def coin(chance: float, replicates: int, groups: int) -> Lottery:
    ends = np.array([-np.inf, np.inf])[:, None, None] * np.ones((1, replicates, groups))
    return Lottery(ends, np.array([[chance], [1 - chance]]).repeat(replicates, axis=1))


def remember(task: fg.Task, replicates: int) -> ResponseState:
    groups = task.environment.group_count
    common = State(np.random.default_rng(0), task.problem, task.thresholds, replicates, groups, 0)
    return ResponseState(**vars(common), **blank(replicates, groups, len(task.thresholds)))  # type: ignore[arg-type]


def listen(task: fg.Task, state: ResponseState, rounds: int, rng: np.random.Generator | None) -> None:
    """Play a swinging coin; without random numbers every batch is a million people exactly as expected."""
    world = task.environment.start(state.replicates)
    for t in range(rounds):
        policy = coin((0.9, 0.4)[t // 15 % 2], state.replicates, state.groups)
        if rng is None:
            cells: NDArray[Any] = task.environment.cells(world, policy, task.thresholds) * 1e6
            counts, unheard = fg.Counts(cells.sum(axis=2)), np.full_like(world, np.nan)
            world = task.environment.update(world, counts, unheard, np.random.default_rng(0))
        else:
            world, cells = step(task.environment, world, policy, 256, rng, task.thresholds)
        seen = task.problem.reveal(cells, "selective-labels").observation
        assert seen is not None
        absorb(state, seen)


def truth(task: fg.Task) -> tuple[Array, Array]:
    """Rates and accepted positives of every group at every threshold's steady state, (G, K)."""
    shared = np.repeat(task.thresholds[:, None], task.environment.group_count, axis=1)
    cells = task.environment.probabilities(task.environment.steady_state(shared), shared)
    people = cells.sum(axis=(2, 3))
    return fg.Counts(cells).rates.T, (cells[..., 1, 1] / people).T


def test_mixed_pools_are_foretold_exactly_from_a_coin_alone(pools: fg.environments.ScorePools) -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)])
    task = fg.Task(pools, problem, np.linspace(-2, 2, 15), "pools")
    state = remember(task, 1)
    listen(task, state, 60, None)
    found = fit(state, np.array([0]), benefit=0.0)
    assert RATES[found.chosen] == [0.1]  # the rate of these pools
    outlook = foresee(state, np.array([0]), found)
    rates, positives = truth(task)
    np.testing.assert_allclose(outlook.rates[0], rates, atol=1e-4)
    # within a bin that the pools' border cuts, the share of positives depends on the state: near, not exact
    np.testing.assert_allclose(outlook.positives[0], positives, atol=0.02)


def test_normal_scores_are_foretold_nearly() -> None:
    task = fg.load_task("interior")
    state = remember(task, 1)
    listen(task, state, 60, None)
    outlook = foresee(state, np.array([0]), fit(state, np.array([0]), benefit=0.0))
    rates, positives = truth(task)
    np.testing.assert_allclose(outlook.rates[0], rates, atol=2e-3)
    np.testing.assert_allclose(outlook.positives[0], positives, atol=2e-3)
    everybody = task.environment.cells(task.environment.start(1), task.thresholds[[0]][:, None].repeat(2, axis=1))
    assert abs(outlook.all_positives[0, 0].mean() - 2 * everybody[0, 0, 1].sum()) < 0.05


def test_standard_errors_tell_how_far_off_forecasts_are() -> None:
    """Over 200 loops, where the coin has been, the mean squared standardised error is near 1: within a factor of 2."""
    task = fg.load_task("interior")
    state = remember(task, 200)
    listen(task, state, 120, np.random.default_rng(3))
    outlook = foresee(state, np.arange(200), fit(state, np.arange(200), benefit=0.0))
    rates, _ = truth(task)
    inner = (rates > 0.35) & (rates < 0.95)
    squared = (((outlook.rates - rates) / outlook.error) ** 2).mean(axis=0)[inner]
    assert 0.5 < squared.min() < squared.max() < 2.0


def test_forgetting_some_replicates_leaves_the_others_alone() -> None:
    task = fg.load_task("interior")
    state = remember(task, 3)
    listen(task, state, 20, np.random.default_rng(0))
    before = {name: np.copy(getattr(state, name)) for name in blank(1, 2, 41)}
    forget(state, np.array([1]))
    for name, start in blank(1, 2, 41).items():
        axis = -2 if name in ("heard", "gram", "cross") else 0
        now = getattr(state, name)
        np.testing.assert_array_equal(np.take(now, [1], axis=axis), start)
        np.testing.assert_array_equal(np.take(now, [0, 2], axis=axis), np.take(before[name], [0, 2], axis=axis))
