"""Logs for tests of the audit: small ones with events of every kind, by a real gate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import numpy as np

from fairgate.live import Gate, Spec
from fairgate.live import gate as module
from fairgate.live.keys import create_key, revoke_key

OTHER = {"numpy": "1.0.0", "python": "3.0.0", "scikit-learn": "1.0.0", "scipy": "1.0.0"}
"""Versions of another time."""


class Clock:
    """Goes on by a second at every look."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def make_spec(**changes: Any) -> Spec:
    """Return the spec of a gate that learns in rounds of 20 people."""
    given: dict[str, Any] = {
        "name": "credit",
        "groups": ["women", "men"],
        "grid": [0.2, 0.4, 0.6, 0.8],
        "constraints": {"parity": 0.2, "service": "0.2:0.9"},
        "start": {"mode": "learn", "threshold": 0.4},
        "rounds": {"people": 20},
        "guards": {"step": 0.2, "pause_if_quiet_days": 30.0},
        "label_due_days": 5.0,
    }
    return Spec.read(given | changes)


@contextmanager
def opened(url: str, spec: Spec) -> Iterator[Lender]:
    """Open a gate with somebody who uses it."""
    clock = Clock()
    gate = Gate(url, spec.name, spec=spec, clock=clock)
    try:
        yield Lender(gate, clock)
    finally:
        gate.shut()


class Lender:
    """Sends applications and outcomes that are made up."""

    def __init__(self, gate: Gate, clock: Clock) -> None:
        self.gate, self.clock = gate, clock
        self.rng = np.random.default_rng(7)
        self.count = 0
        self.accepted: list[tuple[str, int]] = []

    def people(self, number: int) -> tuple[list[str], list[str], list[float]]:
        """Return ids, groups and scores."""
        ids = [f"a-{self.count + place}" for place in range(number)]
        self.count += number
        groups = [self.gate.spec.groups[each] for each in self.rng.integers(0, len(self.gate.spec.groups), number)]
        return ids, groups, self.rng.random(number).round(6).tolist()

    def decide(self, number: int, key: str | None = None) -> None:
        """Ask for a batch of decisions."""
        ids, groups, scores = self.people(number)
        made = self.gate.decide(ids, groups, scores, key=key)
        pairs = zip(ids, scores, made.accepted, strict=True)
        self.accepted += [(name, int(self.rng.random() < score)) for name, score, taken in pairs if taken]

    def single(self) -> tuple[str, bool]:
        """Ask for one decision."""
        (name,), (group,), (score,) = self.people(1)
        return name, self.gate.decide(name, group, score).accepted

    def outcomes(self, number: int) -> list[tuple[str, int]]:
        """Report labels of those accepted first."""
        some, self.accepted = self.accepted[:number], self.accepted[number:]
        self.gate.outcomes([name for name, _ in some], [label for _, label in some])
        return some

    def override_one(self) -> None:
        """Let a person decide otherwise on a single application."""
        name, accepted = self.single()
        self.gate.override(name, not accepted, "known to the branch")
        if not accepted:
            self.gate.outcomes([name], [1])


def write_busy(lender: Lender) -> None:
    """Write events of every kind."""
    gate = lender.gate
    with patch.object(module, "VERSIONS", OTHER):
        lender.decide(12, key="first")
        lender.override_one()
    for _ in range(3):
        lender.decide(20)
    some = lender.outcomes(15)
    gate.correct([some[0][0]], [1 - some[0][1]], "typed wrongly")
    gate.close()
    some = lender.outcomes(6)
    gate.close()
    gate.correct([some[0][0], some[1][0]], [1 - some[0][1], 1 - some[1][1]], "typed wrongly")
    gate.hold("a look at it", 0.6)
    lender.decide(9)
    lender.override_one()
    gate.set_mode("approve", "with care")
    for _ in range(4):
        lender.decide(20)
        lender.outcomes(12)
        waiting = gate.status().waiting
        if waiting:
            gate.approve(waiting, "fine")
    gate.set_mode("shadow", "beside our own rule")
    ids, groups, scores = lender.people(25)
    gate.report(ids, groups, scores, [score >= 0.5 for score in scores])
    create_key(gate, "chief", ["admin"])
    gate.set_mode("learn", "it may decide", actor="key:chief")
    lender.decide(20)
    for _ in range(3):
        lender.clock.now += timedelta(days=14)
        lender.decide(20)  # after the last of which no label has come for long
    gate.resume("labels come again")
    write_keys(gate)
    lender.outcomes(10)
    lender.decide(7)
    for _ in range(2):
        lender.single()


def write_counts(lender: Lender) -> None:
    """Write the log of a gate that keeps counts only."""
    gate = lender.gate
    for number in range(5):
        ids, groups, scores = lender.people(20)
        made = gate.decide(ids, groups, scores, key=f"d{number}")
        taken = [place for place, accepted in enumerate(made.accepted) if accepted]
        labels = [int(lender.rng.random() < scores[place]) for place in taken]
        given = [groups[place] for place in taken], [scores[place] for place in taken]
        if number != 2:
            gate.outcomes([], labels, round_number=number, groups=given[0], scores=given[1], key=f"o{number}")
    gate.close()


def write_keys(gate: Gate) -> None:
    """Make two keys; one is revoked."""
    token = create_key(gate, "branch", ["decide", "outcomes"])
    create_key(gate, "page", ["read"], gate.clock() + timedelta(days=100))
    revoke_key(gate, token.split("_")[1])
