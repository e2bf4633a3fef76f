"""Bins: the fast counts of people by score bin are those of a plain reference, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairgate as fg
from fairgate.bins import decided, tally_by_threshold, tally_cells
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


@pytest.mark.parametrize(("replicates", "groups", "people"), [(1, 1, 1), (1, 2, 7), (5, 3, 256), (40, 2, 1000)])
def test_people_are_counted_as_by_the_reference(replicates: int, groups: int, people: int) -> None:
    bins, numbers = labelled(replicates, groups, people), Nature(2).people(replicates, people)
    policy = Policy.of(thresholds(replicates, groups, 3))
    share = policy.accepted_share(GRID)
    expected = tally(decided(bins, share), numbers)
    np.testing.assert_array_equal(tally_cells(decided(bins, share), numbers), expected)
    np.testing.assert_array_equal(tally_by_threshold(bins, share, numbers), expected)
    lottery = np.random.default_rng(4).random(share.shape)
    np.testing.assert_array_equal(tally_cells(decided(bins, lottery), numbers), tally(decided(bins, lottery), numbers))


def test_nobody_falls_into_a_cell_of_no_probability_at_its_ends() -> None:
    """Numbers that lie just on the ends of cells: a person belongs to the cell that begins there."""
    bins = np.array([[[[0.25, 0.25], [0.0, 0.0], [0.25, 0.25]]]])
    numbers = np.array([[0, 2**30 - 1, 2**30, 2**31, 2**32 - 1]], dtype=np.uint32)
    found = tally_by_threshold(bins, np.ones((1, 1, 3)), numbers)
    assert found[0, 0, :, :, 1].tolist() == [[2, 1], [0, 0], [1, 1]]
    assert not found[..., 0].any()


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
