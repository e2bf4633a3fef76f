"""Loops written for one, compiled for many: the same in both libraries, and in law what the loop for arrays plays."""

from __future__ import annotations

import numpy as np
import pytest

import fairgate as fg
from fairgate.loops.simulation import Size, simulate

pytest.importorskip("jax", reason="JAX is not installed: pip install 'fairgate[sim]'")


@pytest.mark.parametrize("name", ["german", "compas"])
def test_numpy_and_jax_play_the_same(name: str) -> None:
    task, learner = fg.load_task(name), fg.load_learner("ofs", task=name)
    compiled = simulate(task, learner, rounds=200, seeds=4, library="jax")
    plain = simulate(task, learner, rounds=200, seeds=4, library="numpy")
    assert isinstance(compiled, fg.Run)
    assert isinstance(plain, fg.Run)
    np.testing.assert_array_equal(compiled.counts, plain.counts)
    np.testing.assert_array_equal(compiled.thresholds, plain.thresholds)
    np.testing.assert_allclose(compiled.probabilities, plain.probabilities, atol=1e-12)
    np.testing.assert_array_equal(compiled.traces["feasible"], plain.traces["feasible"])


def test_a_longer_simulation_begins_with_a_shorter_one() -> None:
    task = fg.load_task("german")
    short = simulate(task, fg.OFS(), rounds=40, seeds=2, library="numpy")
    long = simulate(task, fg.OFS(), rounds=60, seeds=3, library="numpy")
    assert isinstance(short, fg.Run)
    assert isinstance(long, fg.Run)
    np.testing.assert_array_equal(long.counts[:2, :40], short.counts)


def test_a_summary_has_the_figures_of_the_run() -> None:
    task = fg.load_task("compas")
    whole = simulate(task, fg.OFS(), rounds=120, seeds=130, library="jax")
    line = simulate(task, fg.OFS(), rounds=120, seeds=130, library="jax", keep="summary")
    assert isinstance(whole, fg.Run)
    for name, values in whole.per_replicate().items():
        np.testing.assert_allclose(line.per_replicate()[name], values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", ["german", "compas"])
def test_in_law_it_is_the_loop_for_arrays(name: str) -> None:
    """Means of 2,000 loops each; of 16 comparisons one beyond 4.5 standard errors is a chance of 1 in 9,000."""
    task, learner = fg.load_task(name), fg.load_learner("ofs", task=name)
    found = simulate(task, learner, rounds=300, seeds=2000, keep="summary", library="jax").per_replicate()
    wanted = fg.simulate(task, learner, rounds=300, seeds=2000, seed=1, keep="summary").per_replicate()
    for figure, values in wanted.items():
        error = np.sqrt(values.var() / len(values) + found[figure].var() / len(values))
        assert abs(found[figure].mean() - values.mean()) <= 4.5 * error, figure


def test_32_bits_have_the_same_law() -> None:
    task = fg.load_task("german")
    found, wanted = (
        simulate(task, fg.OFS(), rounds=200, seeds=500, keep="summary", library="jax", size=Size(bits=bits))
        for bits in (32, 64)
    )
    for name, values in wanted.per_replicate().items():
        other = found.per_replicate()[name]
        error = np.sqrt((values.var() + other.var()) / len(values))
        assert abs(other.mean() - values.mean()) <= 4.5 * error, name


def test_no_result_depends_on_threads_or_blocks() -> None:
    task = fg.load_task("german")
    found, wanted = (
        simulate(task, fg.OFS(), rounds=60, seeds=23, keep="summary", library="jax", size=size)
        for size in (Size(workers=2, together=5), Size())
    )
    for name, values in wanted.per_replicate().items():
        np.testing.assert_array_equal(found.per_replicate()[name], values, err_msg=name)


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(fg.InputError, match="int must have the methods start, propose and observe"):
        simulate(fg.load_task("german"), 5, rounds=5, seeds=1, library="numpy")
    with pytest.raises(fg.InputError, match="library must be one of jax, numpy, got 'torch'"):
        simulate(fg.load_task("german"), fg.OFS(), rounds=5, seeds=1, library="torch")
