"""oracle: brute force, the paper's sampled sweep, what is refined, what is infeasible."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.thresholds import exact_sweep


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mve-s", "german", "compas"])
def test_the_best_point_is_the_best_of_a_long_deterministic_loop(name: str) -> None:
    """Iterating the expected update 3,000 times, threshold by threshold, finds the same point."""
    task = fg.load_task(name)
    best, reward = None, -np.inf
    for theta in task.thresholds:
        thresholds = np.full((1, task.environment.group_count), theta)
        state = task.environment.start(1)
        for _ in range(3000):
            moved = task.environment.expected_update(state, thresholds)
            if np.abs(moved - state).max() < 1e-14:
                break
            state = moved
        assessment = task.problem.assess(task.environment.probabilities(state, thresholds))
        if (assessment.residuals <= 0).all() and assessment.reward[0] > reward:
            best, reward = theta, assessment.reward[0]
    oracle = fg.oracle(task)
    assert oracle.best.threshold == best
    assert oracle.best.reward == pytest.approx(reward, abs=1e-9)
    assert oracle.best.feasible


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mve-s", "compas"])
def test_the_papers_sampled_sweep_agrees_within_its_noise(name: str) -> None:
    """Reward and acceptance of every threshold within 6 standard errors over 20 loops (false alarm below 1e-3), plus
    1e-4 for the curvature of MVE-S; the batch gap never lies below the exact one by more than that."""
    task = fg.load_task(name)
    loops, arms = 20, len(task.thresholds)
    sweeps = [fg.sampled_sweep(task, rounds=200, burn_in=200, repeats=1, seed=s) for s in range(loops)]
    exact = fg.oracle(task).sweep
    for figure in ("reward", "acceptance"):
        values = np.array([getattr(sweep, figure) for sweep in sweeps])
        error = values.std(axis=0, ddof=1) / np.sqrt(loops)
        assert (np.abs(values.mean(axis=0) - getattr(exact, figure)) <= 6 * error + 1e-4).all()
    gaps = np.array([sweep.gap for sweep in sweeps])
    error = gaps.std(axis=0, ddof=1) / np.sqrt(loops)
    assert (gaps.mean(axis=0) >= exact.gap - 6 * error - 1e-4).all()
    assert exact.reward.shape == (arms,)


def test_the_batch_gap_of_a_fair_threshold_is_noise(problem: fg.Problem) -> None:
    """Two identical groups: the exact gap is 0, the mean batch gap is sqrt(2/π)·sqrt(p(1−p)(1/n0+1/n1))."""
    environment = fg.environments.GaussianScores(
        means=[0.0, 0.0], shares=[0.5, 0.5], sd=[1.0, 1.0], slope=2.0, midpoint=0.0, gain=0.0, rate=0.1
    )
    task = fg.Task(environment, problem, [-0.5, 0.5])
    assert fg.oracle(task).sweep.gap.max() < 1e-12
    sampled = fg.sampled_sweep(task, rounds=2000, burn_in=0, repeats=5)
    p = sampled.acceptance
    floor = np.sqrt(2 / np.pi) * np.sqrt(p * (1 - p) * (2 / 128))
    np.testing.assert_allclose(sampled.gap, floor, rtol=0.03)


def test_refining_never_loses_and_stays_feasible(small_task: fg.Task) -> None:
    for task in (small_task, fg.load_task("compas"), fg.load_task("mve-s")):
        found = fg.oracle(task)
        assert found.refined.feasible
        assert found.refined.reward >= found.best.reward
        assert task.thresholds[0] <= found.refined.threshold <= task.thresholds[-1]


def test_the_refined_point_is_the_continuous_optimum(gaussian: fg.environments.GaussianScores) -> None:
    """Without constraints the slope of reward vanishes there; a grid of 1e-5 finds nothing better."""
    task = fg.Task(gaussian, fg.Problem(fg.Utility(1.0)), np.linspace(-2, 2, 9))
    refined = fg.oracle(task).refined
    around = exact_sweep(task, refined.threshold + np.linspace(-0.02, 0.02, 4001))
    assert refined.reward >= around.reward.max() - 1e-10


def test_where_nothing_is_feasible_the_least_violating_threshold_is_given() -> None:
    found = fg.oracle(fg.load_task("compas-strict"))
    exact = found.sweep
    if found.best.feasible:  # whether it is depends on the presets, and is stated in docs/reproduction.md
        assert (np.array(found.best.residuals) <= 1e-12).all()
    tight = fg.Task(
        fg.load_task("mve-s").environment,
        fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.0), fg.ServiceRate(0.4, 0.6)]),
        np.linspace(-2, 2, 21),
    )
    least = fg.oracle(tight).best
    assert not least.feasible
    violations = np.maximum(fg.oracle(tight).sweep.residuals, 0).sum(axis=0)
    assert sum(max(g, 0) for g in least.residuals) == pytest.approx(violations.min())
    assert "infeasible" in str(least)
    assert len(exact.thresholds) == len(fg.load_task("compas-strict").thresholds)


def test_a_sweep_of_settings_must_be_cut_first(gaussian: fg.environments.GaussianScores) -> None:
    problem = fg.Problem(fg.Utility(1.0), [fg.DemographicParity([0.05, 0.2])])
    task = fg.Task(gaussian, problem, np.linspace(-2, 2, 9))
    with pytest.raises(fg.InputError, match="needs one setting, but the task has 2"):
        fg.oracle(task)
    assert fg.oracle(task.rows(slice(1, 2))).best.reward >= fg.oracle(task.rows(slice(0, 1))).best.reward
