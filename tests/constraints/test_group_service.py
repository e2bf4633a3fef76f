"""Group service."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, selection_rate
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from tests.constraints.people import count, known, rates, sample


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_the_rates_are_fairlearns(groups: int) -> None:
    group, label, decision = sample(groups, seed=1)
    frame = MetricFrame(metrics=selection_rate, y_true=label, y_pred=decision, sensitive_features=group)
    low, high = fg.GroupService(0.3, 0.5).residuals(count(group, label, decision, groups))
    assert low[0] == pytest.approx(0.3 - frame.group_min())
    assert high[0] == pytest.approx(frame.group_max() - 0.5)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=5))
def test_a_residual_is_positive_exactly_when_some_group_is_beyond_that_end(accepted: list[int]) -> None:
    low, high = fg.GroupService(0.25, 0.75).residuals(rates(*(one / 100 for one in accepted)))
    assert (low[0] > 1e-12) == any(one < 25 for one in accepted)
    assert (high[0] > 1e-12) == any(one > 75 for one in accepted)


def test_absent_groups_are_left_out() -> None:
    low, high = fg.GroupService(0.25, 0.75).residuals(rates(0.3, np.nan, 0.5))
    assert (low[0], high[0]) == pytest.approx((-0.05, -0.25))


def test_a_rare_group_counts_like_any_other() -> None:
    cells = np.zeros((1, 2, 2, 2))
    cells[0, 0, 1], cells[0, 1, 1] = [5000, 5000], [1, 0]
    assert fg.GroupService(0.1, 0.9).residuals(fg.Counts(cells))[0][0] == pytest.approx(0.1)
    assert fg.ServiceRate(0.1, 0.9).residuals(fg.Counts(cells))[0][0] < 0


def test_bounds_are_those_of_the_worst_and_best_off() -> None:
    window, wide = fg.GroupService(0.25, 0.75), known([0.1, 0.4], [0.3, 0.9])
    assert [bound[0] for bound in window.lowest(wide)] == pytest.approx([0.25 - 0.3, 0.4 - 0.75])
    assert [bound[0] for bound in window.highest(wide)] == pytest.approx([0.25 - 0.1, 0.9 - 0.75])


def test_bad_windows_are_refused() -> None:
    with pytest.raises(
        fg.InputError, match=r"GroupService: the window is empty, low must be below high, got 0\.5:0\.5"
    ):
        fg.GroupService(0.5, 0.5)
    with pytest.raises(fg.InputError, match=r"GroupService: low must be in \[0, 1\], got -0.1"):
        fg.GroupService(-0.1, 0.5)
