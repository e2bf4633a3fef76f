"""Tables of every kind give the same counts, what cannot be used is left out and counted, many rows are no trouble."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairgate as fg
from fairgate.advice import Aims, advise
from fairgate.advice.report.output import document
from fairgate.people import Applicants, from_file
from fairgate.people.intake import BINS
from tests.advice.people import SERVICE

COLUMNS: dict[str, Any] = {"score": "score", "label": "label", "group": "group"}
AIMS = Aims(constraints=[fg.DemographicParity(0.15), fg.ServiceRate(0.4, 0.8)], feedback=(0.0, 0.5), seeds=1, rounds=10)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    made = SERVICE.draw(700, np.random.default_rng(0), missing=0.5)
    names = pa.array(np.where(made["group"].to_numpy() == 0, "f", "m"))
    return made.set_column(2, "group", names).append_column("other", pa.array(range(700)))


def as_file(ending: str, write: Callable[[pa.Table, Path], object]) -> Callable[[pa.Table, Path], Applicants]:
    def read(table: pa.Table, folder: Path) -> Applicants:
        path = folder / f"people.{ending}"
        write(table, path)
        return from_file(path, **COLUMNS)

    return read


def as_duckdb(table: pa.Table, folder: Path) -> Applicants:
    with duckdb.connect(str(folder / "people.duckdb")) as database:
        database.register("arrow", table)
        database.execute("create table people as select * from arrow")
    return from_file(folder / "people.duckdb", **COLUMNS)


def as_query(table: pa.Table, folder: Path) -> Applicants:
    pq.write_table(table, folder / "people.parquet")
    return from_file(query=f"select * from '{folder / 'people.parquet'}'", **COLUMNS)


def write_gzip(table: pa.Table, path: Path) -> None:
    with gzip.open(path, "wb") as file:
        pa.csv.write_csv(table, file)


KINDS: dict[str, Callable[[pa.Table, Path], Applicants]] = {
    "csv": as_file("csv", pa.csv.write_csv),
    "tsv": as_file("tsv", lambda t, p: pa.csv.write_csv(t, p, pa.csv.WriteOptions(delimiter="\t"))),
    "semicolons": as_file("csv", lambda t, p: pa.csv.write_csv(t, p, pa.csv.WriteOptions(delimiter=";"))),
    "csv.gz": as_file("csv.gz", write_gzip),
    "parquet": as_file("parquet", pq.write_table),
    "arrow": as_file("arrow", lambda t, p: pa.feather.write_feather(t, str(p), compression="uncompressed")),
    "feather": as_file("feather", lambda t, p: pa.feather.write_feather(t, str(p))),
    "duckdb": as_duckdb,
    "query": as_query,
    "pandas": lambda table, folder: fg.from_frame(table.to_pandas(), **COLUMNS),
    "pandas categories": lambda table, folder: fg.from_frame(
        table.to_pandas().astype({"group": "category"}), **COLUMNS
    ),
    "polars": lambda table, folder: fg.from_frame(pl.from_arrow(table), **COLUMNS),
    "polars lazy": lambda table, folder: fg.from_frame(pl.DataFrame(pl.from_arrow(table)).lazy(), **COLUMNS),
}


@pytest.fixture(scope="module")
def report(table: pa.Table) -> dict[str, Any]:
    return document(advise(fg.from_frame(table, **COLUMNS), AIMS), "")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_report(
    kind: str, table: pa.Table, report: dict[str, Any], tmp_path: Path
) -> None:
    reference, found = fg.from_frame(table, **COLUMNS), KINDS[kind](table, tmp_path)
    np.testing.assert_array_equal(found.counts, reference.counts)
    np.testing.assert_array_equal(found.cuts, reference.cuts)
    assert document(advise(found, AIMS), "") == report


def test_results_come_back_as_the_same_kind_of_frame(table: pa.Table) -> None:
    found = advise(fg.from_frame(table, **COLUMNS), AIMS)
    frames: dict[type, Any] = {
        pd.DataFrame: found.thresholds_frame(like=table.to_pandas()),
        pl.DataFrame: found.thresholds_frame(like=pl.from_arrow(table)),
        pa.Table: found.thresholds_frame(like=table),
    }
    for kind, frame in frames.items():
        assert type(frame).__name__ == kind.__name__
        assert frame["threshold"].to_numpy().tolist() == found.today.thresholds.tolist()
    with pytest.raises(fg.InputError, match="like must be a table of pandas, polars or pyarrow, got int"):
        found.thresholds_frame(like=3)
    with pytest.raises(fg.InputError, match="frame must be a table of pandas, polars or pyarrow, got list"):
        fg.from_frame([1, 2], **COLUMNS)


def test_a_higher_score_that_is_worse_is_turned_round_and_shown_as_it_was(table: pa.Table) -> None:
    turned = table.set_column(0, "score", pa.array(-table["score"].to_numpy()))
    up, down = fg.from_frame(table, **COLUMNS), fg.from_frame(turned, **COLUMNS, descending=True)
    np.testing.assert_array_equal(up.counts, down.counts)
    one, other = advise(up, AIMS), advise(down, AIMS)
    assert one.recommendation.threshold == -other.recommendation.threshold
    assert other.recommendation.rule.startswith("score ≤ ")
    accepted = (turned["score"].to_numpy() <= other.recommendation.threshold).mean()
    assert accepted == pytest.approx(other.recommendation.acceptance.value)


@pytest.mark.parametrize("people", [BINS, 3 * BINS + 17])
def test_many_distinct_scores_are_binned_at_quantiles_and_cuts_stay_exact(people: int) -> None:
    rng = np.random.default_rng(0)
    scores = rng.permutation(np.exp(rng.normal(size=people)))
    made = pa.table({"score": scores, "label": rng.integers(2, size=people), "group": rng.integers(2, size=people)})
    found = fg.from_frame(made, **COLUMNS)
    assert len(found.cuts) == BINS
    assert found.exact is (people == BINS)
    assert found.counts.sum(axis=(0, 2)).max() <= people // BINS + 1
    accepted = found.above.sum(axis=(0, 2))
    for place in (0, 1, 2000, BINS - 1):
        assert accepted[place] == (scores >= found.cuts[place]).sum()
    coarse = found.coarsened(100)
    assert len(coarse.cuts) == 100
    assert set(coarse.cuts) <= set(found.cuts)
    assert coarse.people == found.people


def test_rows_without_score_or_group_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "score,label,group\n1,0,f\nNaN,1,f\n,1,m\ninf,1,m\nhigh,0,f\n2,1,\n3,,m\n4,1,m\n5,1,f,6\n", encoding="utf-8"
    )
    found = from_file(tmp_path / "people.csv", **COLUMNS, max_lost=1.0)
    assert (found.rows, found.people, found.missing) == (9, 3, 1)
    assert found.dropped == {
        "score not a number": 3,
        "score infinite": 1,
        "group missing": 1,
        "line malformed": 1,
    }


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        (["0", "1", "1.0", "0.0"], None, [0, 1, 1, 0]),
        ([True, False, None, True], None, [1, 0, None, 1]),
        (["TRUE", "false", "", "True"], None, [1, 0, None, 1]),
        (["yes", " no ", "late", "yes"], "yes", [1, 0, 0, 1]),
        ([2, 1, 2, None], 2, [1, 0, 1, None]),
        ([2.0, 1.0, 2.0, float("nan")], "2", [1, 0, 1, None]),
    ],
)
def test_labels_are_read_as_people_write_them(labels: list[Any], positive: Any, expected: list[int | None]) -> None:
    made = pa.table({"score": [1, 2, 3, 4], "label": labels, "group": ["a"] * 4})
    found = fg.from_frame(made, **COLUMNS, positive=positive)
    wanted = [2 if value is None else value for value in expected]
    assert found.counts[0].argmax(axis=1).tolist() == wanted


def test_a_byte_order_mark_quotes_and_other_scripts_do_no_harm(tmp_path: Path) -> None:
    text = '\ufeff"Ergebnis, gesamt";label;größe\n"0.5";1;"klein; sehr"\n"0.7";0;groß\n'
    (tmp_path / "people.csv").write_text(text, encoding="utf-8")
    found = from_file(tmp_path / "people.csv", score="Ergebnis, gesamt", label="label", group="größe")
    assert found.groups == ("groß", "klein; sehr")


@pytest.mark.parametrize(
    ("frame", "changes", "sentence"),
    [
        ({"label": None, "group": None}, {}, "the label column 'label' is not in the table: Its columns: 'score'"),
        ({"score": None, "Score": [1, 2]}, {}, "'score' is not in the table: did you mean 'Score'"),
        ({}, {"score": "label"}, "score and label are both the column 'label'"),
        ({"score": [None, None]}, {}, "'score' has no number in any of 2 rows, all are missing, NaN or infinite"),
        ({"score": ["low", "high"]}, {}, "'score' has no number in any of 2 rows, got 'low', 'high'"),
        ({"score": [[1], [2]]}, {}, "'score' must be numbers, but is of type list"),
        ({"score": [], "label": [], "group": []}, {}, "the table of pyarrow has no rows"),
        ({"label": [None, None]}, {}, "'label' is missing for every row"),
        ({"label": ["owed", "paid"]}, {}, "'label' must be 0 or 1, got 'owed', 'paid': say which of them counts as 1"),
        ({"label": [0.5, 1]}, {}, "'label' must be 0 or 1, got '0.5', '1'"),
        ({"label": ["no", "yes"]}, {"positive": "Yes"}, "positive 'Yes' is no label of the column 'label'"),
        ({"group": [None, None]}, {}, "the group column 'group' is missing for all 2 rows"),
    ],
)
def test_tables_that_cannot_be_used_get_one_sentence(
    frame: dict[str, Any], changes: dict[str, Any], sentence: str
) -> None:
    good = {"score": [1, 2], "label": [0, 1], "group": ["f", "m"]}
    made = pa.table({name: values for name, values in (good | frame).items() if values is not None})
    with pytest.raises(fg.InputError) as caught:
        fg.from_frame(made, **(COLUMNS | changes))
    assert sentence in str(caught.value)


def test_a_column_of_names_is_no_group() -> None:
    made = pa.table({"score": range(100), "label": [0, 1] * 50, "group": [f"person {n}" for n in range(100)]})
    with pytest.raises(fg.InputError, match="the group column 'group' has more than 50 different values"):
        fg.from_frame(made, **COLUMNS)


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("score,label,group,score\n1,0,f,2\n", encoding="utf-8")
    with pytest.raises(fg.InputError, match="the score column 'score' is in the table more than once"):
        from_file(tmp_path / "people.csv", **COLUMNS)
    frame = pd.DataFrame([[1, 0, "f", 2]], columns=["score", "label", "group", "score"])
    with pytest.raises(fg.InputError, match="the column 'score' is in the table more than once"):
        fg.from_frame(frame, **COLUMNS)


def test_columns_of_several_types_are_read_as_words() -> None:
    frame = pd.DataFrame({"score": [1, "2", 3.5, None], "label": [True, "0", 1, 0.0], "group": ["f", 1, 2.5, "f"]})
    found = fg.from_frame(frame, **COLUMNS, max_lost=0.25)
    assert (found.people, found.groups) == (3, ("1", "2.5", "f"))


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(
    st.lists(finite | st.floats(0.3333333, 0.3333334) | st.integers(-9, 9).map(float), min_size=2, max_size=30),
    st.booleans(),
    st.integers(1, 30),
)
def test_a_threshold_as_it_is_written_accepts_the_same_people(scores: list[float], descending: bool, bins: int) -> None:
    table = pa.table({"score": scores, "label": [0, 1] * (len(scores) // 2) + [1] * (len(scores) % 2), "group": scores})
    people = fg.from_frame(
        table.set_column(2, "group", pa.array(["a"] * len(scores))), **COLUMNS, descending=descending
    )
    for joined in (people, people.coarsened(bins)):
        for place, cut in enumerate(joined.shown(joined.cuts).tolist()):
            written = float(joined.words(place))
            assert [each == written or (each < written) == descending for each in scores] == [
                each == cut or (each < cut) == descending for each in scores
            ]


def test_thresholds_of_many_scores_are_written_exactly_enough() -> None:
    scores = np.random.default_rng(0).normal(size=3 * BINS) * 1e-3 + 0.5
    table = pa.table({"score": scores, "label": np.arange(len(scores)) % 2, "group": np.arange(len(scores)) % 2})
    people = fg.from_frame(table, **COLUMNS).coarsened()
    assert not people.exact
    for place, cut in enumerate(people.cuts):
        written = people.words(place)
        assert (scores >= float(written)).sum() == (scores >= cut).sum()
        assert len(written) <= 12
