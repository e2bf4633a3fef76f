"""Learners of counts: the same plays in NumPy and JAX, and in law what the loop for arrays plays."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.loops.simulation import simulate
from tests.core.learners.cases import LEARNERS

pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")

LOOPS = 200


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_numpy_and_jax_play_the_same(name: str) -> None:
    task, learner = fg.load_task("interior"), fg.load_learner(name)
    compiled, plain = (simulate(task, learner, rounds=60, seeds=2, library=library) for library in ("jax", "numpy"))
    assert isinstance(compiled, fg.Run)
    assert isinstance(plain, fg.Run)
    np.testing.assert_allclose(compiled.policies.thresholds, plain.policies.thresholds, atol=1e-12)
    np.testing.assert_allclose(compiled.policies.weights, plain.policies.weights, atol=1e-12)
    np.testing.assert_array_equal(compiled.counts, plain.counts)
    for trace, values in plain.traces.items():
        np.testing.assert_allclose(compiled.traces[trace], values, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("task_name", ["interior", "german"])
@pytest.mark.parametrize("name", LEARNERS)
def test_in_law_it_is_the_loop_for_arrays(name: str, task_name: str) -> None:
    """Of 100 comparisons one beyond 4 standard errors is a chance of 1 in 160."""
    task, learner = fg.load_task(task_name), fg.load_learner(name, task=task_name)
    found = simulate(task, learner, rounds=300, seeds=LOOPS, keep="summary", library="jax").per_replicate()
    wanted = fg.simulate(task, learner, rounds=300, seeds=LOOPS, seed=1, keep="summary").per_replicate()
    for figure in ("reward", "population_reward", "violation", "population_violation"):
        error = np.sqrt((wanted[figure].var() + found[figure].var()) / LOOPS)
        assert abs(found[figure].mean() - wanted[figure].mean()) <= 4.0 * error + 1e-9, figure
