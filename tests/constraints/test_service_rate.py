"""Service rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from tests.constraints.people import known, rates


@given(st.integers(0, 100), st.integers(0, 99), st.integers(1, 100))
def test_a_residual_is_positive_exactly_when_the_rate_is_beyond_that_end(accepted: int, low: int, width: int) -> None:
    high = min(low + width, 100)
    below, above = fg.ServiceRate(low / 100, high / 100).residuals(rates(accepted / 100))
    assert (below[0] > 1e-12) == (accepted < low)
    assert (above[0] > 1e-12) == (accepted > high)


def test_bounds_use_everybodys_rate_alone() -> None:
    window, wide = fg.ServiceRate(0.3, 0.7), known([0.0, 0.0], [1.0, 1.0], overall=(0.4, 0.8))
    assert [bound[0] for bound in window.lowest(wide)] == pytest.approx([0.3 - 0.8, 0.4 - 0.7])
    assert [bound[0] for bound in window.highest(wide)] == pytest.approx([0.3 - 0.4, 0.8 - 0.7])


def test_an_empty_window_is_refused() -> None:
    sentence = "ServiceRate: the window is empty, low must be below high, got 0.8:0.3"
    with pytest.raises(fg.InputError, match=sentence):
        fg.ServiceRate(0.8, 0.3)
    with pytest.raises(fg.InputError, match="the window is empty"):
        fg.ServiceRate([0.1, 0.5], 0.5)
