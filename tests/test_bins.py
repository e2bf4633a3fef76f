"""Bins: the fast counts of people by score bin are those of a plain reference, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.bins import _merge, decided, tally_by_threshold, tally_cells
from fairgate.counts import over_bins
from fairgate.nature import Nature
from fairgate.policy import Policy
from tests.reference import tally

GRID = np.linspace(-1.0, 1.0, 21)


def labelled(replicates: int, groups: int, seed: int) -> Any:
    """P(group, bin, label) of which a third are 0."""
    rng = np.random.default_rng(seed)
    drawn = rng.random((replicates, groups, len(GRID) + 1, 2)) * (
        rng.random((replicates, groups, len(GRID) + 1, 2)) > 0.3
    )
    return drawn / drawn.sum(axis=(1, 2, 3), keepdims=True)


def thresholds(replicates: int, groups: int, seed: int) -> Any:
    ends = np.concatenate(([-np.inf], GRID, [np.inf]))
    return np.random.default_rng(seed).choice(ends, size=(replicates, groups))


@pytest.mark.parametrize(
    ("replicates", "groups", "people"),
    [(1, 1, 1), (1, 2, 7), (5, 3, 256), (40, 2, 1000), (60, 1, 256), (40, 3, 200), (20, 6, 256), (90, 4, 1)],
)
def test_people_are_counted_as_by_the_reference(replicates: int, groups: int, people: int) -> None:
    bins, numbers = labelled(replicates, groups, people), Nature(2).people(replicates, people)
    policy = Policy.of(thresholds(replicates, groups, 3))
    share = policy.accepted_share(GRID)
    expected = tally(decided(bins, share), numbers)
    np.testing.assert_array_equal(tally_cells(decided(bins, share), numbers), expected)
    np.testing.assert_array_equal(tally_by_threshold(bins, share, numbers), expected)
    lottery = np.random.default_rng(4).random(share.shape)
    np.testing.assert_array_equal(tally_cells(decided(bins, lottery), numbers), tally(decided(bins, lottery), numbers))


@pytest.mark.parametrize("replicates", [1, 500])
def test_nobody_falls_into_a_cell_of_no_probability_at_its_ends(replicates: int) -> None:
    """Numbers that lie just on the ends of cells: a person belongs to the cell that begins there."""
    bins = np.tile([[[[0.25, 0.25], [0.0, 0.0], [0.25, 0.25]]]], (replicates, 1, 1, 1))
    numbers = np.tile(np.array([[0, 2**30 - 1, 2**30, 2**31, 2**32 - 1]], dtype=np.uint32), (replicates, 1))
    found = tally_by_threshold(bins, np.ones((replicates, 1, 3)), numbers)
    for each in found:
        assert each[0, :, :, 1].tolist() == [[2, 1], [0, 0], [1, 1]]
    assert not found[..., 0].any()


def test_people_and_ends_that_differ_in_the_last_bit_alone_are_told_apart() -> None:
    """Sorted together they cannot be, so they are looked for one by one; all orders of people count alike."""
    bins, rng = labelled(200, 1, 8), np.random.default_rng(9)
    share = np.ones(bins.shape[:3])
    ends = np.floor(bins.swapaxes(2, 3).reshape(200, -1).cumsum(axis=1) * 2.0**32)
    numbers = np.maximum(np.where(ends < 2**32 - 2, ends, 5.0) + rng.integers(-1, 2, ends.shape), 0.0).astype(np.uint32)
    expected = tally(decided(bins, share), np.sort(numbers, axis=1))
    np.testing.assert_array_equal(tally_by_threshold(bins, share, rng.permuted(numbers, axis=1)), expected)


@pytest.mark.parametrize("replicates", [3, 200])
def test_the_last_person_is_in_the_last_cell_that_is_possible(replicates: int) -> None:
    """Probabilities sum to 1 but for rounding, and cells of probability 0 follow."""
    bins = labelled(replicates, 1, 11)
    bins[:, :, -5:, 1] = 0.0
    bins /= bins.sum(axis=(1, 2, 3), keepdims=True)
    found = tally_by_threshold(bins, np.ones(bins.shape[:3]), np.full((replicates, 1), 2**32 - 1, dtype=np.uint32))
    assert found.sum() == replicates
    assert (bins[found[..., 1] > 0] > 0.0).all()


def test_people_are_sorted_with_the_ends_of_cells_in_nearly_every_round() -> None:
    bins, people = labelled(100, 2, 1), Nature(5).everybody(100, 256)
    ends = (bins.reshape(100, -1).cumsum(axis=1) * 2.0**32).astype(np.int64)
    assert _merge(ends, people) is not None


@pytest.mark.parametrize("coupling", ["common", "independent"])
def test_lotteries_and_thresholds_side_by_side_meet_the_people_of_a_plain_draw(coupling: str) -> None:
    bins, first = labelled(12, 2, 5), thresholds(12, 2, 6)
    weights = np.where(np.arange(12) % 3 == 0, 0.25, np.where(np.arange(12) % 3 == 1, 1.0, 0.0))
    policy = Policy(np.stack((first, thresholds(12, 2, 7))), np.stack((weights, 1.0 - weights)))
    cells = decided(bins, policy.accepted_share(GRID))
    found, probabilities = Nature(1, coupling=coupling).draw_bins(bins, policy, GRID, people=256)
    np.testing.assert_array_equal(found, Nature(1, coupling=coupling).draw(cells, people=256))
    np.testing.assert_array_equal(probabilities, over_bins(cells))
    np.testing.assert_allclose(probabilities, cells.sum(axis=2), rtol=1e-12)
    assert policy.is_certain.tolist() == [False, True, True] * 4


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (7, 2)])
def test_sums_over_bins_do_not_depend_on_how_cells_lie_in_memory(shape: tuple[int, int]) -> None:
    """Else the figures of a replicate would depend on how many there are."""
    cells = np.random.default_rng(0).random((*shape, 43, 2, 2)) ** 5
    one_by_one = np.zeros((*shape, 2, 2))
    for each in np.moveaxis(cells, 2, 0):
        one_by_one += each
    for order in ((0, 1, 2, 3, 4), (0, 1, 3, 4, 2), (2, 0, 1, 3, 4), (4, 2, 3, 0, 1)):
        laid_out = np.ascontiguousarray(cells.transpose(order)).transpose(np.argsort(order))
        np.testing.assert_array_equal(over_bins(laid_out), one_by_one)


def test_a_policy_of_weight_nearly_1_is_not_certain() -> None:
    policy = Policy(np.array([[[0.0]], [[0.5]]]), np.array([[1.0], [1e-12]]))
    assert not policy.is_certain.any()
    assert fg.Policy.of([[0.0, np.inf]]).is_certain.all()
