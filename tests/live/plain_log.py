"""A plain, slow check of a gate's log: written apart from the audit, so that both would have to be wrong alike."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Engine, select

from fairgate.live import schema
from fairgate.live.database import connect
from fairgate.live.events import START, Event, People, draws_of
from fairgate.live.spec import Spec
from fairgate.policy import Policy


@dataclass
class Log:
    """Everything a gate has written."""

    spec: Spec
    secret: bytes
    last: int
    head: str
    events: list[Event]
    cases: list[dict[str, Any]]  # in the order in which they were decided
    outcomes: list[dict[str, Any]]
    overrides: dict[str, bool]
    by_event: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.cases:
            self.by_event.setdefault(row["seq"], []).append(row)


def read_log(url: str, name: str) -> Log:
    """Read all rows of a gate."""
    engine = connect(url)
    try:
        return _read(engine, name)
    finally:
        engine.dispose()


def _read(engine: Engine, name: str) -> Log:
    with engine.connect() as connection:
        gate = connection.execute(select(schema.gates).where(schema.gates.c.name == name)).one()
        tables = {}
        for table, order in (
            (schema.events, ("seq",)),
            (schema.cases, ("seq", "place")),
            (schema.outcomes, ("seq", "id")),
            (schema.overrides, ("id",)),
        ):
            query = select(table).where(table.c.gate == gate.number).order_by(*(table.c[each] for each in order))
            tables[table.name] = [dict(row._mapping) for row in connection.execute(query)]
    events = [Event(*(row[column] for column in Event._fields)) for row in tables["events"]]
    overrides = {row["id"]: bool(row["accepted"]) for row in tables["overrides"]}
    spec = Spec.read(events[0].data["spec"])
    return Log(spec, gate.secret, gate.last, gate.head, events, tables["cases"], tables["outcomes"], overrides)


def check_log(log: Log) -> None:
    """Check chain, order of rounds, policies that decided, draws, tallies, and that nothing is there twice."""
    _check_chain(log)
    _check_rounds(log)
    _check_outcomes(log)


def _check_chain(log: Log) -> None:
    before = START
    for number, event in enumerate(log.events, start=1):
        assert event.seq == number, f"event {event.seq} stands where {number} should"
        assert event.fits(before), f"event {number} does not fit the one before"
        before = event.hash
    assert (log.last, log.head) == (len(log.events), before)
    keys = [event.key for event in log.events if event.key is not None]
    assert len(set(keys)) == len(keys), "a key is there twice"


def _check_rounds(log: Log) -> None:
    """One round is open at a time, in order; everybody was decided under its policy, with the draw its secret gives."""
    opened: dict[str, Any] | None = None
    next_round = people = 0
    waiting: list[dict[str, Any]] = []  # rows of the open round, whose draws are checked once its secret is known
    for event in log.events:
        data = event.data
        if event.kind == "opened":
            assert opened is None, f"event {event.seq} opens a second round"
            assert event.round == next_round
            opened, people = data, 0
        elif event.kind in ("decided", "reported"):
            assert opened is not None, f"event {event.seq} decides in no round"
            assert event.round == next_round
            rows = log.by_event.get(event.seq, [])
            _check_people(log, event, rows, opened)
            people += len(rows)
            waiting += rows
        elif event.kind == "closed":
            assert opened is not None, f"event {event.seq} closes no round"
            assert event.round == next_round
            secret = bytes.fromhex(data["secret"])
            assert hashlib.sha256(secret).hexdigest() == opened["commitment"]
            assert data["people"] == people
            drawn = draws_of(secret, [row["id"] for row in waiting]) if waiting else np.zeros(0)
            assert [row["draw"] for row in waiting] == drawn.tolist()
            _check_told(log, data, waiting)
            opened, waiting = None, []
            next_round += 1
    assert set(log.by_event) <= {event.seq for event in log.events if event.kind in ("decided", "reported")}
    ids = [row["id"] for row in log.cases]
    assert len(set(ids)) == len(ids), "an application was decided twice"


def _check_people(log: Log, event: Event, rows: list[dict[str, Any]], opened: dict[str, Any]) -> None:
    assert [row["place"] for row in rows] == list(range(len(rows)))
    assert {row["round"] for row in rows} <= {event.round}
    data, edges = event.data, log.spec.setting.thresholds
    scores = np.array([row["score"] for row in rows])
    groups = np.array([row["group"] for row in rows], dtype=np.int64)
    assert np.searchsorted(edges, scores, side="right").tolist() == [row["bin"] for row in rows]
    tally = Counter((row["group"], row["bin"], row["accepted"]) for row in rows)
    assert sorted((*place, count) for place, count in tally.items()) == sorted(map(tuple, data["tally"]))
    assert data["people"] == len(rows)
    columns = {name: np.array([row[name] for row in rows]) for name in ("bin", "draw", "accepted")}
    bins, draws, taken = columns.values()
    stored = People([row["id"] for row in rows], groups, scores, bins, draws, taken)
    assert stored.digest == data["digest"]
    if event.kind == "decided":
        policy = Policy.from_json(opened["policy"])
        accepted = policy.decide(scores, groups, draws=columns["draw"])
        assert accepted.tolist() == [bool(row["accepted"]) for row in rows]


def _check_told(log: Log, closed: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """The learner was told of everybody of the round whom no person decided otherwise on."""
    told = Counter((row["group"], row["bin"], row["accepted"]) for row in rows if row["id"] not in log.overrides)
    assert sorted((*place, count) for place, count in told.items()) == sorted(map(tuple, closed["counts"]))


def _check_outcomes(log: Log) -> None:
    """Labels are of accepted people, tallied as their rows are, and told to the learner once each."""
    case_of = {row["id"]: row for row in log.cases}
    by_event: dict[int, Counter[tuple[str, int, int, int, int]]] = {}
    for row in log.outcomes:
        case = case_of[row["id"]]
        kind = "aside" if row["id"] in log.overrides else "tally"
        place = (kind, case["round"], case["group"], case["bin"], row["label"])
        by_event.setdefault(row["seq"], Counter())[place] += 1
        assert log.overrides.get(row["id"], bool(case["accepted"])), f"{row['id']} was rejected and has a label"
    for event in log.events:
        if event.kind == "outcomes":
            rows = sorted((*place, count) for place, count in by_event.get(event.seq, Counter()).items())
            told = [(kind, *place) for kind in ("tally", "aside") for place in event.data[kind]]
            assert rows == sorted(told)
    assert set(by_event) <= {event.seq for event in log.events if event.kind in ("outcomes", "corrected")}
    firsts = Counter(row["id"] for row in log.outcomes)
    corrected = {event.seq for event in log.events if event.kind == "corrected"}
    again = Counter(row["id"] for row in log.outcomes if row["seq"] in corrected)
    assert all(count == 1 + again[each] for each, count in firsts.items()), "a label was recorded twice"
