"""Any table of decisions gets an audit or one sentence."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairgate as fg
from fairgate.errors import InputError

decisions = st.sampled_from([0, 1, 1.0, True, "1", "0", "yes", None, 2])
groups = st.sampled_from(["a", "b", "", None, 3, "ü · x"])
numbers = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(["x", "0.5", "0,5"]))
chances = st.sampled_from([0.0, 0.2, 0.5, 1.0, None, 1.5, -0.1])
dates = st.sampled_from(["2024-01-01", "2024-02-30", "31.12.2023", None, "", "1e9", "2024-03-01T10:00:00"])
rows = st.lists(st.tuples(decisions, groups, numbers, decisions, chances, dates), max_size=30)


def text(value: Any) -> str | None:
    return None if value is None else str(value)


@pytest.mark.slow
@settings(max_examples=150)
@given(rows=rows, dated=st.booleans(), lottery=st.booleans(), policy=st.booleans(), share=st.sampled_from([0.1, 1.0]))
def test_any_table_of_decisions_gets_an_audit_or_one_sentence(
    rows: list[tuple[Any, ...]], dated: bool, lottery: bool, policy: bool, share: float
) -> None:
    names = ("accepted", "group", "score", "good", "chance", "day")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    table = pa.table(
        {
            name: pa.array([text(value) for value in values], pa.string())
            for name, values in zip(names, columns, strict=True)
        }
    )
    given: dict[str, Any] = {"date": "day"} if dated else {}
    given |= {"score": "score", "label": "good", "propensity": "chance"} if lottery else {}
    given |= {"policy": "chance"} if policy and not lottery else {}
    constraints = [fg.DemographicParity(0.1), fg.ServiceRate(0.3, 0.8), fg.EqualOpportunity(0.1)]
    try:
        found = fg.audit(table, decision="accepted", group="group", constraints=constraints, max_lost=share, **given)
    except InputError as error:
        said = str(error).splitlines()
    else:
        said = [""]
        check(found.document(), len(rows))
    assert len(said) == 1


def check(document: dict[str, Any], rows: int) -> None:
    assert document["table"]["people"] + sum(document["table"]["dropped"].values()) == rows
    bounds = document["overall"]["acceptance"]
    assert all(low <= value <= high for value, low, high in zip(*bounds.values(), strict=True))
