"""What was acknowledged is kept: ledgers of writers against the log, and the log against a run without interruption."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import update

from fairgate.live import Gate, schema
from fairgate.live.audit import audit_log
from fairgate.live.database import connect, writing
from fairgate.live.fold import Fold
from fairgate.live.saving import save
from tests.live.kills import NAME, WRITERS, Ledger, label_of, ledger_path
from tests.live.plain_log import Log, check_log, read_log


@dataclass
class Kept:
    """How much was acknowledged and found."""

    requests: int
    decisions: int
    outcomes: int
    closes: int
    rounds: int
    events: int


def check_kept(url: str, folder: str) -> Kept:
    """Check that everything acknowledged is there once and nothing else, and that the state is that of the log."""
    log = read_log(url, NAME)
    check_log(log)
    kept = _check_ledgers(log, folder)
    assert audited(url), "the audit finds a fault"
    state = state_of(url)
    assert folded(log) == state, "the state is not what the log amounts to"
    assert learner_of(uninterrupted(log, Path(folder) / "again.db")) == learner_of(state)
    return kept


def _check_ledgers(log: Log, folder: str) -> Kept:
    case_of = {row["id"]: row for row in log.cases}
    label = {row["id"]: row["label"] for row in log.outcomes}
    closes = {event.seq: event for event in log.events if event.kind == "closed"}
    decided, labelled, asked_closes, requests = set(), set(), 0, 0
    for name in WRITERS:
        ledger = Ledger(ledger_path(folder, name))
        assert ledger.unanswered is None
        for asked, answered in ledger.pairs():
            requests += 1
            if asked["ask"] == "decide":
                rows = [case_of[each] for each in asked["ids"]]
                assert [log.spec.groups[row["group"]] for row in rows] == asked["groups"]
                assert [row["score"] for row in rows] == asked["scores"]
                assert [bool(row["accepted"]) for row in rows] == answered["accepted"]
                assert [row["round"] for row in rows] == answered["rounds"]
                decided.update(asked["ids"])
            elif asked["ask"] == "outcomes":
                assert [label[each] for each in asked["ids"]] == asked["labels"]
                labelled.update(asked["ids"])
            else:
                event = closes[answered["seq"]]
                assert (event.round, event.data["people"]) == (answered["round"], answered["people"])
                asked_closes += 1
    assert decided == set(case_of)
    assert labelled == set(label)
    assert all(label_of(each) == given for each, given in label.items())
    return Kept(requests, len(decided), len(labelled), asked_closes, len(closes), len(log.events))


def audited(url: str, name: str = NAME) -> bool:
    """Whether the audit finds the log clean."""
    gate = Gate(url, name)
    try:
        return audit_log(gate).clean
    finally:
        gate.shut()


def state_of(url: str, name: str = NAME) -> dict[str, Any]:
    """Return the state that a gate opened now has."""
    gate = Gate(url, name)
    try:
        return plain(gate.snapshot())
    finally:
        gate.shut()


def folded(log: Log) -> dict[str, Any]:
    """Return what the log amounts to from its first event on."""
    fold = Fold(log.spec)
    for event in log.events:
        fold.apply(event)
    return plain(save(fold))


def uninterrupted(log: Log, path: Path) -> dict[str, Any]:
    """Send the requests of a log, in its order, to a new gate with the same secret, and return the state it ends in."""
    Gate(str(path), log.spec.name, spec=log.spec).shut()
    engine = connect(str(path))
    with writing(engine) as connection:
        connection.execute(update(schema.gates).values(secret=log.secret))
    engine.dispose()
    gate = Gate(str(path), log.spec.name)
    labels: dict[int, list[dict[str, Any]]] = {}
    for row in log.outcomes:
        labels.setdefault(row["seq"], []).append(row)
    for event in log.events:
        if event.kind == "decided":
            rows = log.by_event[event.seq]
            groups = [log.spec.groups[row["group"]] for row in rows]
            found = gate.decide([row["id"] for row in rows], groups, [row["score"] for row in rows])
            assert found.accepted == [bool(row["accepted"]) for row in rows]
            assert found.rounds == [row["round"] for row in rows]
        elif event.kind == "outcomes":
            rows = labels[event.seq]
            gate.outcomes([row["id"] for row in rows], [row["label"] for row in rows])
        elif event.kind == "closed" and event.data["why"] == "call":
            assert gate.close().round == event.round
    state = plain(gate.snapshot())
    gate.shut()
    return state


def learner_of(state: dict[str, Any]) -> Any:
    """The learner's part of a state."""
    return state["learner"]


def plain(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state as a file has it, so that two can be compared."""
    found: dict[str, Any] = json.loads(json.dumps(state))
    return found
