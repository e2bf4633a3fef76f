"""The valid files that hostile ones are made of, each made once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

import fairgate as fg
from fairgate.live.audit import stored_log
from fairgate.live.export import export_log
from tests.command import fairgate_here
from tests.hostile.valid import CONFIG, SPEC, Valid, write_people
from tests.live.logs import opened
from tests.sweep.worlds import made


@pytest.fixture(scope="session")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Valid:
    """A folder with one valid file of each kind."""
    folder = tmp_path_factory.mktemp("valid")
    (folder / "gate.toml").write_text(CONFIG)
    with opened(str(folder / "gate.db"), SPEC) as lender:
        for _ in range(3):
            lender.decide(20)
            lender.outcomes(5)
        lender.override_one()
        with stored_log(lender.gate.engine, "credit") as log:
            export_log(log, folder / "credit.zip")
    with closing(sqlite3.connect(folder / "gate.db")) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
    write_people(folder / "people.parquet")
    columns = ("--score", "score", "--label", "paid", "--group", "sex", "--decision", "taken", "--parity", "0.2")
    done = fairgate_here("advise", "people.parquet", *columns, "--no-loops", "--out", "advice", cwd=folder)
    assert done.returncode == 0, done.stderr
    run = fg.simulate(fg.load_task("interior"), fg.OFS(), rounds=4, seeds=2)
    run.save(folder / "run.parquet")
    made({"rate": np.linspace(0.1, 0.5, 3)}, seeds=2).save(folder / "sweep.parquet")
    return Valid(folder)


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a reader unpacks lies here while it reads, and nothing is left of it."""
    folder = tmp_path_factory.mktemp("unpacked")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are bombs here; what they unpack to is counted against the same limits, only lower."""
    monkeypatch.setattr("fairgate.reading.UNPACKED", 4 << 20)
    monkeypatch.setattr("fairgate.reading.RATIO", 20)
    monkeypatch.setattr("fairgate.reading.ROWS", 1_000_000)
