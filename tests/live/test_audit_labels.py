"""Labels that come, are corrected and are told to the learner in any order: the audit agrees with the gate on them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgate.live import Gate
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.export import export_log
from fairgate.live.labelling import label_digests
from fairgate.live.prune import prune
from tests.live.databases import memory_folder
from tests.live.gates import make_spec
from tests.live.logs import make_spec as learning_spec
from tests.live.logs import opened
from tests.live.test_audit_tampering import chain_again, read

HOLD = {"mode": "hold", "threshold": 0.5}


def test_a_label_corrected_twice_after_it_was_told_fits(database_url: str, tmp_path: Path) -> None:
    gate = Gate(database_url, "credit", spec=make_spec(start=HOLD))
    gate.decide(["a"], ["men"], [0.9])
    gate.outcomes(["a"], [1])
    gate.close()
    for label in (0, 1, 0):
        gate.correct(["a"], [label], "typed wrongly")
    report = gate.audit()
    with stored_log(gate.engine, "credit") as log:
        export_log(log, tmp_path / "credit.zip")
    gate.close()
    assert (report.clean, report.first) == (True, None)
    assert gate.audit().clean
    assert gate.case("a").label == 0
    assert audit_log(tmp_path / "credit.zip").clean
    gate.shut()


IDS = ("a", "b", "c")
STEPS = st.one_of(
    st.just(("close",)),
    st.tuples(st.just("label"), st.sampled_from(IDS), st.integers(0, 1)),
    st.tuples(st.just("override"), st.sampled_from(IDS)),
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_whatever_the_order_of_labels_corrections_and_closes_the_audit_is_clean(steps: list[tuple[str, ...]]) -> None:
    """A label after the first is a correction; what the learner is told is compared with a plain count."""
    with memory_folder() as folder:
        gate = Gate(str(folder / "gate.db"), "credit", spec=make_spec(start=HOLD))
        gate.decide(list(IDS), ["men"] * 3, [0.9, 0.9, 0.1])
        labels: dict[str, int] = {}
        untold, aside = set[str](), set[str]()
        told: list[Counter[int]] = []
        closed = False
        for step in steps:
            if step[0] == "close":
                told.append(Counter(labels[name] for name in untold - aside))
                untold.clear()
                gate.close()
                closed = True
            elif step[0] == "override":
                if not closed and step[1] not in labels and step[1] not in aside:
                    aside.add(step[1])
                    gate.override(step[1], step[1] == "c", "known to the branch")
            elif (step[1] == "c") == (step[1] in aside):  # it was accepted in the end
                name, label = step[1], int(step[2])
                if name not in labels:
                    untold.add(name)
                    gate.outcomes([name], [label])
                else:
                    gate.correct([name], [label], "typed wrongly")
                labels[name] = label
        report, shown = gate.audit(), gate.figures().labels
        bodies = [each.body for each in gate.log(limit=1000) if each.kind == "closed"]
        stored = {name: gate.case(name).label for name in labels}
        with stored_log(gate.engine, "credit") as log:
            export_log(log, folder / "credit.zip")
        gate.shut()
        exported = audit_log(folder / "credit.zip")
    assert (report.clean, report.first) == (True, None)
    assert (exported.clean, exported.first) == (True, None)
    assert stored == labels
    taken = sum((name == "c") == (name in aside) for name in IDS)
    assert (shown.arrived, shown.awaited) == (len(labels), taken - len(labels))
    assert report.labels == len(labels)
    found = [Counter({label: count for *_, label, count in body["labels"]}) for body in bodies]
    assert found == told


def test_labels_of_kept_rounds_are_checked_when_others_of_the_event_were_pruned(tmp_path: Path) -> None:
    spec = learning_spec(start={"mode": "hold", "threshold": 0.2}, guards={})
    with opened(str(tmp_path / "gate.db"), spec) as lender:
        gate = lender.gate
        gate.decide(["old"], ["men"], [0.9])
        gate.close()
        lender.clock.now += timedelta(days=50)
        gate.decide(["x", "y", "z"], ["men"] * 3, [0.9] * 3)
        gate.outcomes(["old", "x", "y", "z"], [1, 1, 0, 0])
        gate.close()
        lender.clock.now += timedelta(days=20)
        gone = prune(gate, timedelta(days=30))
        assert gone is not None
        assert (gone.through, gone.outcomes) == (0, 1)
        assert gate.audit().clean
    with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
        connection.execute("UPDATE outcomes SET label = 1 - label WHERE id IN ('x', 'y')")
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert (report.first.kind, "a row was changed" in report.first.text) == ("outcomes", True)


@pytest.mark.parametrize("digests", [None, 3, {}, {"one": "two"}, {"0": "0" * 64}])
def test_digests_that_are_none_are_findings(tmp_path: Path, digests: object) -> None:
    with opened(str(tmp_path / "gate.db"), learning_spec(start={"mode": "hold", "threshold": 0.4})) as lender:
        lender.gate.decide(["x"], ["men"], [0.9])
        lender.gate.outcomes(["x"], [1])
    with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
        chain_again(connection, lambda event, data: data.update({"digests": digests} if "digests" in data else {}))
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.kind == "outcomes"
    assert label_digests([(0, "x", 1)]) != digests
