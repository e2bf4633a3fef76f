"""Under concurrency the log is one history that agrees with the clock: nobody is decided by a policy not in force."""

from __future__ import annotations

import heapq
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from fairgate.live import Gate
from tests.live.databases import fresh_database, memory_folder
from tests.live.history import Note, Plan, read_notes
from tests.live.kept import folded, state_of
from tests.live.kills import kill_spec
from tests.live.plain_log import Log, check_log, read_log


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database; that of SQLite in memory, as nothing here is about durability."""
    if request.param == "sqlite":
        with memory_folder() as folder:
            yield str(folder / "gate.db")
    else:
        with fresh_database(request.getfixturevalue("postgresql")) as made:
            yield made


@pytest.fixture
def history(url: str, tmp_path: Path) -> tuple[Log, list[Note], dict[str, Any]]:
    """What twelve threads of three processes noted, the log, and the state of a gate opened afterwards."""
    spec = kill_spec()
    Gate(url, spec.name, spec=spec).shut()
    plan = Plan(url, str(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.live.history"], input=json.dumps(asdict(plan)), capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    notes = read_notes(tmp_path)
    assert len(notes) == plan.processes * plan.threads * plan.requests
    return read_log(url, spec.name), notes, state_of(url)


@pytest.mark.slow
def test_the_log_is_one_history_that_agrees_with_the_clock(history: tuple[Log, list[Note], dict[str, Any]]) -> None:
    log, notes, state = history
    check_log(log)  # one round is open at a time, in order, and its policy decided everybody
    _nothing_is_lost(log, notes)
    _order_is_that_of_the_clock(log, notes)
    _what_was_read_was_so(log, notes)
    assert folded(log) == state


def _nothing_is_lost(log: Log, notes: list[Note]) -> None:
    case_of = {row["id"]: row for row in log.cases}
    labels = {row["id"]: row["label"] for row in log.outcomes}
    for note in notes:
        if note.kind == "decide":
            rows = [case_of[each] for each in note.ids]
            assert note.reply["accepted"] == [bool(row["accepted"]) for row in rows]
            assert note.reply["rounds"] == [row["round"] for row in rows]
        elif note.kind == "outcomes":
            assert [labels[each] for each in note.ids] == [len(each) % 2 for each in note.ids]
    assert sum(len(note.ids) for note in notes if note.kind == "decide") == len(case_of)
    assert sum(len(note.ids) for note in notes if note.kind == "outcomes") == len(labels)
    closes = [note.reply["seq"] for note in notes if note.kind == "close"]
    assert len(set(closes)) == len(closes), "two were told that they closed the same round"


def _order_is_that_of_the_clock(log: Log, notes: list[Note]) -> None:
    """Whatever was answered before something else was asked stands before it in the log.

    A decision stands between the events that open and close its round. So this round was open at a moment between
    asking and answer: had its end been known to anybody before it was asked, it would stand after that end.
    """
    seq_of = {row["id"]: row["seq"] for row in log.cases}
    done: list[tuple[float, int]] = []  # answered, and in which event
    latest = 0
    for note in notes:
        while done and done[0][0] < note.asked:
            latest = max(latest, heapq.heappop(done)[1])
        if note.kind == "close by number":  # perhaps long ago, by others
            assert log.events[note.reply["seq"] - 1].kind == "closed"
            assert log.events[note.reply["seq"] - 1].round == note.reply["round"]
            continue
        seq = seq_of[note.ids[0]] if note.kind == "decide" else note.reply["seq"]
        later = seq >= latest if note.kind == "status" else seq > latest
        assert later, f"{note} is event {seq}, but event {latest} had been answered before"
        heapq.heappush(done, (note.answered, seq))


def _what_was_read_was_so(log: Log, notes: list[Note]) -> None:
    """A status tells the round and mode that the log has at its event."""
    is_open, rounds, now = [], [], (False, 0)
    for event in log.events:
        now = {"opened": (True, event.round), "closed": (False, event.round + 1)}.get(event.kind, now)
        is_open.append(now[0])
        rounds.append(now[1])
    for note in notes:
        if note.kind == "status":
            place = note.reply["seq"] - 1
            assert (note.reply["open"], note.reply["round"]) == (is_open[place], rounds[place])
            assert note.reply["head"] == log.events[place].hash
