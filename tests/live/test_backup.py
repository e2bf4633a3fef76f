"""Backup: a whole copy while the gate is in use, checked, and good to go on with in either database."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairgate.errors import InputError
from fairgate.live import Gate, Spec
from fairgate.live.backup import back_up, check_copy
from fairgate.live.database import writing
from fairgate.live.failures import ConflictError
from fairgate.live.keys import create_key, list_keys
from tests.command import fairgate_here

SPEC = Spec.read({"name": "credit", "groups": ["a", "b"], "grid": [0.25, 0.5, 0.75], "start": {"threshold": 0.5}})


@pytest.fixture
def gate(database_url: str) -> Iterator[Gate]:
    made = Gate(database_url, "credit", spec=SPEC)
    create_key(made, "app", ["read"])
    made.decide(["x", "y", "z"], ["a", "b", "a"], [0.1, 0.6, 0.9])
    made.outcomes(["y", "z"], [1, 0])
    made.override("x", True, "a person knows better")
    made.close()
    yield made
    made.shut()


def contents(gate: Gate) -> object:
    return gate.snapshot(), gate.log(), gate.cases(), list_keys(gate.engine, gate.name), gate.secret


def test_a_copy_has_everything_and_can_go_on(gate: Gate, database_url: str, tmp_path: Path) -> None:
    copied = back_up(database_url, str(tmp_path / "copy.db"))
    assert [(each.name, each.events, each.cases) for each in copied] == [("credit", gate.status().seq, 3)]
    assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name) == ["copy.db"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    other = Gate(str(tmp_path / "copy.db"), "credit", spec=SPEC)
    assert contents(other) == contents(gate)
    other.decide("later", "a", 0.7)
    assert check_copy(other.engine)[0].cases == 4
    other.shut()


def test_a_file_is_brought_back_to_postgresql(tmp_path: Path, postgresql_url: str) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=SPEC)
    gate.decide(["x", "y"], ["a", "b"], [0.1, 0.6])
    assert back_up(str(tmp_path / "gate.db"), postgresql_url)[0].cases == 2
    back = Gate(postgresql_url, "credit")
    assert contents(back) == contents(gate)
    Gate(postgresql_url, "leasing", spec=SPEC.model_copy(update={"name": "leasing"})).shut()  # gets the next number
    with pytest.raises(ConflictError, match="has gates already: name one without"):
        back_up(str(tmp_path / "gate.db"), postgresql_url)
    gate.shut()
    back.shut()


def test_a_copy_made_while_the_gate_decides_is_whole(gate: Gate, database_url: str, tmp_path: Path) -> None:
    stop = threading.Event()

    def decide() -> None:
        number = 0
        while not stop.is_set():
            gate.decide([f"n-{number}-{i}" for i in range(5)], ["a"] * 5, [0.6] * 5)
            number += 1

    writer = threading.Thread(target=decide)
    writer.start()
    try:
        found = [back_up(database_url, str(tmp_path / f"copy{i}.db"))[0] for i in range(4)]
    finally:
        stop.set()
        writer.join()
    assert all(each.cases % 5 == 3 for each in found)
    assert found == sorted(found, key=lambda each: each.events)


def test_a_log_that_is_not_whole_is_said(gate: Gate, database_url: str, tmp_path: Path) -> None:
    with writing(gate.engine) as connection:
        connection.exec_driver_sql("UPDATE events SET actor = 'nobody' WHERE seq = 3")
    with pytest.raises(InputError, match="gate 'credit': event 3 does not follow the one before: audit the database"):
        back_up(database_url, str(tmp_path / "copy.db"))
    with writing(gate.engine) as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE seq >= 3")
    with pytest.raises(InputError, match=r"the log ends at event 2, not \d+: audit the database"):
        back_up(database_url, str(tmp_path / "copy2.db"))


def test_nothing_is_overwritten(gate: Gate, database_url: str, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(InputError, match=r"copy\.db is there already"):
        back_up(database_url, str(tmp_path / "copy.db"))
    with pytest.raises(InputError, match="the copy must be elsewhere than the database"):
        back_up(database_url, database_url)
    with pytest.raises(InputError, match=r"copy.db cannot be (written|made): "):
        back_up(database_url, str(tmp_path / "none" / "copy.db"))
    assert (tmp_path / "copy.db").read_text() == "mine"


@pytest.mark.slow
def test_a_copy_that_is_killed_leaves_nothing_that_looks_like_one(
    gate: Gate, database_url: str, tmp_path: Path
) -> None:
    """A real process that kills itself while it copies, or before it checks the copy."""
    program = (
        "import os, signal, sys\n"
        "from fairgate.live import backup\n"
        "def die(*given): os.kill(os.getpid(), signal.SIGKILL)\n"
        "setattr(backup, sys.argv[3], die)\n"
        "backup.back_up(*sys.argv[1:3])\n"
    )
    copying = "insert_rows" if gate.engine.dialect.name == "postgresql" else "copy_pages"
    for step in (copying, "check_copy"):
        ended = subprocess.run([sys.executable, "-c", program, database_url, str(tmp_path / "copy.db"), step])
        assert ended.returncode == -signal.SIGKILL
        assert not (tmp_path / "copy.db").exists()
    assert back_up(database_url, str(tmp_path / "copy.db"))[0].cases == 3
    assert sorted(path.name for path in tmp_path.iterdir() if "copy" in path.name) == ["copy.db"]


def test_the_command_says_what_was_copied(tmp_path: Path) -> None:
    fairgate_here("live", "init", "credit", cwd=tmp_path)
    done = fairgate_here("live", "backup", "monday.db", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (noted,) = re.findall(r"(--head \w{64} --last 4)\n", done.stdout)
    assert done.stdout.startswith("credit: 4 events, 0 applications\n")
    assert sqlite3.connect(tmp_path / "monday.db").execute("SELECT name FROM gates").fetchall() == [("credit",)]
    assert "is there already" in fairgate_here("live", "backup", "monday.db", cwd=tmp_path).stderr
    (tmp_path / "credit.db").unlink()
    (tmp_path / "monday.db").rename(tmp_path / "credit.db")
    assert fairgate_here("live", "audit", *noted.split(), cwd=tmp_path).returncode == 0


def test_a_gate_goes_on_with_a_copy_that_is_put_in_the_place_of_its_database(tmp_path: Path) -> None:
    """What came after the copy is lost, but the log stays whole: the fold of lost events is dropped."""
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=SPEC)
    gate.decide("x", "a", 0.6)
    back_up(str(tmp_path / "gate.db"), str(tmp_path / "copy.db"))
    gate.decide("lost", "a", 0.6)
    other = Gate(str(tmp_path / "copy.db"), "credit")
    other.decide("elsewhere", "b", 0.6)  # as many events as the lost ones
    other.shut()
    gate.engine.dispose()
    for left in tmp_path.glob("gate.db*"):
        left.unlink()
    (tmp_path / "copy.db").rename(tmp_path / "gate.db")
    gate.decide("y", "a", 0.6)
    assert [each.id for each in gate.cases()] == ["x", "elsewhere", "y"]
    assert gate.audit().clean
    gate.shut()
