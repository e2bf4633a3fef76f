"""An input format added from one file outside the package works in Python and on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairgate as fg
from fairgate.advice.example import example_table
from fairgate.people.sources import READERS
from tests.extending.harm import read_lines

NAMES: dict[str, Any] = {"score": "risk_score", "label": "repaid", "group": "sex"}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "people.lines"
    file.write_text("".join(json.dumps(row) + "\n" for row in example_table().to_pylist()), encoding="utf-8")
    (tmp_path / "harm.py").write_text(Path(__file__).with_name("harm.py").read_text(encoding="utf-8"), encoding="utf-8")
    return file


def test_a_registered_ending_is_read(lines: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(fg.InputError, match=r"people.lines' must end in one of .csv, .*, got '.lines'"):
        fg.from_file(lines, **NAMES)
    monkeypatch.setattr("fairgate.people.sources.READERS", dict(READERS))
    fg.people.register(".lines", read_lines)
    people = fg.from_file(lines, **NAMES)
    assert (people.counts == fg.from_frame(example_table(), **NAMES).counts).all()
    lines.write_text("no json\n", encoding="utf-8")
    with pytest.raises(fg.InputError, match=r"people\.lines' cannot be read: Expecting value"):
        fg.from_file(lines, **NAMES)


def test_a_reader_is_named_on_the_command_line(lines: Path) -> None:
    options = [word for name, column in NAMES.items() for word in (f"--{name}", column)]
    command = [sys.executable, "-m", "fairgate", "advise", lines.name, "--reader", "harm:read_lines", *options]
    told = subprocess.run(
        [*command, "--parity", "0.1", "--seeds", "1", "--rounds", "10", "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=lines.parent,
    )
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["table"]["people"] == 500
