"""Whatever a table holds, the program gives advice or says in one sentence what is wrong with which column."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
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

NAMES = ("points", "paid", "kind")

fields = st.one_of(
    st.sampled_from(["", "0", "1", "0.0", "1.0", "yes", "no", "NaN", "inf", "-inf", "NA", "true", '"', "a,b", "1e999"]),
    st.floats().map(repr),
    st.integers(-3, 3).map(str),
    st.text(max_size=4),
)
numbers = st.one_of(st.floats(-3, 3).map(lambda x: f"{x:.2f}"), st.sampled_from(["", "NaN", "0.5"]))
headers = st.one_of(
    st.just(list(NAMES)), st.just(list(NAMES)), st.lists(st.sampled_from([*NAMES, "Points", "x", ""]), max_size=5)
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
    good = st.tuples(numbers, st.sampled_from(labels), st.sampled_from(groups)).map(list)
    wild = st.lists(fields, max_size=5)
    rows = draw(st.lists(good if kind == "good" else st.one_of(good, wild), max_size=30))
    rows += draw(st.sampled_from([0, 0, 3])) * rows[:5]
    lines = [",".join(header), *(",".join(row) for row in rows)]
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines).encode("utf-8", errors="surrogatepass")


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(
    texts(),
    st.sampled_from([(), ("--positive", "yes"), ("--descending",), ("--parity", "0.2", "--service", "0.2:0.9")]),
)
def test_any_file_gets_advice_or_one_sentence(content: bytes, options: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        path.write_bytes(content)
        names = ("--score", NAMES[0], "--label", NAMES[1], "--group", NAMES[2])
        size = ("--seeds", "1", "--rounds", "5", "--feedback", "0", "--json", "--out", str(path.parent / "out"))
        said, told = io.StringIO(), io.StringIO()
        with (
            patch.object(sys, "argv", ["fairgate", "advise", str(path), *names, *size, *options]),
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(told),
        ):
            try:
                main()
                code = 0
            except SystemExit as stop:
                code = int(stop.code or 0)
        sentence = told.getvalue()
        assert (Path(folder) / "out/report.json").exists() is (code == 0)
        if code == 0:
            assert sentence == ""
        else:
            assert code == 2, sentence
            assert sentence.startswith("fairgate: ")
            assert sentence.count("\n") == 1, sentence
            assert any(repr(name) in sentence for name in (*NAMES, str(path))) or str(path) in sentence, sentence


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
