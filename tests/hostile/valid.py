"""Valid files that hostile ones are made of, and what every reader owes to a hostile one."""

from __future__ import annotations

import re
import subprocess
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

from fairgate.cli import app
from fairgate.errors import InputError
from tests.command import fairgate_here
from tests.live.logs import make_spec

CONFIG = """
[gate]
name = "credit"
groups = ["women", "men"]
[scores]
grid = [0.2, 0.4, 0.6, 0.8]
[constraints]
parity = 0.2
service = "0.2:0.9"
[start]
mode = "hold"
threshold = 0.4
[rounds]
people = 20
[database]
url = "gate.db"
"""

SPEC = make_spec(guards={}, label_due_days=30.0, start={"mode": "hold", "threshold": 0.4})
"""The spec that this file gives."""

LONGEST = 1500
"""Characters of the longest sentence: a file cannot make the program print all of it."""

LOGGED = re.compile(r"^\d{4}-\d\d-\d\dT\S+ (?:INFO|WARNING) .*\n", re.MULTILINE)
"""A line that a service logs."""

PARSED = typer.main.get_command(app)
"""The program with its options read already, which takes longer than most of its refusals."""

COLUMNS = ("--score", "score", "--label", "paid", "--group", "sex")


@dataclass(frozen=True)
class Valid:
    """The folder of the valid files."""

    folder: Path

    def bytes(self, name: str) -> bytes:
        """Return what is in one of them."""
        return (self.folder / name).read_bytes()


def people(count: int = 400) -> pa.Table:
    """Return a table of past decisions."""
    rng = np.random.default_rng(3)
    score = rng.random(count).round(3)
    taken = (score > 0.4).astype(int)
    paid = np.where(taken, (rng.random(count) < score) * 1.0, np.nan)
    sex = np.where(rng.random(count) < 0.5, "f", "m")
    return pa.table({"score": score, "paid": pa.array(paid, from_pandas=True), "sex": sex, "taken": taken})


def write_people(path: Path) -> None:
    """Write them."""
    pq.write_table(people(), path)


def seen(folder: Path) -> set[str]:
    """Return what lies in a folder: names."""
    return {str(each.relative_to(folder)) for each in folder.rglob("*")}


def ask(*arguments: str, cwd: Path, codes: tuple[int, ...] = (2,)) -> subprocess.CompletedProcess[str]:
    """Run the program, which must end with one of the codes, and with one sentence if it refuses."""
    with no_traceback(), patch("fairgate.cli.app", PARSED):
        done = fairgate_here(*arguments, cwd=cwd)
    assert done.returncode in codes, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    said = LOGGED.sub("", done.stderr)
    if done.returncode == 2 or said:
        one_sentence(said)
    assert "Traceback" not in done.stdout + done.stderr
    return done


@contextmanager
def no_traceback() -> Iterator[None]:
    """Turn what a reader must not raise into a failure that says where, as tracebacks may be a thousand frames long."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        where = [f"{Path(each.filename).name}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)]
        last = " ".join([each for each in where if not each.startswith(("core.py", "main.py"))][-8:])
        raise AssertionError(f"{type(error).__name__} {str(error)[:300]} ({last})") from None


def one_sentence(said: str) -> None:
    """Check that a refusal is one sentence, and not a long one."""
    assert said.startswith("fairgate: "), said[:2000]
    assert said.count("\n") == 1, said[:2000]
    assert len(said) <= LONGEST, said[:2000]
