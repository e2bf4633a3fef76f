"""Statistics against slow references, scipy and their definitions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean, wilcoxon

import fairgate as fg
from fairgate.statistics import (
    difference,
    holm,
    improvement,
    iqm,
    overall_iqm,
    paired_test,
    probability_of_improvement,
    stratified_bootstrap,
)

P_VALUES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (4, 2), (7, 3), (100, 15)])
def test_iqm_is_scipys_trimmed_mean_of_everything(shape: tuple[int, int]) -> None:
    scores = np.random.default_rng(1).normal(size=shape)
    assert float(iqm(scores)) == pytest.approx(trim_mean(scores.ravel(), 0.25))
    np.testing.assert_allclose(iqm(scores, axis=0), trim_mean(scores, 0.25, axis=0))
    stacked = np.stack([scores, scores + 1.0])
    np.testing.assert_allclose(overall_iqm(stacked), [iqm(scores), iqm(scores) + 1.0])


def test_bootstrap_resamples_runs_within_tasks_and_pairs_together() -> None:
    """Between tasks that differ by far more than runs do, the interval stays as narrow as the runs are."""
    rng = np.random.default_rng(2)
    scores = rng.normal(scale=0.1, size=(20, 4)) + np.arange(0.0, 40.0, 10.0)
    found = stratified_bootstrap(lambda x: x.mean(axis=(-2, -1)), scores, rng=np.random.default_rng(3))
    assert found.value == pytest.approx(scores.mean())
    error = np.sqrt((scores.var(axis=0) / 20).mean() / 4)  # of a mean of means of runs
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    noise = rng.normal(scale=5.0, size=(20, 1))  # shared by both, so it cancels in pairs
    gap = difference(scores + noise - 0.5, scores + noise, rng=np.random.default_rng(4))
    assert (gap.low, gap.high) == pytest.approx((-0.5, -0.5))


def test_the_same_seed_gives_the_same_interval() -> None:
    scores = np.random.default_rng(5).normal(size=(9, 2))
    one, other = (stratified_bootstrap(overall_iqm, scores, rng=np.random.default_rng(6)) for _ in range(2))
    assert one == other


def test_bootstrap_interval_of_the_iqm_covers_it() -> None:
    """95% intervals of 30 runs × 4 tasks, 400 times.

    A percentile interval of so few runs covers a little less than it promises: about 0.93. If it covers between 0.92
    and 0.96, fewer than 355 or more than 396 of 400 covered happen with probability below 0.009 (binomial).
    """
    rng = np.random.default_rng(7)
    means = np.array([0.0, 0.5, 1.0, 4.0])
    truth = float(iqm(rng.normal(means, size=(500_000, 4))))
    covered = 0
    for _ in range(400):
        found = stratified_bootstrap(overall_iqm, rng.normal(means, size=(30, 4)), rng=rng, resamples=300)
        covered += found.low <= truth <= found.high
    assert 355 <= covered <= 396


def test_probability_of_improvement_counts_pairs_of_runs() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.integers(5, size=(6, 3)), rng.integers(5, size=(6, 3))
    slow = np.mean(
        [
            np.mean([1.0 if a < b else 0.5 if a == b else 0.0 for a, b in product(x[:, task], y[:, task])])
            for task in range(3)
        ]
    )
    found = probability_of_improvement(x, y, rng=rng)
    assert found.value == pytest.approx(slow)
    assert improvement(x, y) == pytest.approx(slow)
    assert improvement(x, y) + improvement(y, x) == pytest.approx(1.0)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert probability_of_improvement(x - 9, y, rng=rng)[:3] == pytest.approx((1.0, 1.0, 1.0))


def test_interval_of_the_probability_of_improvement_is_that_of_plain_resampling() -> None:
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(12, 2)), rng.normal(0.5, size=(12, 2))

    def plain() -> float:
        rows = rng.integers(12, size=(12, 2))
        columns = np.arange(2)
        return improvement(x[rows, columns], y[rows, columns])

    slow = np.quantile([plain() for _ in range(4000)], [0.025, 0.975])
    found = probability_of_improvement(x, y, rng=rng, resamples=20_000)
    np.testing.assert_allclose([found.low, found.high], slow, atol=0.02)


def test_paired_test_is_wilcoxons_and_knows_when_nothing_differs() -> None:
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(30, 2)), rng.normal(0.3, size=(30, 2))
    expected = [wilcoxon(x[:, task] - y[:, task], alternative="less").pvalue for task in range(2)]
    np.testing.assert_allclose(paired_test(x, y), expected)
    assert paired_test(x, x).tolist() == [1.0, 1.0]


@given(P_VALUES)
def test_holm_rejects_what_its_definition_rejects(p_values: list[float]) -> None:
    """Step down from the smallest p: reject while p_(i) ≤ α / (m − i + 1), stop at the first that is not."""
    corrected = holm(p_values)
    for alpha in (0.01, 0.05, 0.3):
        rejected = set()
        for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if p_values[index] * (len(p_values) - step) > alpha:
                break
            rejected.add(index)
        assert set(np.flatnonzero(corrected <= alpha).tolist()) == rejected
    assert ((corrected >= p_values) & (corrected <= 1.0)).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: holm([0.5, 1.5]), "p_values must be a list of numbers in"),
        (lambda: paired_test([[1.0], [2.0]], [[1.0]]), "must have as many runs and tasks each"),
        (lambda: improvement([[np.nan]], [[1.0]]), "scores must be finite"),
        (lambda: difference([[1.0]], [[1.0]], rng=np.random.default_rng(0), level=1.0), "level must be in (0, 1)"),
        (lambda: difference([[1.0]], [[1.0]], rng=np.random.default_rng(0), resamples=0), "resamples must be a whole"),
    ],
)
def test_bad_input_is_said(call: object, sentence: str) -> None:
    assert callable(call)
    with pytest.raises(fg.InputError) as raised:
        call()
    assert sentence in str(raised.value)
