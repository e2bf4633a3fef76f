"""Large batches: each count has its binomial distribution, in both libraries the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fairgate as fg
from fairgate.core.binomials import binomial, draw_many
from fairgate.loops.simulation import simulate
from fairgate.random import Draws, key_of

MANY = 100_000


@pytest.mark.parametrize(
    ("trials", "chance"),
    [(10_000, 0.3), (10_000, 0.0005), (5, 0.4), (40, 0.5), (1000, 0.97), (23, 0.44), (1_000_000, 0.2)],
)
def test_a_count_has_its_binomial_distribution(trials: int, chance: float) -> None:
    """A chi-squared test of up to 40 classes; with these random numbers, which never change, it holds."""
    counts = binomial(np.full(MANY, float(trials)), np.full(MANY, chance), Draws.of(1, 0, 0), start=MANY)
    wanted = stats.binom(trials, chance)
    ends = np.unique(np.round(np.linspace(wanted.ppf(1e-4), wanted.ppf(1 - 1e-4), 40)))
    seen = np.histogram(counts, np.concatenate(([-0.5], ends + 0.5, [trials + 1])))[0]
    due = MANY * np.diff(np.concatenate(([0.0], wanted.cdf(ends), [1.0])))
    large = due > 5
    assert stats.chi2.sf(((seen - due)[large] ** 2 / due[large]).sum(), large.sum() - 1) > 1e-3


def test_what_is_certain_is_certain() -> None:
    trials, chance = np.array([100.0, 100.0, 0.0, 20_000.0]), np.array([0.0, 1.0, 0.4, 1.0])
    np.testing.assert_array_equal(binomial(trials, chance, Draws.of(1, 0, 0)), [0.0, 100.0, 0.0, 20_000.0])


def test_cells_of_probability_zero_stay_empty_and_all_are_counted() -> None:
    chances = np.array([0.0, 0.2, 0.0, 0.3, 0.5 - 1e-12, 0.0, 1e-12])
    for number in range(50):
        counts = draw_many(chances, 20_000, Draws.of(4, 0, number))
        assert counts.sum() == 20_000
        assert (counts[chances == 0.0] == 0.0).all()
        assert (counts >= 0.0).all()


def test_cells_vary_together_as_they_should() -> None:
    """Means and covariances of 4,000 batches, within 5 standard errors of a multinomial distribution's."""
    chances = np.random.default_rng(0).dirichlet(np.ones(12)).reshape(2, 3, 2)
    counts = np.stack([draw_many(chances, 2000, Draws.of(2, 0, number)).ravel() for number in range(4000)])
    flat = chances.ravel()
    spread = 2000 * (np.diag(flat) - np.outer(flat, flat))
    assert (np.abs(counts.mean(axis=0) - 2000 * flat) < 5 * np.sqrt(np.diag(spread) / 4000)).all()
    error = np.sqrt((spread**2 + np.outer(np.diag(spread), np.diag(spread))) / 4000)
    assert (np.abs(np.cov(counts.T) - spread) < 5 * error).all()


def test_both_libraries_draw_the_same() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")
    chances = np.random.default_rng(1).dirichlet(np.ones(40)).reshape(2, 10, 2)
    with jax.enable_x64(True):
        draws = Draws(jax.numpy.asarray(key_of(3)), *(jax.numpy.zeros(1, dtype=np.uint32) for _ in range(2)))
        found = jax.jit(lambda given: draw_many(given, 5000, draws))(chances)
    np.testing.assert_array_equal(found, draw_many(chances, 5000, Draws.of(3, 0, 0)))


def test_a_task_with_large_batches() -> None:
    """Exact acceptance and that of batches of 20,000 agree."""
    task = fg.load_task("german")
    run = simulate(task, fg.Fixed(float(task.thresholds[20])), rounds=20, seeds=2, batch=20_000, library="numpy")
    assert isinstance(run, fg.Run)
    assert (run.counts.sum(axis=(2, 3, 4)) == 20_000).all()
    error = np.sqrt(run.probabilities * (1.0 - run.probabilities) / 20_000)
    assert (np.abs(run.counts / 20_000 - run.probabilities) <= 5 * error + 1e-12).all()


def test_rounding_of_one_half_does_not_change_what_is_drawn() -> None:
    halves = np.array([0.5, np.nextafter(0.5, 0.0), np.nextafter(0.5, 1.0)])
    found = [binomial(np.array([10_000.0]), halves[k : k + 1], Draws.of(1, 2, 3)) for k in range(3)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
