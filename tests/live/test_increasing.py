"""The increasing fit is scikit-learn's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from fairgate.live.played import increasing


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 1000)), min_size=1, max_size=30))
def test_it_is_the_isotonic_regression(people: list[tuple[float, int]]) -> None:
    values, weights = np.array([each[0] for each in people]), np.array([each[1] for each in people])
    wanted = isotonic_regression(values, sample_weight=weights.astype(np.float64))
    np.testing.assert_allclose(increasing(values, weights), wanted, atol=1e-12)
