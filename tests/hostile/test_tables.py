"""Tables that strangers made: advise, audit, monitor and from_file refuse them with a sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fairgate as fg
from fairgate.people.text_files import _ends_arrow
from tests.hostile.tables import REFUSED
from tests.hostile.valid import COLUMNS, Valid, ask, no_traceback, seen

BY_ALL = (
    *(
        "Parquet of a huge number of rows",
        "Parquet of lists for scores",
        "Arrow of short buffers",
        "a zip that is a bomb",
    ),
    *(
        "Excel of two corners",
        "CSV that gzip packed, a bomb",
        "JSON lines nested",
        "Parquet of names of control characters",
    ),
)
"""Tables that every command is given; the others, which are read the same way, only Python is."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    file, content = REFUSED[name]()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / file).write_bytes(content)
    before = seen(tmp_path)
    with no_traceback(), pytest.raises(fg.InputError) as refused:
        fg.from_file(tmp_path / "inner" / file, score="score", label="paid", group="sex")
    assert len(str(refused.value).splitlines()) == 1
    assert seen(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (b'{"a": 1}\n' * 3, False),
        (b'{"a": "[[[[ null"}\n\n{"a": [1]}', False),
        (b" \t null", True),
        (b'{"a": 1}\n{"a": 2}\r\nnull\n', True),
        (b"\xef\xbb\xbfnull\n", True),
        (b'{"a":' * 101, True),
        (b'{"a": "]]]]]]", "b":\n' * 101, True),
        (b'{"a": "' + b"[" * 300 + b'"}\n', False),
    ],
)
def test_what_would_end_arrow_is_known_before(tmp_path: Path, text: bytes, ends: bool) -> None:
    (tmp_path / "people.jsonl").write_bytes(text)
    assert _ends_arrow(tmp_path / "people.jsonl") is ends


@pytest.mark.parametrize("name", BY_ALL)
def test_every_command_refuses_it(valid: Valid, tmp_path: Path, name: str) -> None:
    file, content = REFUSED[name]()
    (tmp_path / file).write_bytes(content)
    shutil.copytree(valid.folder / "advice", tmp_path / "advice")
    ask("advise", file, *COLUMNS, "--out", "out", cwd=tmp_path)
    ask("audit", file, "--decision", "paid", "--group", "sex", "--score", "score", "--out", "out", cwd=tmp_path)
    ask("monitor", file, "--against", "advice", cwd=tmp_path)
    assert {each.name for each in tmp_path.iterdir()} <= {file, "advice", "out"}
