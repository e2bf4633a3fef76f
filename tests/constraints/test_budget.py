"""Budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from tests.constraints.people import known


@given(st.integers(1, 300), st.data())
def test_the_residual_of_a_batch_counts_the_people_beyond_the_places(people: int, data: st.DataObject) -> None:
    accepted, places = data.draw(st.integers(0, people)), data.draw(st.integers(0, people))
    cells = np.array([[[[people - accepted, accepted], [0, 0]]]])
    residual = fg.Budget(places / people).residuals(fg.Counts(cells))[0]
    assert residual[0] * people == pytest.approx(accepted - places, abs=1e-9)
    assert (residual[0] > 1e-12) == (accepted > places)


def test_bounds_use_everybodys_rate_alone() -> None:
    wide = known([0.0, 0.0], [1.0, 1.0], overall=(0.4, 0.8))
    assert fg.Budget(0.5).lowest(wide)[0][0] == pytest.approx(-0.1)
    assert fg.Budget(0.5).highest(wide)[0][0] == pytest.approx(0.3)


def test_a_number_of_places_is_no_share() -> None:
    with pytest.raises(fg.InputError, match=r"Budget: share must be in \[0, 1\], got 50"):
        fg.Budget(50)
