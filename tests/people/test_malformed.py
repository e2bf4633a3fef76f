"""Whatever a table holds, the program gives advice or says in one sentence what is wrong with which column."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.choice import choose
from fairgate.advice.findings import inspect
from fairgate.advice.steady import Response
from fairgate.advice.today import look
from fairgate.cli import main
from tests.people.excel import write_excel

NAMES = ("points", "paid", "kind")
MORE = ("kind2", "day", "size")

fields = st.one_of(
    st.sampled_from(["0,5", "1,234.5", "73%", "2024-01-31", "31.01.2024", "20240131", "T"]),
    st.sampled_from(["", "0", "1", "0.0", "1.0", "yes", "no", "NaN", "inf", "-inf", "NA", "true", '"', "a,b", "1e999"]),
    st.floats().map(repr),
    st.integers(-3, 3).map(str),
    st.text(max_size=4),
)
numbers = st.one_of(st.floats(-3, 3).map(lambda x: f"{x:.2f}"), st.sampled_from(["", "NaN", "0.5"]))
headers = st.one_of(
    st.just(list(NAMES)),
    st.just([*NAMES, *MORE]),
    st.lists(st.sampled_from([*NAMES, *MORE, "Points", "x", ""]), max_size=5),
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A CSV that is nearly right, or anything but."""
    header = draw(headers)
    kind = draw(st.sampled_from(["good", "good", "wild", "bytes"]))
    if kind == "bytes":
        return draw(st.binary(max_size=60))
    labels = draw(st.sampled_from([["0", "1"], ["0", "1", ""], ["yes", "no"], ["1"], [""], ["0", "1", "2"]]))
    groups = draw(st.sampled_from([["f", "m"], ["f", "m", ""], ["f"], ["1", "2", "3"], [""]]))
    more = (st.sampled_from(["0", "1", "yes", ""]), st.dates().map(str), st.sampled_from(["1", "0,5", "0", "x"]))
    good = st.tuples(
        numbers, st.sampled_from(labels), st.sampled_from(groups), *(more if len(header) == 6 else ())
    ).map(list)
    wild = st.lists(fields, max_size=5)
    rows = draw(st.lists(good if kind == "good" else st.one_of(good, wild), max_size=30))
    rows += draw(st.sampled_from([0, 0, 3])) * rows[:5]
    lines = [",".join(header), *(",".join(row) for row in rows)]
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines).encode("utf-8", errors="surrogatepass")


OPTIONS = [
    (),
    ("--positive", "yes"),
    ("--descending",),
    ("--parity", "0.2", "--service", "0.2:0.9"),
    ("--max-lost", "1", "--min-group", "1"),
    ("--decision", "kind2", "--date", "day", "--weight", "size", "--max-lost", "1"),
]
SMALL = ("--seeds", "1", "--rounds", "5", "--feedback", "0", "--json")


def gets_advice_or_one_sentence(path: Path, out: Path, piped: bytes, options: tuple[str, ...]) -> None:
    """Run the command; whatever happens, there is a report, or one sentence that says what is wrong where."""
    columns = ("--score", NAMES[0], "--label", NAMES[1], "--group", NAMES[2])
    said, told = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["fairgate", "advise", str(path), *columns, *SMALL, "--out", str(out), *options]),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped))),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(told),
    ):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    sentence = told.getvalue()
    assert (out / "report.json").exists() is (code == 0)
    if code == 0:
        assert sentence == ""
        return
    assert code == 2, sentence
    assert sentence.startswith("fairgate: ")
    assert sentence.count("\n") == 1, sentence
    known = (*NAMES, *MORE, str(path))
    assert any(repr(name) in sentence for name in known) or str(path) in sentence, sentence


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(texts(), st.sampled_from(OPTIONS))
def test_any_file_gets_advice_or_one_sentence(content: bytes, options: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        path.write_bytes(content)
        gets_advice_or_one_sentence(path, Path(folder) / "out", b"", options)


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 20240131),
    st.floats(-2, 2),
    st.floats(),
    st.sampled_from(["f", "m", "0,5", "73%", "yes", "2024-01-31", "", "1,234.5"]),
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"), max_size=4
    ),
)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a table that is nearly right, or anything but; some have fewer columns."""
    names = [*NAMES, *MORE]
    good = st.fixed_dictionaries(
        {
            NAMES[0]: st.floats(-3, 3).map(lambda x: round(x, 2)),
            NAMES[1]: draw(
                st.sampled_from([st.sampled_from(["yes", "no"]), st.booleans() | st.none(), st.integers(0, 1)])
            ),
            NAMES[2]: st.sampled_from(["f", "m"]),
            MORE[0]: st.sampled_from([0, 1]),
            MORE[1]: st.dates().map(str),
            MORE[2]: st.floats(0, 3),
        }
    )
    wild = st.dictionaries(st.sampled_from(names), cells)
    return draw(st.lists(good if draw(st.booleans()) else st.one_of(good, wild), max_size=25))


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.sampled_from(["jsonl", "xlsx", "zip", "pipe"]), st.sampled_from(OPTIONS), st.binary(max_size=40))
def test_any_file_of_a_newer_kind_gets_advice_or_one_sentence(
    rows: list[dict[str, Any]], kind: str, options: tuple[str, ...], noise: bytes
) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    lines += noise if len(noise) % 4 == 0 else b""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"people.{kind}"
        if kind == "jsonl":
            path.write_bytes(lines)
        elif kind == "xlsx":
            numbers = [[row.get(name) if row.get(name) == row.get(name) else None for name in names] for row in rows]
            write_excel(path, ("people", [names, *numbers] if names else []))
        elif kind == "zip":
            with zipfile.ZipFile(path, "w") as packed:
                packed.writestr("people.jsonl", lines)
        else:
            path = Path("-")
        gets_advice_or_one_sentence(path, Path(folder) / "out", lines, options)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.floats(),
    st.text(max_size=3),
    st.just(np.datetime64("2024-01-01")),
    st.integers(-(10**30), 10**30),
    st.binary(max_size=2),
    st.lists(st.integers(), max_size=2),
)
columns = st.one_of(
    st.lists(values, min_size=6, max_size=6),
    st.lists(st.floats(-1, 1), min_size=6, max_size=6),
    st.lists(st.sampled_from([0, 1, None]), min_size=6, max_size=6),
    st.lists(st.sampled_from(["f", "m"]), min_size=6, max_size=6),
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(columns, columns, columns, st.one_of(st.none(), values))
def test_any_frame_gets_advice_or_one_sentence(
    score: list[Any], label: list[Any], group: list[Any], positive: Any
) -> None:
    frame = pd.DataFrame(
        {name: pd.Series(each, dtype=object) for name, each in zip(NAMES, (score, label, group), strict=True)}
    )
    frame = frame.infer_objects()
    aims = Aims(constraints=[fg.DemographicParity(0.3)])
    try:
        people = fg.from_frame(frame, score=NAMES[0], label=NAMES[1], group=NAMES[2], positive=positive)
        inspect(people, aims)
        refused = ""
    except fg.InputError as error:
        refused = str(error)
    if refused:
        assert any(repr(name) in refused for name in NAMES), refused
        return
    found = look(people, aims)
    assert np.isfinite(found.reward).all()
    assert choose(people, aims.problem, Response(0.0, 0.0)).status in ("sure", "uncertain", "infeasible")
