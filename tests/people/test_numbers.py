"""Numbers are read as people write them where the whole column leaves no doubt, and never guessed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.findings import inspect
from fairgate.people import from_frame
from fairgate.people.numbers import Written


def read(*texts: str | None) -> tuple[list[float], Written]:
    column = Written("score", "points")
    for text in texts:  # one part each: a later one decides how an earlier one is read
        column.add(pa.array([text], pa.string()))
    return np.concatenate(column.read()).tolist(), column


@pytest.mark.parametrize(
    ("texts", "values", "how"),
    [
        (("0,73", "1", "12,5"), [0.73, 1.0, 12.5], "a decimal comma: '0,73' was read as 0.73"),
        (("2.345", "1.234,5"), [2345.0, 1234.5], "thousands separators: '2.345' was read as 2345"),
        (("1 234,5", "7"), [1234.5, 7.0], "a decimal comma and thousands separators: '1 234,5' was read as 1234.5"),
        (("1\u00a0234", "7.5"), [1234.0, 7.5], "thousands separators"),
        (("1,234.5", "2,000", "0.5"), [1234.5, 2000.0, 0.5], "thousands separators: '1,234.5' was read as 1234.5"),
        (("1'234.5", "-2'000"), [1234.5, -2000.0], "thousands separators"),
        (("73%", "0.7 %", "-5%"), [0.73, 0.007, -0.05], "percent signs: '73%' was read as 0.73"),
        (("73,5%", "1%"), [0.735, 0.01], "percent signs and a decimal comma"),
        (("0,734", "1,234"), [0.734, 1.234], "a decimal comma"),
        (("1,5e3", "2"), [1500.0, 2.0], "a decimal comma"),
    ],
)
def test_separators_and_percent_signs_are_read_where_there_is_no_doubt(
    texts: tuple[str, ...], values: list[float], how: str
) -> None:
    found, column = read(*texts)
    assert found == values
    assert how in column.note
    assert column.unread == []
    assert column.hint == ""


@pytest.mark.parametrize(
    ("texts", "values", "hint"),
    [
        (("1,234", "2,500"), [np.nan, np.nan], "'1,234' could be 1234 or 1.234"),
        (("0,5", "0.5"), [np.nan, 0.5], "'0,5' and '0.5' put comma and point to different uses"),
        (("73%", "0.5"), [np.nan, 0.5], "some numbers have a percent sign and others have none"),
        (("high", "0.5", "1,2,3"), [np.nan, 0.5, np.nan], ""),
    ],
)
def test_what_is_in_doubt_is_not_guessed(texts: tuple[str, ...], values: list[float], hint: str) -> None:
    found, column = read(*texts)
    np.testing.assert_array_equal(found, values)
    assert hint in column.hint
    assert bool(column.hint) is bool(hint)
    assert column.note == ""
    assert column.unread == [text for text, value in zip(texts, values, strict=True) if np.isnan(value)]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=20))
def test_numbers_written_in_any_way_come_back(values: list[float]) -> None:
    plain, _ = read(*(repr(value) for value in values))
    assert plain == values
    rounded = [round(value, 2) for value in values if abs(value) < 1e15] + [0.25]
    for thousands, decimal in ((",", "."), (".", ","), (" ", ","), ("\u202f", "."), ("'", ".")):
        swap = str.maketrans(",.", thousands + decimal) if len(thousands) == 1 else {}
        written = [f"{value:,.2f}".translate(swap) for value in rounded]
        assert read(*written)[0] == rounded, written
    percent, _ = read(*(f"{value!r}%" for value in rounded if "e" not in repr(value)))
    assert percent == [float(f"{value!r}e-2") for value in rounded if "e" not in repr(value)]


def test_the_note_reaches_the_findings() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=400).round(3)
    table = pa.table(
        {
            "points": [f"{each:.3f}".replace(".", ",") for each in score],
            "paid": score > rng.normal(size=400),
            "sex": ["f", "m"] * 200,
        }
    )
    people = from_frame(table, score="points", label="paid", group="sex")
    np.testing.assert_array_equal(people.cuts, np.unique(score))
    notes = [each.text for each in inspect(people, Aims()) if each.key == "reading"]
    assert len(notes) == 1
    assert notes[0].startswith("The score column 'points' is written with a decimal comma: ")


def test_ten_thousand_numbers_that_cannot_be_read_are_refused_with_examples_and_a_hint() -> None:
    texts = ["1,234", "2,500", "17,000", "3,250"] * 2500
    table = pa.table({"points": texts, "paid": [0, 1] * 5000, "sex": ["f", "m"] * 5000})
    with pytest.raises(fg.InputError) as caught:
        from_frame(table, score="points", label="paid", group="sex")
    assert "'points' has no number in any of 10000 rows, got '1,234', '2,500', '17,000', '3,250'" in str(caught.value)
    assert "'1,234' could be 1234 or 1.234: write numbers without thousands separators" in str(caught.value)
