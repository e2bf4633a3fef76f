"""Demographic parity."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import demographic_parity_difference
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from tests.constraints.people import count, known, rates, sample


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_gap_is_fairlearns(groups: int, seed: int) -> None:
    group, label, decision = sample(groups, seed)
    residual = fg.DemographicParity(0.1).residuals(count(group, label, decision, groups))[0]
    assert residual[0] == pytest.approx(demographic_parity_difference(label, decision, sensitive_features=group) - 0.1)


@given(st.lists(st.integers(0, 100), min_size=2, max_size=5), st.integers(0, 100))
def test_the_residual_is_positive_exactly_when_two_groups_are_further_apart(accepted: list[int], percent: int) -> None:
    residual = fg.DemographicParity(percent / 100).residuals(rates(*(one / 100 for one in accepted)))[0][0]
    assert (residual > 1e-12) == (max(accepted) - min(accepted) > percent)


def test_absent_groups_are_left_out() -> None:
    assert fg.DemographicParity(0.1).residuals(rates(0.2, 0.5, np.nan))[0][0] == pytest.approx(0.2)
    assert fg.DemographicParity(0.1).residuals(rates(0.2, np.nan, np.nan))[0][0] == pytest.approx(-0.1)


def test_bounds_of_the_gap() -> None:
    parity = fg.DemographicParity(0.1)
    apart = known([0.1, 0.6, 0.3], [0.2, 0.9, 0.4])
    assert parity.lowest(apart)[0][0] == pytest.approx(0.6 - 0.2 - 0.1)
    assert parity.highest(apart)[0][0] == pytest.approx(0.9 - 0.1 - 0.1)
    one_unknown = known([0.0, 0.5], [1.0, 0.5])  # the largest gap is not 1 − 0, which is one group's
    assert parity.lowest(one_unknown)[0][0] == pytest.approx(-0.1)
    assert parity.highest(one_unknown)[0][0] == pytest.approx(0.5 - 0.1)
