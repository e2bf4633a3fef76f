"""Equalised odds."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import equal_opportunity_difference, equalized_odds_difference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import fairgate as fg
from tests.constraints.people import count, sample


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_larger_gap_is_fairlearns(groups: int, seed: int) -> None:
    group, label, decision = sample(groups, seed)
    tpr, fpr = fg.EqualisedOdds(0.1).residuals(count(group, label, decision, groups))
    assert tpr[0] == pytest.approx(equal_opportunity_difference(label, decision, sensitive_features=group) - 0.1)
    larger = equalized_odds_difference(label, decision, sensitive_features=group)
    assert max(tpr[0], fpr[0]) == pytest.approx(larger - 0.1)


@given(hnp.arrays(np.int64, (1, 3, 2, 2), elements=st.integers(0, 30)))
def test_the_first_residual_is_equal_opportunitys_and_the_second_that_of_swapped_labels(
    cells: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> None:
    tpr, fpr = fg.EqualisedOdds(0.1).residuals(fg.Counts(cells))
    assert tpr[0] == fg.EqualOpportunity(0.1).residuals(fg.Counts(cells))[0][0]
    assert fpr[0] == fg.EqualOpportunity(0.1).residuals(fg.Counts(cells[..., ::-1, :]))[0][0]


def test_a_group_without_people_of_one_label_is_left_out_of_that_gap_alone() -> None:
    cells = np.array([[[[5, 5], [1, 3]], [[1, 9], [0, 0]]]])
    tpr, fpr = fg.EqualisedOdds(0.1).residuals(fg.Counts(cells))
    assert (tpr[0], fpr[0]) == pytest.approx((-0.1, 0.9 - 0.5 - 0.1))


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(fg.InputError, match=r"EqualisedOdds: epsilon must be in \[0, 1\], got -1"):
        fg.EqualisedOdds(-1)
