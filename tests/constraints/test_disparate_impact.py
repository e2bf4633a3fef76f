"""Disparate impact, the four-fifths rule."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import demographic_parity_ratio
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from tests.constraints.people import count, known, rates, sample


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_met_exactly_down_to_fairlearns_ratio(groups: int, seed: int) -> None:
    group, label, decision = sample(groups, seed)
    counts = count(group, label, decision, groups)
    ratio = demographic_parity_ratio(label, decision, sensitive_features=group)
    assert fg.DisparateImpact(ratio).residuals(counts)[0][0] == pytest.approx(0.0, abs=1e-12)
    assert fg.DisparateImpact(ratio - 0.01).residuals(counts)[0][0] < 0
    assert fg.DisparateImpact(ratio + 0.01).residuals(counts)[0][0] > 0


@given(st.lists(st.integers(0, 100), min_size=2, max_size=5))
def test_the_residual_is_positive_exactly_when_a_rate_is_below_four_fifths_of_another(accepted: list[int]) -> None:
    residual = fg.DisparateImpact().residuals(rates(*(one / 100 for one in accepted)))[0][0]
    assert (residual > 1e-12) == (5 * min(accepted) < 4 * max(accepted))


def test_nobody_accepted_is_met() -> None:
    assert fg.DisparateImpact().residuals(rates(0.0, 0.0))[0][0] == 0.0


def test_absent_groups_are_left_out() -> None:
    assert fg.DisparateImpact().residuals(rates(0.5, np.nan, 0.25))[0][0] == pytest.approx(0.15)


def test_bounds() -> None:
    apart, near = known([0.1, 0.6], [0.2, 0.9]), known([0.1, 0.3], [0.5, 0.9])
    rule = fg.DisparateImpact(0.8)
    assert rule.lowest(apart)[0][0] == pytest.approx(0.8 * 0.6 - 0.2)
    assert rule.highest(apart)[0][0] == pytest.approx(0.8 * 0.9 - 0.1)
    assert rule.lowest(near)[0][0] == pytest.approx(0.8 * 0.5 - 0.5)  # both at 0.5
    by_replicate = fg.DisparateImpact([0.5, 1.0])
    two = known([[0.1, 0.6], [0.1, 0.6]], [[0.2, 0.9], [0.2, 0.9]])
    np.testing.assert_allclose(by_replicate.highest(two)[0][0], [0.5 * 0.9 - 0.1, 0.9 - 0.1])


def test_bad_ratios_are_refused() -> None:
    with pytest.raises(fg.InputError, match=r"DisparateImpact: ratio must be in \(0, 1\], got 0"):
        fg.DisparateImpact(0)
    with pytest.raises(fg.InputError, match=r"ratio must be in \(0, 1\], got 80"):
        fg.DisparateImpact(80)
