"""The audit of clean logs of every kind, what it tells, and how the command behaves."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from rich.console import Console
from sqlalchemy import select, update

import fairgate as fg
from fairgate.audit.audit import levels
from fairgate.audit.sequences import follow
from fairgate.errors import InputError
from fairgate.learners.registry import LEARNERS
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.auditing import AuditReport, versions
from fairgate.live.auditing.stored import StoredLog
from fairgate.live.auditing.terminal import show
from fairgate.live.database import writing
from fairgate.live.decisions import export_decisions
from fairgate.live.events import START, make_event
from fairgate.live.export import export_log
from fairgate.live.schema import cases, events, gates, outcomes, overrides
from tests.command import fairgate_here
from tests.live.logs import OTHER, Lender, make_spec, opened, write_busy, write_counts


@pytest.mark.parametrize("learner", ["safe-forecast", "ofs", "doubly-optimistic"])
def test_a_log_with_all_kinds_of_events_fits(learner: str, tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec(learner=learner)) as lender:
        write_busy(lender)
        report = lender.gate.audit()
        with stored_log(lender.gate.engine, "credit") as log:
            kinds = {event.kind for event in log.events()}
    assert report.clean, report.first
    assert report.count == 0
    assert not report.versions
    expected = {"created", "opened", "decided", "reported", "overridden", "outcomes", "corrected", "closed", "mode"}
    assert kinds >= expected | {"paused", "version", "key-added", "key-revoked"}
    assert report.decisions == lender.count


def test_both_databases_and_the_file_tell_the_same(database_url: str, tmp_path: Path) -> None:
    with opened(database_url, make_spec()) as lender:
        write_busy(lender)
        stored = lender.gate.audit()
        with stored_log(lender.gate.engine, "credit") as log:
            export_log(log, tmp_path / "credit.zip")
    exported = audit_log(tmp_path / "credit.zip")
    assert stored.clean, stored.first
    assert exported.clean, exported.first
    assert exported.stretches == stored.stretches
    assert (exported.events, exported.labels, exported.head) == (stored.events, stored.labels, stored.head)
    assert len(exported.unchecked) == 2
    assert "cannot be checked yet" in exported.unchecked[0]
    assert "against the commitment of that round only" in exported.unchecked[1]
    assert not stored.unchecked


def test_a_gate_that_keeps_counts_only_is_audited_by_its_tallies(database_url: str) -> None:
    with opened(database_url, make_spec(store="counts")) as lender:
        write_counts(lender)
        report = lender.gate.audit()
        assert report.clean, report.first
        assert "counts only" in report.unchecked[0]
        with writing(lender.gate.engine) as connection:
            connection.execute(update(events).where(events.c.kind == "outcomes").values(actor="somebody"))
        found = lender.gate.audit()
    assert found.first is not None
    assert found.first.kind == "outcomes"


def test_bounds_are_those_of_fairgate_audit(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        write_busy(lender)
        report = lender.gate.audit()
        with stored_log(lender.gate.engine, "credit") as log:
            export_decisions(log, tmp_path / "decisions.parquet")
    assert len(report.stretches) > 4
    required = list(lender.gate.spec.setting.problem.constraints)
    path = tmp_path / "decisions.parquet"
    table = fg.audit(path, decision="accepted", group="group", order="round", policy="policy", constraints=required)
    people = [int(each.people[-1].sum()) for each in table.segments]
    assert [each.people for each in report.stretches] == [table.decisions.people, *people]
    for mine, theirs in zip(report.stretches, [table.overall, *table.segments], strict=True):
        assert mine.acceptance.value == pytest.approx(float(theirs.overall.value[-1]))
    segment = report.stretches[1]
    cells = np.zeros((1, 2, 3, 2), dtype=np.int64)
    for place, group in enumerate(segment.groups):
        taken = round(group.people * (group.acceptance.value or 0.0))
        cells[0, place, 2] = group.people - taken, taken
    if segment.first_round == segment.last_round:
        again = follow("", cells, levels(report.alpha, 1, True), labels=False)
        assert segment.acceptance.low == pytest.approx(float(again.overall.low[-1]))


def test_another_version_is_told_as_such_and_not_as_tampering(tmp_path: Path) -> None:
    """A proposal that is not the recomputed one, made by another numpy; its chain is whole."""
    spec = make_spec(start={"mode": "hold", "threshold": 0.4})
    with (
        patch("fairgate.live.making.VERSIONS", OTHER),
        patch("fairgate.live.gate.VERSIONS", OTHER),
        opened(str(tmp_path / "gate.db"), spec) as lender,
    ):
        lender.decide(20)
        lender.decide(20)
        change_proposal(lender, number=1)
        told = lender.gate.audit()
        assert told.first is None, told.first
        assert (told.clean, told.verdict) == (False, "versions")
        assert [each.rounds for each in told.versions] == [[1]]
        assert "numpy 1.0.0" in told.versions[0].made_by
        assert "difference of versions" in told.versions[0].text
        console = Console(width=80, record=True, file=io.StringIO())
        show(told, console)
        assert "Recomputed by another version: 1 policies differ" in console.export_text()
        with patch.object(versions, "VERSIONS", OTHER):
            blamed = lender.gate.audit()
    assert blamed.first is not None
    assert blamed.first.kind == "opened"
    assert "proposal is not the one that the learner makes" in blamed.first.text


def change_proposal(lender: Lender, number: int) -> None:
    """Change the proposal of a round and compute the chain again."""
    with stored_log(lender.gate.engine, "credit") as log:
        old = list(log.events())
    head = START
    with writing(lender.gate.engine) as connection:
        for each in old:
            data = each.data
            if each.kind == "opened" and each.round == number:
                data["proposal"] = {"thresholds": [[[0.8, 0.8]]], "weights": [[1.0]]}
                data["allowed"] = {"thresholds": [[[0.6, 0.6]]], "weights": [[1.0]]}  # by the step
            new = make_event(head, each.seq, each.kind, each.round, data, each.at, each.actor, each.key, each.request)
            head = new.hash
            connection.execute(update(events).where(events.c.seq == new.seq).values(body=new.body, hash=new.hash))
        connection.execute(update(gates).values(head=head))


def test_rows_are_read_in_ranges_that_hold_few_people(tmp_path: Path) -> None:
    asked: list[int] = []

    class Counted(StoredLog):
        def cases(self, first: int, last: int):  # type: ignore[no-untyped-def]
            found = super().cases(first, last)
            asked.append(len(found.ids))
            return found

    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        for _ in range(10):
            lender.decide(20)
        with (
            patch("fairgate.live.auditing.chunks.PEOPLE", 50),
            patch("fairgate.live.audit.StoredLog", Counted),
        ):
            assert lender.gate.audit().clean
    assert sum(asked) == 200
    assert max(asked) <= 50


CONFIG = """
[gate]
name = "credit"
groups = ["women", "men"]
[scores]
grid = [0.2, 0.4, 0.6, 0.8]
[constraints]
parity = 0.2
service = "0.2:0.9"
[start]
mode = "hold"
threshold = 0.4
[rounds]
people = 20
[database]
url = "gate.db"
"""


SPEC = make_spec(guards={}, label_due_days=30.0, start={"mode": "hold", "threshold": 0.4})
"""The spec that this file gives."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a gate and its file."""
    (tmp_path / "gate.toml").write_text(CONFIG)
    with opened(str(tmp_path / "gate.db"), SPEC) as lender:
        for _ in range(4):
            lender.decide(20)
            lender.outcomes(5)
    return tmp_path


def test_the_command_says_what_fits_and_exits_with_0(folder: Path) -> None:
    done = fairgate_here("live", "audit", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Everything fits." in done.stdout
    assert "80 decisions" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    told = json.loads(fairgate_here("live", "audit", "credit", "--json", cwd=folder).stdout)
    assert told["clean"]
    assert told["stretches"][0]["people"] == 80
    noted = fairgate_here("live", "audit", "--head", told["head"], "--last", str(told["last"]), cwd=folder)
    assert noted.returncode == 0


def test_the_command_names_the_first_event_and_exits_with_1(folder: Path) -> None:
    with opened(str(folder / "gate.db"), SPEC) as lender, writing(lender.gate.engine) as connection:
        connection.execute(update(cases).where(cases.c.id == "a-30").values(score=0.95))
    done = fairgate_here("live", "audit", cwd=folder)
    assert done.returncode == 1
    assert "The first event that does not fit:" in done.stdout
    assert "'a-30' has the bin" in " ".join(done.stdout.split())
    assert fairgate_here("live", "audit", "--head", "0" * 63 + "1", cwd=folder).returncode == 1


def test_bad_input_is_one_sentence_and_exit_code_2(folder: Path) -> None:
    (folder / "no.zip").write_bytes(b"no zip")
    for arguments, said in (
        (("nobody",), "there is no gate 'nobody' in this database: it has credit"),
        (("no.zip",), "must be a file that fairgate live export wrote"),
        (("gone.zip",), "must be a file that fairgate live export wrote"),
        (("--config", "gone.toml"), "there is no file gone.toml"),
    ):
        done = fairgate_here("live", "audit", *arguments, cwd=folder)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert said in done.stderr


def test_many_findings_are_counted_and_few_are_printed(folder: Path) -> None:
    with opened(str(folder / "gate.db"), SPEC) as lender:
        with writing(lender.gate.engine) as connection:
            connection.execute(update(events).values(actor="nobody"))
        report = lender.gate.audit()
    assert report.count == report.events
    console = Console(width=80, record=True, file=io.StringIO())
    show(report, console)
    assert f"And {report.count - 5} more differences." in console.export_text()


def test_changes_are_found_in_either_database(database_url: str) -> None:
    """One change after the other, each undone; SQLite's tables are gone through column by column elsewhere."""
    with opened(database_url, make_spec()) as lender:
        write_busy(lender)
        for table, column, value in (
            (cases, cases.c.draw, 0.125),
            (cases, cases.c.id, "another"),
            (outcomes, outcomes.c.label, None),
            (overrides, overrides.c.reason, "none"),
            (events, events.c.body, "{}"),
            (events, events.c.at, "2020-01-01"),
        ):
            with writing(lender.gate.engine) as connection:
                rows = connection.execute(select(table).order_by(table.c.seq)).all()
                row = rows[len(rows) // 2]
                old = row._mapping[column.name]
                mine = (table.c.seq == row.seq) & (column == old)
                new = 1 - old if value is None else value
                keys = [key for key in ("id", "place") if key in table.c]
                for key in keys:
                    mine &= table.c[key] == row._mapping[key]
                connection.execute(update(table).where(mine).values({column.name: new}))
            report = lender.gate.audit()
            assert report.first is not None, column
            assert report.first.seq == row.seq, (column, report.findings[:3])
            with writing(lender.gate.engine) as connection:
                back = table.c.seq == row.seq
                for key in keys:
                    back &= table.c[key] == (new if key == column.name else row._mapping[key])
                connection.execute(update(table).where(back).values({column.name: old}))
            assert lender.gate.audit().clean


def test_the_service_tells_the_same(tmp_path: Path) -> None:
    """The report goes over the wire and back unchanged."""
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        write_busy(lender)
        report = lender.gate.audit()
    assert AuditReport.model_validate_json(report.model_dump_json()) == report


def test_an_audit_beside_a_gate_that_writes_reads_one_moment(database_url: str) -> None:
    with opened(database_url, make_spec()) as lender:
        lender.decide(20)
        done = threading.Event()

        def write() -> None:
            while not done.is_set():
                lender.decide(20)
                lender.outcomes(8)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            reports = [lender.gate.audit() for _ in range(4)]
        finally:
            done.set()
            writer.join()
    assert [each.first for each in reports] == [None] * 4
    assert reports[-1].events > reports[0].events


def test_a_learner_that_this_version_does_not_know_is_bad_input_and_no_finding(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec(learner="ofs")) as lender:
        lender.decide(20)
        with stored_log(lender.gate.engine, "credit") as log:
            export_log(log, tmp_path / "credit.zip")
    with patch.dict(LEARNERS):
        del LEARNERS["ofs"]
        with pytest.raises(InputError, match=r"this version does not know the learner 'ofs' of this gate"):
            audit_log(tmp_path / "credit.zip")
