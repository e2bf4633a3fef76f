"""A database of the first revision with data, as text: what later versions must be able to go on with.

``python -m tests.live.first_revision`` makes it again; that is right only before the first release.
"""

from __future__ import annotations

import sqlite3
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from fairgate.live import Gate, Spec
from fairgate.live.keys import create_key

DUMP = Path(__file__).with_name("first_revision.sql")


BACK = (
    "DROP TABLE ended_sessions; DROP TABLE replies; DROP INDEX cases_by_subject; ALTER TABLE cases DROP COLUMN subject;"
    "ALTER TABLE gates DROP COLUMN subject_key; UPDATE fairgate_revision SET version_num = '0001';"
)
"""What takes the tables of later revisions away again."""


class Clock:
    """A minute later each time it is looked at."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


def use(gate: Gate) -> None:
    """Do something of every kind."""
    rng = np.random.default_rng(20260105)
    create_key(gate, "application", ["decide"])
    for number in range(6):
        ids = [f"a-{number}-{place}" for place in range(12)]
        groups = rng.choice(["women", "men"], 12).tolist()
        decided = gate.decide(ids, groups, rng.random(12).round(3).tolist(), key=f"batch {number}")
        accepted = [each for each, yes in zip(ids, decided.accepted, strict=True) if yes]
        gate.outcomes(accepted[:-1], rng.integers(0, 2, len(accepted) - 1).tolist())
        if number == 1:
            gate.correct(accepted[:1], [1], "typed wrong")
        if number == 2:
            gate.set_mode("learn", "enough seen")
            one = gate.decide("b-1", "men", 0.3)
            gate.override("b-1", not one.accepted, "a person knows better")
            gate.close()


def write(path: Path) -> None:
    """Write the text."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "gate.db"
        spec = Spec.read(
            {
                "name": "credit",
                "groups": ["women", "men"],
                "grid": [0.25, 0.5, 0.75],
                "constraints": {"parity": 0.2},
                "rounds": {"people": 12},
                "start": {"mode": "hold", "threshold": 0.5},
            }
        )
        gate = Gate(str(place), "credit", spec=spec, clock=Clock())
        use(gate)
        gate.shut()
        connection = sqlite3.connect(place)
        connection.executescript(BACK)
        path.write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
        connection.close()


def load(path: Path) -> None:
    """Make the database that the text describes."""
    connection = sqlite3.connect(path)
    connection.executescript(DUMP.read_text(encoding="utf-8"))
    connection.close()


if __name__ == "__main__":
    write(DUMP)
