"""The checks that docs/live-audit.md writes without fairgate: clean on a log with everything in it, and not blind."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairgate.live.audit import stored_log
from fairgate.live.events import KINDS
from fairgate.live.export import export_log
from tests.live.logs import make_spec, opened, write_busy, write_counts
from tests.live.page_checks import PAGE, Check, page_checks


@pytest.fixture(scope="module")
def checks() -> list[Check]:
    return page_checks()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "credit.zip"
    with opened(str(path.with_name("gate.db")), make_spec()) as lender:
        write_busy(lender)
        with stored_log(lender.gate.engine, "credit") as log:
            export_log(log, path)
    return path


def changed(path: Path, to: Path, table: str, row: int, column: str, value: object) -> Path:
    """Write the file once more, with one value changed; None takes the row away."""
    with zipfile.ZipFile(path) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    found = pq.read_table(pa.BufferReader(content[f"{table}.parquet"]))
    rows = found.to_pylist()
    if value is None:
        del rows[row]
    else:
        assert rows[row][column] != value
        rows[row][column] = value
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=found.schema), sink)
    content[f"{table}.parquet"] = sink.getvalue().to_pybytes()
    with zipfile.ZipFile(to, "w") as packed:
        for name, data in content.items():
            packed.writestr(name, data)
    return to


def test_a_log_with_everything_in_it_fits(checks: list[Check], exported: Path) -> None:
    with zipfile.ZipFile(exported) as packed:
        head = json.loads(packed.read("head.json"))
        cases = pq.read_table(pa.BufferReader(packed.read("cases.parquet"))).num_rows
    events, rounds, people = checks[0](exported)
    assert (events, people) == (head["last"], cases)
    assert rounds > 2
    checks[1](exported)


def test_a_log_of_counts_fits(checks: list[Check], tmp_path: Path) -> None:
    with opened(str(tmp_path / "counts.db"), make_spec(store="counts")) as lender:
        write_counts(lender)
        with stored_log(lender.gate.engine, "credit") as log:
            export_log(log, tmp_path / "counts.zip")
    assert checks[0](tmp_path / "counts.zip")[2] == 0
    checks[1](tmp_path / "counts.zip")


@pytest.mark.parametrize(
    ("table", "row", "column", "value", "said"),
    [
        ("events", 2, "actor", "somebody", "event 3 does not fit"),
        ("events", 2, "at", "2020-01-01T00:00:00+00:00", "event 3 does not fit"),
        ("events", 3, "", None, "event 4 does not fit"),
        ("events", -1, "", None, "the head does not fit"),
        ("cases", 0, "draw", 0.5, "the draw of"),
        ("cases", 0, "id", "other", "the draw of"),
        ("cases", 0, "score", 0.123, "the rows of event"),
        ("cases", 1, "", None, "the rows of event"),
    ],
)
def test_a_change_is_found(
    table: str, row: int, column: str, value: object, said: str, checks: list[Check], exported: Path, tmp_path: Path
) -> None:
    path = changed(exported, tmp_path / "changed.zip", table, row, column, value)
    with pytest.raises(AssertionError, match=said):
        [check(path) for check in checks]


def test_the_page_says_what_each_kind_of_event_holds(exported: Path) -> None:
    table = PAGE.partition("**What each kind of event holds**")[2].partition("## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    told = {kind.strip(" `"): about for kinds, about in rows for kind in kinds.split(",")}
    assert sorted(told) == sorted(KINDS)
    with zipfile.ZipFile(exported) as packed:
        events = pq.read_table(pa.BufferReader(packed.read("events.parquet"))).to_pylist()
    for event in events:
        lacking = [name for name in json.loads(event["body"]) if f"`{name}`" not in told[event["kind"]]]
        assert not lacking, event["kind"]
