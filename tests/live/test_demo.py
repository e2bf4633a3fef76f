"""The loop is real: a lender under a gate sees what a plain loop computes exactly, and what `fg.simulate` predicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

import fairgate as fg
from fairgate.live import Gate, Spec
from fairgate.live.demo import Lender, Population, as_played, rounded, spec_of
from fairgate.live.played import same
from fairgate.live.prediction import predict
from fairgate.live.replies import Closed, Decisions, Recorded, Status
from tests.live.plain_loop import Batch, PlainLoop

LEARNERS = ("ofs", "smooth-optimist", "safe-forecast", "mixture", "doubly-optimistic", "primal-dual")

FALSE_ALARM = 1e-4
"""How often a right gate fails a comparison with a simulation, each."""


class Twin:
    """A gate, and beside it a plain loop that is told of the same people and labels."""

    def __init__(self, gate: Gate, spec: Spec) -> None:
        self.gate, self.plain, self.groups = gate, PlainLoop(spec), spec.groups
        self.labels: dict[str, int] = {}
        self.agreed = 0  # rounds in which both proposed the same

    def decide(self, ids: Sequence[str], groups: Sequence[str], scores: Sequence[float]) -> Decisions:
        found = self.gate.decide(ids, groups, scores)
        codes = np.array([self.groups.index(each) for each in groups])
        self.batch = Batch(list(ids), codes, np.array(scores), np.array(found.accepted))
        return found

    def outcomes(self, ids: Sequence[str], labels: Sequence[int]) -> Recorded:
        self.labels.update(zip(ids, labels, strict=True))
        return self.gate.outcomes(ids, labels)

    def status(self) -> Status:
        return self.gate.status()

    def close(self, round_number: int | None = None) -> Closed:
        status = self.gate.status()
        assert status.policy is not None
        assert status.proposal is not None
        proposed = self.plain.propose()
        self.agreed += same(as_played(status.proposal, self.groups), proposed)
        self.plain.observe(as_played(status.policy, self.groups), self.batch, self.labels)
        self.labels = {}
        return self.gate.close(round_number)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "gate.db")


@pytest.mark.parametrize(("late", "learner"), [(0, each) for each in LEARNERS] + [(7, each) for each in LEARNERS])
def test_a_gate_learns_exactly_what_a_plain_loop_learns(file: str, learner: str, late: int) -> None:
    task = rounded(fg.load_task("interior"))
    spec = spec_of(task, learner, seed=3)
    gate = Gate(file, "demo", spec=spec)
    twin = Twin(gate, spec)
    lender = Lender(twin, Population(task, seed=5, late=late), spec.groups, batch=60)
    for _ in range(40):
        lender.play()
    assert twin.agreed == 40
    assert gate.snapshot()["learner"] == twin.plain.learner.save(twin.plain.state)
    gate.shut()
