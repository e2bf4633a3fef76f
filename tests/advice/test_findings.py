"""What a table is said to have wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.findings import Finding, inspect
from tests.advice.people import SERVICE

COLUMNS: dict[str, Any] = {"score": "score", "label": "label", "group": "group"}


def found(table: pa.Table, aims: Aims | None = None, **options: Any) -> dict[str, Finding]:
    people = fg.from_frame(table, **COLUMNS, **options)
    return {finding.key: finding for finding in inspect(people, aims or Aims())}


def good(people: int = 600) -> dict[str, Any]:
    made = SERVICE.draw(people, np.random.default_rng(0))
    return {name: made[name].to_numpy() for name in COLUMNS}


def test_a_good_table_has_nothing_wrong_with_it() -> None:
    assert found(pa.table(good())) == {}


def test_tiny_groups_one_group_and_what_follows() -> None:
    table = good()
    table["group"] = np.where(np.arange(600) < 20, "few", "many")
    text = found(pa.table(table))["tiny-group"].text
    assert "group = few has only 20 people" in text
    assert "± 0.22" in text
    table["group"] = np.full(600, "all")
    assert "only one group, 'all'" in found(pa.table(table))["one-group"].text
    with pytest.raises(fg.InputError, match=r"parity=0\.1 compares groups, but .* 'group' has only one, 'all'"):
        found(pa.table(table), Aims(constraints=[fg.DemographicParity(0.1)]))


def test_groups_that_look_alike_are_named_and_how_to_join_them() -> None:
    table = good()
    table["group"] = np.where(table["group"] == 0, "m", np.array(["F", "f", "female", "f"])[np.arange(600) % 4])
    told = found(pa.table(table))["groups-alike"]
    assert told.level == "warning"
    assert "In the group column 'group', 'F', 'f', 'female' look like one group written in 3 ways" in told.text
    assert "table['group'].replace({'F': 'f', 'female': 'f'})" in told.text
    pandas = pa.table(table).to_pandas()
    pandas["group"] = pandas["group"].replace({"F": "f", "female": "f"})
    assert found(pandas) == {}
    table["group"] = np.where(np.arange(600) < 3, "M", np.where(np.arange(600) % 2, "m", "x"))
    assert (
        "'m', 'M' look like one group" in found(pa.table(table))["groups-alike"].text
    )  # one that is left out as small
    crossed = pa.table(good()).append_column("region", pa.array(["South East", "south_east"] * 300))
    people = fg.from_frame(crossed, **COLUMNS | {"group": ["group", "region"]})
    alike = [each.text for each in inspect(people, Aims()) if each.key == "groups-alike"]
    assert len(alike) == 1
    assert "In the group column 'region', 'South East', 'south_east'" in alike[0]


def test_a_score_that_goes_the_wrong_way_or_nowhere() -> None:
    table = good()
    table["score"] = -table["score"]
    assert found(pa.table(table), descending=True) == {}
    assert found(pa.table(table), positive=0) == {}
    table["score"] = np.random.default_rng(1).normal(size=600)
    assert "hardly tells labels apart" in found(pa.table(table))["weak-score"].text
    table["score"] = np.full(600, 0.5)
    with pytest.raises(fg.InputError, match=r"the score column 'score' is 0\.5 for everybody"):
        found(pa.table(table))


def test_missing_labels_and_rejected_people_without_any() -> None:
    table = good()
    label = table["label"].copy()
    label[::10] = np.nan
    texts = found(pa.table({**table, "label": pa.array(label, from_pandas=True)}))
    assert "60 of 600 labels (10%) are missing" in texts["labels-missing"].text
    assert "taken to be good (label = 1) as often as known ones" in texts["labels-missing"].text
    assert "labels-unknown" not in texts
    label[table["score"] < -0.5] = np.nan
    text = found(pa.table({**table, "label": pa.array(label, from_pandas=True)}))["labels-unknown"].text
    assert "Nobody with a score below -0.4" in text
    assert "count as bad" in text
    label = table["label"].copy()
    label[table["label"] == 0.0] = np.nan
    assert (
        "Every known label is good (label = 1)"
        in found(pa.table({**table, "label": pa.array(label, from_pandas=True)}))["one-label"].text
    )


def test_ties_and_bins() -> None:
    table = good()
    table["score"] = np.round(table["score"])
    assert "different scores. A threshold takes or leaves all of a tie" in found(pa.table(table))["ties"].text
    assert found(pa.table(good(6000)))["binned"].level == "note"
