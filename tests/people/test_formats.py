"""Every kind of file gives the same counts, booleans and dates alike; pipes and archives too; addresses are refused."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import fairgate as fg
from fairgate.people import Applicants, from_file, from_frame
from tests.command import fairgate_here
from tests.people.excel import write_excel

pd: Any = pytest.importorskip("pandas")

COLUMNS: dict[str, Any] = {
    "score": "score",
    "label": "repaid",
    "group": "member",
    "decision": "approved",
    "date": "day",
    "period": "month",
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    score = rng.normal(size=300).round(3)
    days = [datetime.date(2023, 1, 1) + datetime.timedelta(days=day) for day in range(300)]
    return pa.table(
        {
            "score": score,
            "repaid": pa.array(
                [None if each < -1 else bool(each > u) for each, u in zip(score, rng.normal(size=300), strict=True)]
            ),
            "member": rng.random(300) < 0.4,
            "approved": score > rng.normal(size=300),
            "day": pa.array(days, pa.date32()),
        }
    )


def rows_of(table: pa.Table) -> list[list[Any]]:
    return [table.column_names, *([row[name] for name in table.column_names] for row in table.to_pylist())]


def write_lines(table: pa.Table, path: Path) -> None:
    rows = ({name: str(v) if name == "day" else v for name, v in row.items()} for row in table.to_pylist())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_words(truth: tuple[str, str]) -> Callable[[pa.Table, Path], None]:
    def write(table: pa.Table, path: Path) -> None:
        def text(name: str, value: object) -> str:
            plain = ("false", "true") if name == "member" else truth  # of groups, f is rather female than false
            return "" if value is None else plain[value][:] if isinstance(value, bool) else str(value)

        header, *rows = rows_of(table)
        lines = [",".join(text(name, value) for name, value in zip(header, row, strict=True)) for row in rows]
        path.write_text("\n".join([",".join(header), *lines]), encoding="utf-8")

    return write


def write_zip(table: pa.Table, path: Path) -> None:
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("data/README.txt", "what the columns mean")
        packed.writestr("__MACOSX/data/._people.csv", "no table")
        packed.writestr("data/people.csv", text.getvalue())


FILES: dict[str, tuple[str, Callable[[pa.Table, Path], object]]] = {
    "csv": ("people.csv", pa.csv.write_csv),
    "csv, True": ("people.csv", write_words(("False", "True"))),
    "csv, TRUE": ("people.csv", write_words(("FALSE", "TRUE"))),
    "csv, yes": ("people.csv", write_words(("no", "yes"))),
    "csv, Y": ("people.csv", write_words(("N", "Y"))),
    "csv, T": ("people.csv", write_words(("F", "T"))),
    "csv, 1": ("people.csv", write_words(("0", "1"))),
    "parquet": ("people.parquet", pq.write_table),
    "feather": ("people.feather", lambda t, p: pa.feather.write_feather(t, str(p))),
    "jsonl": ("people.jsonl", write_lines),
    "ndjson": ("PEOPLE.NDJSON", write_lines),
    "xlsx": ("people.xlsx", lambda t, p: write_excel(p, ("people", rows_of(t)))),
    "zip": ("people.zip", write_zip),
}


def same(found: Applicants, expected: Applicants) -> None:
    assert found.groups == expected.groups
    np.testing.assert_array_equal(found.cuts, expected.cuts)
    np.testing.assert_array_equal(found.counts, expected.counts)
    assert found.decisions is not None
    assert expected.decisions is not None
    np.testing.assert_array_equal(found.decisions, expected.decisions)
    assert found.history is not None
    assert expected.history is not None
    assert found.history.periods == expected.history.periods
    np.testing.assert_array_equal(found.history.counts, expected.history.counts)


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_of_file_gives_the_same_counts(kind: str, table: pa.Table, tmp_path: Path) -> None:
    name, write = FILES[kind]
    write(table, tmp_path / name)
    same(from_file(tmp_path / name, **COLUMNS), from_frame(table, **COLUMNS))


def test_every_kind_of_frame_gives_the_same_counts(table: pa.Table, tmp_path: Path) -> None:
    expected = from_frame(table, **COLUMNS)
    frame = table.to_pandas()
    pq.write_table(table, tmp_path / "people.parquet")
    frames = [
        frame,
        frame.assign(day=pd.to_datetime(frame["day"])),
        frame.assign(day=pd.to_datetime(frame["day"]).dt.strftime("%Y%m%d").astype(int)),
        frame.assign(day=frame["day"].astype(str) + "T23:59:59"),
        pl.from_arrow(table),
        pl.DataFrame(pl.from_arrow(table)).lazy(),
    ]
    for each in frames:
        same(from_frame(each, **COLUMNS), expected)
    same(from_file(query=f"select * from '{tmp_path / 'people.parquet'}'", **COLUMNS), expected)


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("people.csv", False),
        ("people.csv", True),
        ("people.jsonl", False),
        ("people.jsonl", True),
        ("people.parquet", False),
        ("people.xlsx", False),
        ("people.zip", False),
    ],
)
def test_what_comes_through_a_pipe_is_told_by_its_first_bytes(
    name: str, packed: bool, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FILES[name.rpartition(".")[2]][1](table, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(content) if packed else content)))
    same(from_file("-", **COLUMNS), from_frame(table, **COLUMNS))


def test_a_pipe_on_the_command_line(table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.BytesIO()
    pa.csv.write_csv(table, text)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.getvalue())))
    names = ("--score", "score", "--label", "repaid", "--group", "member", "--decision", "approved", "--date", "day")
    result = fairgate_here(
        "advise", "-", *names, "--seeds", "1", "--rounds", "5", "--feedback", "0", "--json", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["table"]["people"] == 300


def test_copies_are_removed(table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "copies"))
    (tmp_path / "copies").mkdir()
    write_zip(table, tmp_path / "people.zip")
    from_file(tmp_path / "people.zip", **COLUMNS)
    with pytest.raises(fg.InputError, match="'points' is not in the table"):
        from_file(tmp_path / "people.zip", **(COLUMNS | {"score": "points"}))
    assert list((tmp_path / "copies").iterdir()) == []


def test_a_zip_of_several_tables_or_none_is_refused(tmp_path: Path) -> None:
    for names, sentence in (
        (("a.csv", "b.csv"), "must have exactly one table inside, and has 2: 'a.csv', 'b.csv'"),
        (("notes.txt",), "and has none: 'notes.txt'"),
        ((), "and has none: it is empty"),
    ):
        with zipfile.ZipFile(tmp_path / "people.zip", "w") as packed:
            for name in names:
                packed.writestr(name, "score,repaid,member\n1,0,a\n")
        with pytest.raises(fg.InputError) as caught:
            from_file(tmp_path / "people.zip", score="score", label="repaid", group="member")
        assert sentence in str(caught.value)
    (tmp_path / "people.zip").write_text("no zip")
    with pytest.raises(fg.InputError, match=r"people\.zip' cannot be read as a zip file"):
        from_file(tmp_path / "people.zip", score="score", label="repaid", group="member")


def test_messages_about_a_table_in_a_zip_name_the_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "people.zip", "w") as packed:
        packed.writestr("broken.parquet", "no parquet")
    with pytest.raises(fg.InputError) as caught:
        from_file(tmp_path / "people.zip", score="score", label="repaid", group="member")
    assert f"file '{tmp_path}/people.zip/broken.parquet' cannot be read as Parquet" in str(caught.value)


def test_the_first_sheet_with_anything_on_it_is_read_and_said(tmp_path: Path) -> None:
    rows: list[list[object]] = [["score", "repaid", "member"], *([n, n > 4, "ab"[n % 2]] for n in range(10))]
    write_excel(tmp_path / "people.xlsx", ("empty", []), ("people", rows), ("notes", [["made", "by hand"]]))
    found = from_file(tmp_path / "people.xlsx", score="score", label="repaid", group="member")
    assert found.people == 10
    assert found.notes == ("The workbook has 2 sheets: the first, 'people', was read.",)


def test_lines_of_json_that_differ_in_type_or_are_none(tmp_path: Path) -> None:
    objects = [{"score": "0.5" if n % 7 == 0 else n / 20, "repaid": n % 2, "member": "ab"[n % 2]} for n in range(20)]
    lines = [json.dumps(each) for each in objects] + ["no json", "[1, 2]"]
    (tmp_path / "people.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = from_file(tmp_path / "people.jsonl", score="score", label="repaid", group="member")
    assert (found.rows, found.people, found.dropped) == (22, 20, {"line malformed": 2})
    (tmp_path / "people.jsonl").write_text("\n \n", encoding="utf-8")
    with pytest.raises(fg.InputError, match=r"people\.jsonl' is empty"):
        from_file(tmp_path / "people.jsonl", score="score", label="repaid", group="member")


@pytest.mark.parametrize(
    "address",
    ["https://example.org/people.csv", "s3://bucket/people.parquet", "gs://bucket/people.csv", "ftp://host/people.csv"],
)
def test_addresses_get_a_clear_no(address: str) -> None:
    for file in (address, Path(address)):  # a path makes one slash of two
        with pytest.raises(fg.InputError, match="is an address, and tables are read from this machine only: download"):
            from_file(file, score="score", label="repaid", group="member")
    with pytest.raises(fg.InputError, match="leave out file://"):
        from_file("file:///tmp/people.csv", score="score", label="repaid", group="member")
