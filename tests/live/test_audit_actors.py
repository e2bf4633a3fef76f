"""An event by a key needs a key that was good then and for that; times that go back are remarked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fairgate.live.events import START, Event, make_event
from fairgate.live.keys import create_key, revoke_key
from tests.live.logs import Lender, make_spec, opened
from tests.live.test_audit_tampering import events_of, read

SPEC = make_spec(start={"mode": "hold", "threshold": 0.4})


def write(lender: Lender) -> None:
    """Use a key for decisions and outcomes, one for the mode, and revoke them."""
    gate = lender.gate
    both = create_key(gate, "branch", ["decide", "rounds", "outcomes"], lender.clock.now + timedelta(days=9))
    chief = create_key(gate, "chief", ["admin"])
    create_key(gate, "plain", ["decide"])
    gate.decide(["x", "y"], ["men"] * 2, [0.9] * 2, actor="key:branch")
    gate.outcomes(["x", "y"], [1, 0], actor="key:branch")
    gate.correct(["x"], [0], "typed wrongly", actor="key:branch")
    gate.close(actor="key:branch")
    gate.decide("z", "men", 0.9, actor="key:branch")
    gate.override("z", False, "known to the branch", actor="key:chief")
    gate.set_mode("learn", "now", actor="key:chief")
    create_key(gate, "later", ["decide"], actor="key:chief")
    revoke_key(gate, both.split("_")[1], actor="key:chief")
    gate.decide("in flight", "men", 0.9, actor="key:branch")
    create_key(gate, "branch", ["decide"], actor="key:chief")
    lender.clock.now += timedelta(days=1)
    gate.decide("by the second of that name", "men", 0.9, actor="key:branch")
    revoke_key(gate, chief.split("_")[1])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "gate.db"
    with opened(str(path), SPEC) as lender:
        write(lender)
        report = lender.gate.audit()
    assert (report.clean, report.first, report.remarks) == (True, None, [])
    return path


def rewrite(source: Path, target: Path, which: int, **fields: Any) -> None:
    """Copy a log, change fields of one event, and make the chain again."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target, isolation_level=None)) as new:
        old.backup(new)
        head = START
        for event in events_of(new):
            changed = event._replace(**fields) if event.seq == which else event
            made = make_event(head, *changed[:3], changed.data, changed.at, changed.actor, changed.key, changed.request)
            head = made.hash
            values = (made.actor, made.at, made.hash, made.seq)
            new.execute("UPDATE events SET actor = ?, at = ?, hash = ? WHERE seq = ?", values)
        new.execute("UPDATE gates SET head = ?", (head,))


def found_in(path: Path, kind: str, last: bool = False) -> Event:
    with closing(sqlite3.connect(path)) as connection:
        return [each for each in events_of(connection) if each.kind == kind][-1 if last else 0]


@pytest.mark.parametrize(
    ("kind", "actor", "text"),
    [
        ("decided", "key:nobody", "no event before it added a key of that name"),
        ("decided", "key:later", "no event before it added a key of that name"),
        ("decided", "key:chief", "is for admin, and this needs decide"),
        ("closed", "key:chief", "is for admin, and this needs rounds"),
        ("closed", "key:plain", "is for decide, and this needs rounds"),
        ("opened", "key:nobody", "no event before it added a key of that name"),
        ("outcomes", "key:chief", "is for admin, and this needs outcomes"),
        ("corrected", "key:chief", "this needs outcomes"),
        ("overridden", "key:branch", "is for decide, outcomes, rounds, and this needs admin"),
        ("mode", "key:branch", "this needs admin"),
        ("key-revoked", "key:branch", "this needs admin"),
        ("created", "key:chief", "no event before it added"),
    ],
)
def test_an_actor_whose_key_is_not_for_it_is_found(log: Path, tmp_path: Path, kind: str, actor: str, text: str) -> None:
    event = found_in(log, kind)
    rewrite(log, tmp_path / "gate.db", event.seq, actor=actor)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == event.seq
    assert text in report.first.text


def test_an_event_after_the_key_was_revoked_is_found_whatever_its_time(log: Path, tmp_path: Path) -> None:
    event = found_in(log, "decided", last=True)
    early = found_in(log, "decided").at
    for at in (event.at, early):
        rewrite(log, tmp_path / "gate.db", event.seq, actor="key:chief", at=at)
        report = read(tmp_path / "gate.db")
        assert report.first is not None
        assert (report.first.seq, "is for admin" in report.first.text) == (event.seq, True)
    end = found_in(log, "key-revoked", last=True)
    rewrite(log, tmp_path / "gate.db", end.seq, actor="key:chief")
    assert read(tmp_path / "gate.db").clean


def test_revoked_and_expired_keys_are_good_no_more(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), SPEC) as lender:
        gate = lender.gate
        ends = create_key(gate, "ends", ["decide"])
        create_key(gate, "expires", ["decide"], lender.clock.now + timedelta(days=2))
        gate.decide("a", "men", 0.9, actor="key:expires")
        revoke_key(gate, ends.split("_")[1])
        lender.clock.now += timedelta(minutes=2)
        gate.decide("b", "men", 0.9, actor="key:expires")
        assert gate.audit().clean
        gate.decide("c", "men", 0.9, actor="key:ends")
        lender.clock.now += timedelta(days=2)
        gate.decide("d", "men", 0.9, actor="key:expires")
        lender.clock.now -= timedelta(days=2, minutes=30)  # a time at which the first key was still good
        gate.decide("e", "men", 0.9, actor="key:ends")
        report = gate.audit()
    assert [each.text for each in report.findings] == [
        "its actor is the key 'ends', which was revoked or had expired",
        "its actor is the key 'expires', which was revoked or had expired",
        "its actor is the key 'ends', which was revoked or had expired",
    ]


def test_a_clock_that_went_back_is_a_remark_and_no_finding(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), SPEC) as lender:
        lender.single()
        lender.clock.now -= timedelta(minutes=59)
        lender.single()
        report = lender.gate.audit()
        assert (report.clean, report.remarks) == (True, [])
        for _ in range(7):
            lender.clock.now -= timedelta(hours=3)
            lender.single()
            lender.single()
        report = lender.gate.audit()
    assert report.clean
    assert len(report.remarks) == 6
    assert report.remarks[0].startswith("The clock went back by 3:")
    assert report.remarks[-1] == "The clock went back 2 more times."


def test_a_time_that_is_none_is_found(log: Path, tmp_path: Path) -> None:
    event = found_in(log, "outcomes")
    for at in ("yesterday", "2026-01-01T00:00:00"):
        rewrite(log, tmp_path / "gate.db", event.seq, at=at)
        report = read(tmp_path / "gate.db")
        assert report.first is not None
        assert report.first.seq == event.seq
        assert "its time must be" in report.first.text
