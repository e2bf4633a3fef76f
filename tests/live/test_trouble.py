"""Trouble: a learner that fails, a log or a snapshot that is not what it was, a disk that is full, a wrong clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, update

from fairgate.learners import OFS
from fairgate.live import ConflictError, Gate, UnavailableError
from fairgate.live.audit import audit_log
from fairgate.live.database import writing
from fairgate.live.schema import cases, events, gates, snapshots
from tests.live.gates import Clock, make_spec, people


def opened(tmp_path: Path, **changes: Any) -> Gate:
    return Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(**changes))


@pytest.mark.parametrize("method", ["propose", "learn"])
@pytest.mark.parametrize("mode", ["learn", "hold", "shadow", "approve"])
def test_a_learner_that_fails_stops_no_decision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, mode: str
) -> None:
    gate = opened(tmp_path, start={"mode": mode, "threshold": 0.5})
    rng = np.random.default_rng(0)
    play(gate, rng, 0)
    gate.close()

    def fail(*_: object) -> None:
        raise ZeroDivisionError("no people")

    with monkeypatch.context() as broken:
        broken.setattr(OFS, method if method == "learn" else "choose", fail)
        for day in range(1, 4):
            play(gate, rng, day)
            gate.close()
        (failed,) = gate.log(limit=999, kind="failed")
        assert "ZeroDivisionError: no people" in failed.body["text"]
        assert {"learner"} <= {alarm.kind for alarm in gate.figures().alarms}
        assert gate.status().mode.mode == (mode if mode in ("hold", "shadow") else "hold")
        gate.hold("by hand", 0.75)
    assert audit_log(gate).clean
    play(gate, rng, 9, mode="hold")
    gate.resume("mended")  # it begins afresh
    play(gate, rng, 10, mode="learn")
    gate.close()
    assert "learner" not in {alarm.kind for alarm in gate.figures().alarms}
    assert gate.log(limit=999, newest=True, kind="opened")[0].body["proposal"] is not None
    assert audit_log(gate).clean
    gate.shut()


def play(gate: Gate, rng: np.random.Generator, day: int, mode: str | None = None) -> None:
    ids, groups, scores = people(rng, 20, 1000 * day)
    if (mode or gate.status().mode.mode) == "shadow":
        gate.report(ids, groups, scores, [score >= 0.5 for score in scores])
    else:
        gate.decide(ids, groups, scores)


def test_a_history_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    """The database loses its last events, as a standby that was behind, and others follow before this gate looks."""
    gate = opened(tmp_path)
    gate.decide(["a", "b"], ["women", "men"], [0.9, 0.1])
    seq = gate.status().seq
    gate.decide(["c"], ["men"], [0.9])
    with writing(gate.engine) as connection:
        connection.execute(delete(events).where(events.c.seq > seq))
        connection.execute(delete(cases).where(cases.c.seq > seq))
        head = connection.execute(events.select().where(events.c.seq == seq)).one().hash
        connection.execute(update(gates).values(last=seq, head=head))
    other = Gate(str(tmp_path / "gate.db"), "credit")
    for name in ("x", "y", "z"):
        other.decide(name, "women", 0.2)
    gate.close()
    assert gate.snapshot() == other.snapshot()
    assert audit_log(gate).clean
    other.shut()
    gate.shut()


def test_a_gate_that_was_made_again_is_not_written_to(tmp_path: Path) -> None:
    gate = opened(tmp_path)
    gate.decide("a", "women", 0.9)
    with writing(gate.engine) as connection:
        connection.execute(update(gates).values(secret=b"another"))
    for call in (gate.status, gate.close):
        with pytest.raises(UnavailableError, match="made again"):
            call()
    gate.shut()


@pytest.mark.parametrize("state", ["{", "{}", '{"seq": 3}'])
def test_a_snapshot_that_cannot_be_read_is_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr("fairgate.live.gate.SNAPSHOT_EVENTS", 3)
    gate = opened(tmp_path)
    rng = np.random.default_rng(0)
    for day in range(5):
        play(gate, rng, day)
        gate.close()
    whole = gate.snapshot()
    gate.shut()
    with writing(gate.engine) as connection:
        assert connection.execute(update(snapshots).values(state=state)).rowcount == 2
    gate = Gate(str(tmp_path / "gate.db"), "credit")
    assert gate.snapshot() == whole
    gate.decide("a", "women", 0.9)
    gate.shut()


def test_what_could_not_be_written_is_told_until_it_can(tmp_path: Path) -> None:
    gate = opened(tmp_path)
    gate.decide("a", "women", 0.9)
    with gate.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    def limit(count: int) -> None:
        gate.engine.dispose()
        from sqlalchemy import event

        @event.listens_for(gate.engine, "connect")
        def set_limit(dbapi_connection: Any, _: object) -> None:
            dbapi_connection.execute(f"PRAGMA max_page_count={count}")

    limit(pages)
    with pytest.raises(UnavailableError, match="full"):
        gate.decide(*people(np.random.default_rng(0), 5000, 1000))
    assert "full" in gate.trouble
    limit(10**6)
    gate.tick()
    assert gate.trouble == ""
    gate.shut()


def test_a_clock_that_was_ahead_holds_no_round_open(tmp_path: Path) -> None:
    clock = Clock()
    spec = make_spec(rounds={"people": None, "seconds": 60})
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec, clock=clock)
    clock.move(days=1000)
    gate.decide("a", "women", 0.9)
    clock.move(days=-1000)
    gate.tick()
    assert not gate.status().open
    assert audit_log(gate).clean
    gate.shut()


def test_the_decision_that_stands_is_repeated(tmp_path: Path) -> None:
    gate = opened(tmp_path, start={"mode": "hold", "threshold": 0.5})
    assert gate.decide("a", "women", 0.9).accepted
    gate.override("a", False, "fraud")
    again = gate.decide("a", "women", 0.9)
    assert (again.accepted, again.repeated) == (False, True)
    gate.close()
    assert gate.figures().history[0].acceptance == [0.0, None]
    gate.shut()


@pytest.mark.parametrize("mode", ["learn", "approve"])
def test_a_pause_is_not_undone_by_the_request_that_brought_it_about(tmp_path: Path, mode: Any) -> None:
    gate = opened(
        tmp_path,
        learner="accept-all",
        constraints={"service": [0.1, 0.3]},
        guards={"pause_if_broken": True},
    )
    gate.decide(*people(np.random.default_rng(0), 200))
    with pytest.raises(ConflictError, match="a guard paused the learner"):
        gate.set_mode(mode, "go on")
    assert [event.kind for event in gate.log(limit=3, newest=True)][:2] == ["paused", "closed"]
    assert gate.set_mode(mode, "yes, go on").mode.mode == mode
    gate.shut()


def test_steps_hold_for_lotteries_and_after_shadow(tmp_path: Path) -> None:
    spec = make_spec(learner="safe-forecast", guards={"step": 0.25, "pause_if_broken": False})
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=spec)
    rng = np.random.default_rng(0)
    last = [0.5]
    for day in range(6):
        play(gate, rng, day)
        gate.close()
        body = gate.log(limit=1, newest=True, kind="opened")[0].body
        now = [float(each) for component in body["policy"]["thresholds"] for each in component[0]]
        assert min(last) - 0.25 <= min(now)
        assert max(now) <= max(last) + 0.25
        last = now
    gate.set_mode("shadow", "our own rule")
    ids, groups, scores = people(rng, 100, 10**6)
    gate.report(ids, groups, scores, [score >= 1.0 for score in scores])
    gate.close()
    gate.resume("go on")
    status = gate.status()
    assert status.policy is not None
    played = [each for component in status.policy.components for each in component.thresholds.values()]
    assert min(float(each) for each in played) >= 0.75  # a step from what the own rule did, not from the start
    play(gate, rng, 2000)
    after = gate.status().policy
    assert after is not None
    assert after.components == status.policy.components  # what the status said before the next applicant came
    gate.shut()
