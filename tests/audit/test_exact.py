"""Exact tests of a complete table: p-values by enumeration, levels at the boundary, and power near that of one test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, norm

import fairgate as fg
from fairgate.audit.exact import Line, OneLook, judge_once
from fairgate.constraints import Constraint

Array = NDArray[np.float64]

LEVEL = 0.05


def looked_at(constraint: Constraint, accepted: list[int], people: list[int], level: float = LEVEL) -> list[OneLook]:
    """Test decisions on groups of so many people."""
    nobody = np.zeros(2 * len(people))
    hits, came = (np.concatenate(([sum(each)], each, nobody)) for each in (accepted, people))
    found = judge_once(constraint, hits, came, level)
    assert found is not None
    return found


def status_everywhere(constraint: Constraint, people: list[int]) -> NDArray[np.str_]:
    """Return the verdict on every table of two groups of so many people."""
    first, second = people
    return np.array(
        [[looked_at(constraint, [x, y], people)[0].status for y in range(second + 1)] for x in range(first + 1)]
    )


@pytest.mark.parametrize(
    ("constraint", "people"),
    [
        (fg.DemographicParity(0.1), [6, 6]),
        (fg.DemographicParity(0.0), [6, 6]),
        (fg.DemographicParity(0.02), [3, 9]),
        (fg.DisparateImpact(0.8), [6, 6]),
        (fg.DisparateImpact(0.5), [9, 3]),
    ],
)
def test_no_rates_are_called_wrong_more_often_than_said(constraint: Constraint, people: list[int]) -> None:
    """Every table is enumerated, at rates on a grid of the whole square."""
    status, grid = status_everywhere(constraint, people), np.linspace(0.0, 1.0, 101)
    chance = [binom.pmf(np.arange(size + 1)[:, None], size, grid).T for size in people]
    (piece,) = constraint.pieces(2) or ()
    p, q = np.meshgrid(grid, grid, indexing="ij")
    residual = np.max([row[1] * p + row[2] * q for row in piece.rows], axis=0) - piece.limit
    called = {name: chance[0] @ (status == name) @ chance[1].T for name in ("broken", "met")}
    assert called["broken"][residual <= 1e-9].max() <= LEVEL
    assert called["met"][residual > 1e-9].max(initial=0.0) <= LEVEL


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.floats(0.3, 1.0), st.floats(-0.2, 0.4), st.data())
def test_a_p_value_is_at_least_the_probability_of_as_much_wherever_the_limit_holds(
    n: int, m: int, slope: float, limit: float, data: st.DataObject
) -> None:
    x, y = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    q = data.draw(st.floats(0.0, 1.0))
    p = (limit + q) / slope
    if not 0.0 <= p <= 1.0:
        return
    row, people = np.array([0.0, slope, -1.0, 0.0, 0.0, 0.0, 0.0]), np.array([n + m, n, m, 0, 0, 0, 0], dtype=float)

    def p_value(one: int, other: int) -> float:
        return Line(row, limit, np.array([0.0, one, other, 0, 0, 0, 0]), people).p_value(LEVEL)

    found = p_value(x, y)
    if found >= LEVEL:
        return  # only smaller ones decide
    smaller = np.array([[p_value(one, other) <= found for other in range(m + 1)] for one in range(n + 1)])
    assert binom.pmf(np.arange(n + 1), n, p) @ smaller @ binom.pmf(np.arange(m + 1), m, q) <= found + 1e-9


def test_one_rate_is_tested_by_the_binomial() -> None:
    low, high = looked_at(fg.ServiceRate(0.3, 0.8), [10, 10], [50, 50])
    assert low.broken == pytest.approx(binom.cdf(20, 100, 0.3))
    assert (low.status, high.status) == ("broken", "met")
    assert high.met == pytest.approx(0.001)  # as small as p-values are told
    (few,) = looked_at(fg.Budget(0.5), [6, 6], [10, 10])
    assert few.broken == pytest.approx(binom.sf(11, 20, 0.5))
    assert few.met == pytest.approx(binom.cdf(12, 20, 0.5))


def test_a_group_without_people_tells_nothing() -> None:
    (found,) = looked_at(fg.DemographicParity(0.05), [90, 0], [100, 0])
    assert (found.broken, found.met) == (1.0, 1.0)


def test_several_groups_are_told_by_their_furthest_pair() -> None:
    (found,) = looked_at(fg.DisparateImpact(0.8), [250, 240, 150], [500, 500, 500])
    (pair,) = looked_at(fg.DisparateImpact(0.8), [250, 150], [500, 500], LEVEL / 3)
    assert found.broken == pytest.approx(3 * pair.broken)
    (met,) = looked_at(fg.DisparateImpact(0.5), [250, 240, 230], [500, 500, 500])
    assert met.status == "met"


@pytest.mark.parametrize("sizes", [(500, 500), (800, 200)])
def test_power_is_near_that_of_a_single_test_and_level_is_kept(sizes: tuple[int, int]) -> None:
    """A ratio of 0.7 where 0.8 is asked for, and one of 0.8, where half of the other group are accepted."""
    rng, found = np.random.default_rng(1), []
    for rate in (0.35, 0.4):
        taken = [[rng.binomial(size, each) for size, each in zip(sizes, (0.5, rate), strict=True)] for _ in range(40)]
        found.append(sum(looked_at(fg.DisparateImpact(0.8), each, list(sizes))[0].status == "broken" for each in taken))
    error = np.sqrt(0.64 * 0.25 / sizes[0] + 0.35 * 0.65 / sizes[1])
    power = float(norm.sf(norm.isf(LEVEL) - 0.05 / error))  # of one test by the normal distribution: 56% and 39%
    assert found[0] >= binom.ppf(1e-3, 40, power - 0.03)
    assert found[1] <= binom.ppf(1 - 1e-4, 40, LEVEL)


def test_a_table_without_dates_is_tested_and_one_with_dates_if_asked_to() -> None:
    rng = np.random.default_rng(0)
    black = rng.random(3000) < 0.5
    rows = pa.table({"accepted": rng.random(3000) < np.where(black, 0.33, 0.5), "black": black, "row": np.arange(3000)})
    asked = [fg.DisparateImpact(0.8), fg.ServiceRate(0.2, 0.8)]
    options: tuple[dict[str, Any], ...] = ({}, {"order": "row", "once": True}, {"order": "row"})
    once, told, often = (
        fg.audit(rows, decision="accepted", group="black", constraints=asked, **each) for each in options
    )
    assert [each.status for each in once.alarms] == ["broken", "met", "met"]
    assert once.document()["alarms"] == told.document()["alarms"]
    assert often.alarms[0].status == "undecided"
    test = once.alarms[0].test
    assert test is not None
    assert test.level == pytest.approx(0.05 / 3)
    assert "One look, exact test: p = 0.0023, at the level 0.017." in once.document()["alarms"][0]["text"]
