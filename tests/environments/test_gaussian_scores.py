"""GaussianScores: quadrature, tables, steady state, contraction, absent groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from fairgate.counts import Counts
from fairgate.environments import GaussianScores
from fairgate.environments.normal_scores import positive_mass
from tests.environments.worlds import RNG


def world(**changes: object) -> GaussianScores:
    settings: dict[str, object] = {
        "means": [-0.2, 0.3], "shares": [0.4, 0.6], "sd": [1.0, 0.7], "slope": 2.5, "midpoint": 0.1, "gain": 0.5,
        "rate": 0.1,
    }  # fmt: skip
    return GaussianScores(**(settings | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(("slope", "sd"), [(0.0, 1.0), (0.5, 2.0), (2.5, 0.4), (2.5, 1.0), (-3.0, 1.0), (8.0, 0.4)])
def test_quadrature_agrees_with_ten_times_as_many_nodes(slope: float, sd: float) -> None:
    mu = np.linspace(-2, 2, 9)[:, None]
    theta = np.concatenate([[-np.inf], np.linspace(-6, 6, 61), [np.inf]])[None, :]
    coarse = positive_mass(mu, theta, sd, slope, 0.3)
    fine = positive_mass(mu, theta, sd, slope, 0.3, refine=10)
    assert np.abs(coarse - fine).max() <= 1e-8


@pytest.mark.parametrize("slope", [0.5, 2.5, -3.0, 8.0, 40.0])
def test_the_tables_agree_with_the_quadrature(slope: float) -> None:
    environment = world(slope=slope, gain=0.9)
    rng = np.random.default_rng(0)
    state = np.asarray(environment.means) + rng.uniform(-0.45, 0.45, (500, 2))
    thresholds = rng.uniform(-8, 8, (500, 2))
    cells = environment.probabilities(state, thresholds) / np.asarray(environment.shares)[:, None, None]
    exact = positive_mass(state, thresholds, np.asarray(environment.sd), slope, environment.midpoint, refine=2)
    assert np.abs(cells[..., 1, 1] - exact).max() <= 1e-8


def test_a_state_the_loop_cannot_reach_is_integrated_all_the_same() -> None:
    environment = world()
    state, thresholds = np.array([[3.0, -4.0]]), np.array([[1.0, -3.5]])
    cells = environment.probabilities(state, thresholds) / np.asarray(environment.shares)[:, None, None]
    exact = positive_mass(state, thresholds, np.asarray(environment.sd), 2.5, 0.1, refine=2)
    assert np.abs(cells[..., 1, 1] - exact).max() <= 1e-8


@given(
    st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=2),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2),
    st.floats(0.0, 2.0),
)
def test_probabilities_sum_to_one_and_acceptance_falls_with_the_threshold(
    shift: list[float], thresholds: list[float], more: float
) -> None:
    environment = world()
    state = environment.start(1) + np.array([shift])
    theta = np.array([thresholds])
    cells = environment.probabilities(state, theta)
    assert (cells >= 0).all()
    assert cells.sum() == pytest.approx(1.0, abs=1e-12)
    higher = environment.probabilities(state, theta + more)
    assert (Counts(higher).accepted <= Counts(cells).accepted + 1e-9).all()


@pytest.mark.parametrize("gain", [0.5, 1.6, -1.2])
def test_the_steady_state_stands_still_and_a_long_loop_arrives_there(gain: float) -> None:
    environment = world(gain=gain)
    thresholds = np.array([[-1.0, -1.0], [0.0, 0.5], [1.5, 0.3]])
    state = environment.steady_state(thresholds)
    expected = Counts(environment.probabilities(state, thresholds))
    np.testing.assert_allclose(environment.update(state, expected, thresholds, RNG), state, atol=1e-12)
    wandering = environment.start(3)
    for _ in range(2000):
        wandering = environment.expected_update(wandering, thresholds)
    np.testing.assert_allclose(wandering, state, atol=1e-9)


def test_a_long_simulation_averages_to_the_steady_state() -> None:
    """Batches of 100,000: the mean over 40 loops lies within 6 standard errors, 4 figures (false alarm below 1e-6)."""
    environment = world()
    problem = fg.Problem(fg.Utility(1.0), [fg.ServiceRate(0.1, 0.9)])
    run = fg.simulate(fg.Task(environment, problem, [0.2]), fg.Fixed(0.2), rounds=400, seeds=40, batch=100_000)
    exact = problem.assess(
        environment.probabilities(environment.steady_state(np.full((1, 2), 0.2)), np.full((1, 2), 0.2))
    )
    for simulated, truth in ((run.batch.reward, exact.reward), (run.population.residuals[0], exact.residuals[0])):
        means = simulated[:, 200:].mean(axis=1)
        assert abs(means.mean() - truth[0]) <= 6 * means.std(ddof=1) / np.sqrt(len(means)) + 1e-6


def test_two_states_come_closer_at_least_as_fast_as_the_contraction_says() -> None:
    environment = world(gain=1.5, rate=0.3)
    rng = np.random.default_rng(1)
    one, other = (environment.start(200) + rng.uniform(-0.7, 0.7, (200, 2)) for _ in range(2))
    thresholds = rng.uniform(-1, 1, (200, 2))
    moved = [environment.expected_update(s, thresholds) for s in (one, other)]
    ratio = np.abs(moved[0] - moved[1]) / np.abs(one - other)
    assert ratio.max() <= environment.contraction() < 1


def test_a_group_absent_from_a_batch_does_not_move() -> None:
    environment = world()
    state = environment.start(1)
    moved = environment.update(state, Counts([[[[1, 2], [3, 4]], [[0, 0], [0, 0]]]]), np.zeros((1, 2)), RNG)
    assert moved[0, 1] == state[0, 1]
    assert moved[0, 0] != state[0, 0]


def test_gain_may_differ_by_replicate() -> None:
    both = world(gain=[0.2, 0.8])
    thresholds = np.array([[0.0, 0.0], [0.0, 0.0]])
    together = both.steady_state(thresholds)
    np.testing.assert_allclose(together[0], world(gain=0.2).steady_state(thresholds[:1])[0])
    np.testing.assert_allclose(together[1], both.rows(slice(1, 2)).steady_state(thresholds[:1])[0])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gain": 2.0}, r"gain must be within ±1.755 .* got 2.0"),
        ({"shares": [0.5, 0.6]}, "shares must be positive and sum to 1"),
        ({"sd": [1.0, 0.0]}, "sd must be positive"),
        ({"sd": [1.0]}, "sd must have one value per group, 2"),
        ({"means": [0.0, float("nan")]}, "means must be finite, got nan at position 1"),
        ({"rate": 0.0}, r"rate must be in \(0, 1\], got 0.0"),
        ({"slope": float("inf")}, "slope must be finite"),
        ({"slope": -300.0}, r"slope must be within ±200 \(200 / sd\), got -300.0"),
        ({"shares": [1.0]}, r"shares must have one value per group, 2, got \[1.0\]"),
    ],
)
def test_bad_numbers_get_one_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        world(**changes)
