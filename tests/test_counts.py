"""Counts and the sampler: exact in law, and the same numbers as fairlearn's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, demographic_parity_difference, selection_rate
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import chi2_contingency

import fairgate as fg
from fairgate.constraints import Budget, DemographicParity, DisparateImpact, GroupService, ServiceRate
from fairgate.counts import Counts, Decisions, draw
from fairgate.errors import InputError
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


def test_people_are_counted_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    grid = np.array([-1.0, 0.0, 1.5])
    scores, groups, labels = rng.normal(size=300), rng.integers(3, size=300), rng.integers(2, size=300)
    scores[:5] = 0.0  # who scores a threshold is above it
    decisions = scores >= 0.0
    cells = np.zeros((1, 3, 4, 2, 2), dtype=int)
    for score, group, label, decision in zip(scores, groups, labels, decisions, strict=True):
        cells[0, group, sum(score >= threshold for threshold in grid), label, int(decision)] += 1
    found = Counts.of_people(scores, groups, decisions, labels, grid=grid, group_count=3)
    np.testing.assert_array_equal(found.binned, cells)
    np.testing.assert_array_equal(found.cells, cells.sum(axis=2))
    late = Counts.of_people(scores, groups, labels=labels, grid=grid, group_count=3)  # all were accepted
    np.testing.assert_array_equal(late.cells[..., 1], cells.sum(axis=(2, 4)))
    assert Counts.of_people([], [], grid=[0.0], group_count=2).people.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"groups": [0, 2]}, "groups must be 0 or 1, got 2 at position 1"),
        ({"labels": [0.5, 1]}, "labels must be 0 or 1, got 0.5 at position 0"),
        ({"decisions": [True]}, r"decisions must have one entry per person, 2, got shape \(1,\)"),
        ({"scores": [0.1, float("nan")]}, "scores must be numbers, got nan at position 1"),
    ],
)
def test_people_who_cannot_be_counted_are_one_sentence(changed: dict[str, Any], sentence: str) -> None:
    given: dict[str, Any] = {"scores": [0.1, 0.9], "groups": [0, 1], "grid": [0.5], "group_count": 2, "labels": [0, 1]}
    with pytest.raises(InputError, match=sentence):
        Counts.of_people(**(given | changed))


def test_a_batch_of_nobody_has_no_rates_and_no_warnings() -> None:
    nobody = Counts(np.zeros((2, 3, 2, 2)))
    assert np.isnan(nobody.overall).all()
    assert np.isnan(nobody.rates).all()


@given(st.integers(0, 1000), st.integers(2, 8))
def test_decisions_alone_read_as_all_cells_do(seed: int, groups: int) -> None:
    """Of lotteries × replicates, with settings by replicate; and a constraint of one's own may still look at cells."""
    rng = np.random.default_rng(seed)
    rates, shares = rng.random((5, 3, groups)), rng.dirichlet(np.ones(groups), size=3) + 0.01
    decisions = Decisions(shares, rates)
    whole = Counts.of_decisions(np.broadcast_to(shares, rates.shape), shares * rates)
    limit = np.array([0.1, 0.2, 0.3])
    for constraint in (
        DemographicParity(limit),
        DisparateImpact(1.0 - limit),
        ServiceRate(limit, 0.8),
        Budget(limit),
        GroupService(limit, 0.9),
    ):
        for one, other in zip(constraint.residuals(decisions), constraint.residuals(whole), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
    assert decisions.shape == whole.shape == (5, 3)
    np.testing.assert_allclose(decisions.people, whole.people)
    np.testing.assert_allclose(decisions.cells, whole.cells)
