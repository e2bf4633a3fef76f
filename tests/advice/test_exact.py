"""Exact tests of lines in rates: their size by counting all outcomes, and what bounds them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, binomtest

from fairgate.advice.exact import NUISANCE, Line, Pair, one_rate, rate_ends, tail


def two_rates(x: ArrayLike, n: float, y: ArrayLike, m: float, line: Line, level: float) -> NDArray[np.bool_]:
    """Say where a · p − b · q ≤ limit is shown at this level by x of n and y of m people, arrays (K,)."""
    pair = Pair(line, rate_ends(x, n), rate_ends(y, m))
    bound = pair.bound()
    return np.array([bool(bound[k] <= level) or pair.shown(k, level) for k in range(len(bound))])


def test_two_rates_show_a_line_that_is_kept_by_enough() -> None:
    line = Line(0, 1, 1.0, 1.0, 0.1)
    assert two_rates([55, 50, 40], 100, [50, 50, 50], 100, line, 0.1).tolist() == [False, True, True]


def test_one_rate_has_the_p_values_of_the_binomial_test() -> None:
    for hits, people, limit in ((3, 20, 0.4), (0, 10, 0.1), (20, 20, 0.9)):
        for most, side in ((True, "less"), (False, "greater")):
            expected = binomtest(hits, people, limit, alternative=side).pvalue
            assert one_rate(hits, people, limit, most=most) == pytest.approx(expected)


@pytest.mark.parametrize("line", [Line(0, 1, 1.0, 1.0, 0.2), Line(0, 1, 0.8, 1.0, 0.0), Line(0, 1, 1.0, 1.0, 0.0)])
@pytest.mark.parametrize(("n", "m"), [(12, 12), (25, 7), (6, 30)])
def test_a_broken_line_is_shown_to_hold_with_the_level_at_most(line: Line, n: int, m: int) -> None:
    """All outcomes are counted, at rates on the boundary and beyond: nothing is left to chance."""
    x, y = (each.ravel() for each in np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"))
    for level in (0.05, 0.2):
        shown = two_rates(x, n, y, m, line, level)
        assert shown.any()
        for q in np.linspace(0.0, 1.0, 41):
            for further in (0.0, 0.03, 0.2):
                p = (line.limit + line.b * q) / line.a + further
                if p <= 1.0:
                    assert (binom.pmf(x, n, p) * binom.pmf(y, m, q))[shown].sum() <= level + 1e-9


def test_many_people_are_enough_and_the_closed_form_is_never_below_the_sum() -> None:
    rng = np.random.default_rng(0)
    line = Line(0, 1, 1.0, 1.0, 0.05)
    n, m = 400, 900
    x, y = rng.binomial(n, 0.3, 40), rng.binomial(m, 0.3, 40)
    pair = Pair(line, rate_ends(x, n), rate_ends(y, m))
    low, high = pair.boundary
    for k in np.flatnonzero((pair.distance < 0.0) & (low <= high)):
        largest = tail(float(pair.distance[k]), n, m, line, np.linspace(low[k], high[k], NUISANCE)).max()
        assert pair.bound()[k] >= largest
    normal = (0.05 - 1.2816 * np.sqrt(0.21 / 4e4 * 2)) * 4e4  # what a normal test would let pass
    assert two_rates(
        [12_000 + normal - 25, 12_000 + normal + 25], 40_000, [12_000] * 2, 40_000, line, 0.1
    ).tolist() == [
        True,
        False,
    ]


def test_nobody_accepted_is_no_proof_of_a_ratio_and_what_any_rates_meet_is_shown() -> None:
    assert not two_rates([0], 1000, [0], 1000, Line(0, 1, 0.8, 1.0, 0.0), 0.1)[0]
    assert Line(0, 1, 1.0, 1.0, 1.0).vacuous
    assert not Line(0, None, 1.0, 0.0, 0.9).vacuous
