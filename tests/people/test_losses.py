"""Stray groups and lost rows are left out, counted and named; too many of them are refused with examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.advice.findings import inspect
from fairgate.people import from_frame

COLUMNS: dict[str, Any] = {"score": "score", "label": "label", "group": "group"}
AIMS = Aims(constraints=[fg.DemographicParity(0.2)], feedback=(0.0,), seeds=1, rounds=5)


def table(people: int = 2000, **columns: Any) -> pa.Table:
    rng = np.random.default_rng(5)
    score = rng.normal(size=people)
    label = (rng.random(people) < 1.0 / (1.0 + np.exp(-2.0 * score))).astype(int)
    group = np.where(rng.random(people) < 0.5, "f", "m").astype(object)
    return pa.table({"score": score, "label": label, "group": group} | columns)


def with_strays(people: int, **strays: int) -> pa.Table:
    made = table(people)
    group = made["group"].to_pylist()
    names = [name for name, count in strays.items() for _ in range(count)]
    group[: len(names)] = names
    return made.set_column(2, "group", pa.array(group))


def test_one_stray_value_does_not_rewrite_the_advice() -> None:
    stray = with_strays(2000, F=3, x=1)
    clean = stray.filter(pa.array([each in ("f", "m") for each in stray["group"].to_pylist()]))
    found, expected = from_frame(stray, **COLUMNS), from_frame(clean, **COLUMNS)
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_array_equal(found.cuts, expected.cuts)
    assert found.groups == ("f", "m")
    assert found.dropped == {"group too small": 4}
    assert found.strays == {"F": 3, "x": 1}
    assert advise(found, AIMS).recommendation == advise(expected, AIMS).recommendation
    text = next(each.text for each in inspect(found, AIMS) if each.key == "stray-groups")
    assert text.startswith("4 of 2000 rows (0.2%) belong to groups too small to say anything about ('group')")
    assert "left out: 'F' (3), 'x' (1)." in text


@pytest.mark.parametrize(
    ("people", "size", "min_group", "kept"),
    [
        (2000, 9, None, False),
        (2000, 10, None, True),
        (500, 4, None, False),  # a hundredth of a small table
        (500, 5, None, True),
        (60, 1, None, True),
        (2000, 1, 1, True),
        (2000, 99, 100, False),
        (2000, 100, 100, True),
    ],
)
def test_how_small_a_group_may_be(people: int, size: int, min_group: int | None, kept: bool) -> None:
    found = from_frame(with_strays(people, x=size), **COLUMNS, min_group=min_group)
    assert ("x" in found.groups) is kept
    assert found.people == people - (0 if kept else size)


def test_groups_that_are_all_too_small_or_too_many() -> None:
    names = [f"person {n % 300}" for n in range(2000)]
    with pytest.raises(
        fg.InputError, match=r"no group of at least 10 people \(--min-group\), the largest being 'person"
    ):
        from_frame(table(group=names), **COLUMNS)
    with pytest.raises(fg.InputError, match="'group' has more than 50 different values"):
        from_frame(table(group=names), **COLUMNS, min_group=1)
    with pytest.raises(fg.InputError, match="'group' has more than 1000 different values"):
        from_frame(table(group=[f"person {n}" for n in range(2000)]), **COLUMNS)
    mostly = ["f" if n < 1000 else f"person {n % 500}" for n in range(2000)]
    with pytest.raises(
        fg.InputError, match=r"1000 belong to groups \('group'\) of fewer than 10 people \(--min-group\)"
    ):
        from_frame(table(group=mostly), **COLUMNS)
    many = [f"g{n % 40}" if n < 1900 else f"typo {n}" for n in range(2000)]
    assert len(from_frame(table(group=many), **COLUMNS).groups) == 40


def test_many_lost_rows_are_refused_with_examples() -> None:
    score = [f"{value:.3f}" if place % 10 == 0 else "n.a. (7)" for place, value in enumerate(np.linspace(-1, 1, 2000))]
    with pytest.raises(fg.InputError) as caught:
        from_frame(table(score=score), **COLUMNS)
    assert str(caught.value) == (
        "1800 of 2000 rows would be left out, more than a share of 0.2: 1800 have no number as score ('score'), such "
        "as 'n.a. (7)'; repair them, or say --max-lost 0.9 if those who are left are like the others"
    )
    assert from_frame(table(score=score), **COLUMNS, max_lost=0.9).people == 200


def test_each_reason_is_counted_once_and_named() -> None:
    score = [str(place) for place in range(2000)]
    score[:300] = ["0,5"] * 300
    score[300:302] = ["0.5", "inf"]
    group: list[str | None] = ["f", "m"] * 1000
    group[200:500] = [None] * 300
    with pytest.raises(fg.InputError) as caught:
        from_frame(table(score=score, group=group), **COLUMNS)
    told = str(caught.value)
    assert told.startswith("500 of 2000 rows would be left out, more than a share of 0.2: ")
    assert "300 have no number as score ('score'), such as '0,5' – '0,5' and '0.5' put comma and point to" in told
    assert "1 have an infinite score ('score'); 199 have no group ('group')" in told


@pytest.mark.parametrize(("share", "refused"), [(0.2, False), (0.2005, True)])
def test_a_share_of_lost_rows_is_allowed(share: float, refused: bool) -> None:
    score = np.linspace(0, 1, 2000)
    score[: round(share * 2000)] = np.nan
    made = table(score=score)
    if refused:
        with pytest.raises(fg.InputError, match="401 of 2000 rows would be left out"):
            from_frame(made, **COLUMNS)
    else:
        found = from_frame(made, **COLUMNS)
        assert found.dropped == {"score not a number": 400}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"min_group": 0}, "min_group must be a whole number of at least 1, got 0"),
        ({"max_lost": 1.5}, "max_lost must be a share from 0 to 1, such as 0.2, got 1.5"),
        ({"max_lost": float("nan")}, "max_lost must be a share from 0 to 1, such as 0.2, got nan"),
        ({"period": "month"}, "period 'month' needs a column of dates: say --date NAME"),
        ({"period": "decade", "date": "day"}, "period must be one of day, week, month, quarter, year, got 'decade'"),
        ({"group": []}, "group must be the name of a column, or a list of them, got []"),
        ({"group": ["group", "group"]}, "both groups are the column 'group': choose two different columns"),
        ({"decision": "label"}, "label and decision are both the column 'label'"),
        ({"weight": "w"}, "the weight column 'w' is not in the table"),
    ],
)
def test_options_that_make_no_sense_get_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fg.InputError) as caught:
        from_frame(table(), **(COLUMNS | options))
    assert sentence in str(caught.value)
