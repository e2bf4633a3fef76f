"""Counts and the sampler: exact in law, and the same numbers as fairlearn's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import chi2_contingency

import fairgate as fg
from fairgate.counts import Counts, draw
from tests.reference import people, tabulate

FALSE_ALARM = 1e-4


@pytest.mark.parametrize("world", ["gaussian", "pools"])
@pytest.mark.parametrize(
    ("shift", "thresholds"),
    [(0.0, (0.0, 0.0)), (0.15, (-1.0, 0.5)), (-0.2, (0.8, -3.0)), (0.1, (50.0, 50.0))],
    ids=["middle", "per group", "one group all accepted", "nobody accepted"],
)
def test_a_batch_has_the_same_law_as_people_drawn_one_by_one(
    world: str, shift: float, thresholds: tuple[float, float], request: pytest.FixtureRequest
) -> None:
    """Chi-square over every composition of a batch of 3 people into the 8 cells, batches without a group included."""
    environment: fg.environments.Environment = request.getfixturevalue(world)
    state = environment.start(1) + shift
    theta = np.array([thresholds])
    rng = np.random.default_rng(11)
    batches, size = 6000, 3
    groups, scores, labels = people(environment, state[0], batches * size, rng)
    decisions = (scores >= theta[0, groups]).astype(int)
    slow: Counter[bytes] = Counter()
    for start in range(0, batches * size, size):
        part = slice(start, start + size)
        slow[tabulate(groups[part], labels[part], decisions[part], 2).tobytes()] += 1
    probabilities = np.repeat(environment.probabilities(state, theta), batches, axis=0)
    fast = Counter(cells.tobytes() for cells in draw(probabilities, size, rng))

    def lacks_a_group(outcome: bytes) -> bool:
        return bool((np.frombuffer(outcome, dtype=np.int64).reshape(2, 2, 2).sum(axis=(1, 2)) == 0).any())

    assert any(lacks_a_group(outcome) for outcome in slow)
    assert any(lacks_a_group(outcome) for outcome in fast)
    outcomes = sorted(slow.keys() | fast.keys())
    table = np.array([[sample[outcome] for outcome in outcomes] for sample in (slow, fast)])
    rare = table.sum(axis=0) < 20  # pooled, so that the chi-square approximation holds
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.parametrize("world", ["gaussian", "pools"])
def test_rates_equal_fairlearns_on_sampled_people(world: str, request: pytest.FixtureRequest) -> None:
    environment: fg.environments.Environment = request.getfixturevalue(world)
    rng = np.random.default_rng(3)
    groups, scores, labels = people(environment, environment.start(1)[0], 500, rng)
    decisions = (scores >= 0.2).astype(int)
    counts = Counts(tabulate(groups, labels, decisions, 2)[None])
    frame = MetricFrame(metrics=selection_rate, y_true=labels, y_pred=decisions, sensitive_features=groups)
    np.testing.assert_allclose(counts.rates[0], frame.by_group.to_numpy())
    np.testing.assert_allclose(counts.overall[0], frame.overall)
    gap = demographic_parity_difference(labels, decisions, sensitive_features=groups)
    np.testing.assert_allclose(counts.gap[0], gap)


def test_a_missing_group_has_no_rate_and_makes_no_gap() -> None:
    counts = Counts([[[[2, 1], [3, 4]], [[0, 0], [0, 0]]]])
    assert np.isnan(counts.rates[0, 1])
    assert counts.gap[0] == 0.0
    assert counts.overall[0] == 0.5


def test_with_three_groups_the_gap_is_largest_minus_smallest_of_those_present() -> None:
    cells = [[[[8, 2], [0, 0]], [[5, 5], [0, 0]], [[0, 0], [0, 0]], [[1, 9], [0, 0]]]]
    assert Counts(cells).gap[0] == pytest.approx(0.7)


def test_cells_of_another_shape_are_refused() -> None:
    with pytest.raises(fg.InputError, match=r"cells must have shape \(…, groups, 2, 2\), got \(2, 3\)"):
        Counts(np.zeros((2, 3)))


@given(hnp.arrays(np.int64, (3, 2, 2, 2), elements=st.integers(0, 50)))
def test_counts_and_their_shares_give_the_same_signals(cells: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    """`assess` works on sampled counts and on probabilities alike."""
    cells[:, 0, 0, 0] += 1  # nobody at all is no batch
    problem = fg.Problem(fg.Utility(0.7), [fg.DemographicParity(0.1), fg.ServiceRate(0.2, 0.8)])
    from_counts = problem.assess(cells)
    from_shares = problem.assess(cells / cells.sum(axis=(1, 2, 3), keepdims=True))
    np.testing.assert_allclose(from_counts.reward, from_shares.reward, atol=1e-12)
    np.testing.assert_allclose(from_counts.residuals, from_shares.residuals, atol=1e-12)
