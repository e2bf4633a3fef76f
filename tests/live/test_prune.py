"""Old rows go, the log stays, and the audit tells pruning from deletion."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import delete, func, select

from fairgate.errors import InputError
from fairgate.live import ConflictError, MissingError
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.database import reading, writing
from fairgate.live.export import export_log
from fairgate.live.prune import prune
from fairgate.live.schema import cases, outcomes, overrides
from tests.command import fairgate_here
from tests.live.logs import Lender, make_spec, opened, write_busy, write_counts
from tests.live.test_audit import CONFIG, SPEC
from tests.live.test_audit_tampering import chain_again, read

YEAR = timedelta(days=365)


def rows(lender: Lender) -> list[int]:
    with reading(lender.gate.engine) as connection:
        tables = (cases, outcomes, overrides)
        return [connection.execute(select(func.count()).select_from(each)).scalar_one() for each in tables]


def test_old_rows_go_and_everything_else_is_still_recomputed(database_url: str, tmp_path: Path) -> None:
    with opened(database_url, make_spec()) as lender:
        write_busy(lender)
        before, state = lender.gate.audit(), lender.gate.snapshot()
        were = rows(lender)
        lender.clock.now += YEAR
        gone = prune(lender.gate, YEAR - timedelta(days=20))  # the rounds before the forty days
        assert gone is not None
        assert prune(lender.gate, YEAR - timedelta(days=20)) is None
        left = rows(lender)
        assert [a - b for a, b in zip(were, left, strict=True)] == [gone.cases, gone.outcomes, gone.overrides]
        assert 0 < left[0] < were[0]
        assert gone.outcomes > 0
        assert gone.overrides == 2
        report = lender.gate.audit()
        assert report.clean, report.first
        assert report.pruned == gone.through
        assert f"rounds 0 to {gone.through} were pruned" in report.unchecked[0]
        assert report.stretches == before.stretches
        changed = {"seq", "head", "clock"}
        now = lender.gate.snapshot()
        assert {k: now[k] for k in now.keys() - changed} == {k: state[k] for k in state.keys() - changed}
        with stored_log(lender.gate.engine, "credit") as log:
            export_log(log, tmp_path / "credit.zip")
        assert audit_log(tmp_path / "credit.zip").clean
        lender.decide(20)
        lender.clock.now += YEAR
        assert prune(lender.gate, YEAR - timedelta(days=1)) is not None
        assert lender.gate.audit().clean


def test_rows_that_went_without_an_event_are_found(database_url: str) -> None:
    with opened(database_url, make_spec()) as lender:
        write_busy(lender)
        lender.clock.now += YEAR
        gone = prune(lender.gate, YEAR - timedelta(days=20))
        assert gone is not None
        with writing(lender.gate.engine) as connection:
            last = connection.execute(select(cases.c.seq, cases.c.id).order_by(cases.c.seq).limit(1)).one()
            connection.execute(delete(cases).where(cases.c.id == last.id))
        report = lender.gate.audit()
    assert report.first is not None
    assert report.first.seq == last.seq
    assert "applications are stored, and it recorded" in report.first.text


@pytest.mark.parametrize("name", ["cases", "outcomes", "overrides", "awaited", "through", "digest", "first"])
def test_an_event_that_says_other_rows_went_is_found(name: str, tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        write_busy(lender)
        lender.clock.now += YEAR
        prune(lender.gate, YEAR - timedelta(days=20))
        last = lender.gate.status().seq
    connection = sqlite3.connect(tmp_path / "gate.db", isolation_level=None)

    def change(event: object, data: dict[str, Any]) -> None:
        if data.get("through") is not None:
            data[name] = data[name] + 1 if isinstance(data[name], int) else "0" * 64

    chain_again(connection, change)
    connection.close()
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == last or name == "through"


@pytest.mark.parametrize(("days", "text"), [(0.0, "closed later"), (-10.0, "closed later"), (30.0, "labels are due")])
def test_rows_that_went_too_early_are_found(days: float, text: str, tmp_path: Path) -> None:
    """The event says that rounds before a day may go: that on which the round closed, earlier, or too late."""
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        lender.decide(20)
        closed = lender.clock.now
        lender.clock.now += timedelta(days=31)
        prune(lender.gate, timedelta(days=30))
        last = lender.gate.status().seq
        assert lender.gate.audit().clean

    def change(event: object, data: dict[str, Any]) -> None:
        if data.get("through") is not None:
            data["before"] = (closed + timedelta(days=days)).isoformat(timespec="microseconds")

    with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
        chain_again(connection, change)
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.seq == last
    assert text in report.first.text


@pytest.mark.parametrize("before", [None, "soon", "2026-01-30"])
def test_a_day_of_pruning_that_is_none_is_found(before: object, tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        lender.decide(20)
        lender.clock.now += YEAR
        prune(lender.gate, timedelta(days=30))
    with closing(sqlite3.connect(tmp_path / "gate.db", isolation_level=None)) as connection:
        chain_again(connection, lambda event, data: data.update({"before": before} if "through" in data else {}))
    report = read(tmp_path / "gate.db")
    assert report.first is not None
    assert report.first.kind == "pruned"


def test_rows_go_some_rounds_at_a_time(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        for _ in range(6):
            lender.decide(20)
        lender.clock.now += YEAR
        with patch("fairgate.live.prune.AT_ONCE", 45):
            gone = prune(lender.gate, YEAR - timedelta(days=1))
        kinds = [each.kind for each in lender.gate.log(limit=1000)]
        assert gone is not None
        assert (gone.through, gone.cases) == (5, 120)
        assert kinds.count("pruned") == 3
        report = lender.gate.audit()
    assert report.clean, report.first


def test_an_application_that_was_pruned_is_not_known_any_more(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec(start={"mode": "hold", "threshold": 0.4})) as lender:
        gate = lender.gate
        gate.decide([f"x{k}" for k in range(20)], ["men"] * 20, [0.7] * 20, key="old")
        lender.clock.now += YEAR
        prune(gate, YEAR - timedelta(days=1))
        with pytest.raises(MissingError):
            gate.outcomes(["x0"], [1])
        with pytest.raises(ConflictError, match="pruned since"):
            gate.decide([f"x{k}" for k in range(20)], ["men"] * 20, [0.7] * 20, key="old")
        again = gate.decide("x0", "men", 0.7)
        assert (again.round, again.repeated) == (1, False)
        assert gate.audit().clean


def test_what_is_still_due_or_counted_only_is_not_pruned(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec()) as lender:
        lender.decide(20)
        with pytest.raises(InputError, match="at least the 5 days in which labels are due, got 4 days"):
            prune(lender.gate, timedelta(days=4))
        assert prune(lender.gate, timedelta(days=6)) is None
    with opened(str(tmp_path / "counts.db"), make_spec(store="counts")) as lender:
        write_counts(lender)
        with pytest.raises(InputError, match="no rows to remove"):
            prune(lender.gate)


def test_the_command_asks_before_it_removes_what_a_rule_asks_to_keep(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text(CONFIG)
    with opened(str(tmp_path / "gate.db"), SPEC) as lender:
        lender.clock.now = datetime.now(UTC) - timedelta(days=100)
        lender.decide(20)
    refused = fairgate_here("live", "prune", "--older-than", "100d", cwd=tmp_path)
    assert (refused.returncode, "25 months" in refused.stderr) == (2, True)
    wrong = fairgate_here("live", "prune", "--older-than", "soon", cwd=tmp_path)
    assert (wrong.returncode, "must be a number of days such as 760d" in wrong.stderr) == (2, True)
    early = fairgate_here("live", "prune", "--older-than", "0d", "--yes", cwd=tmp_path)
    said = "fairgate: --older-than must be at least 30d, as outcomes are due for 30 days, got 0d\n"
    assert (early.returncode, early.stderr) == (2, said)
    nothing = fairgate_here("live", "prune", cwd=tmp_path)
    assert nothing.returncode == 0, nothing.stderr
    assert "nothing was removed" in nothing.stdout
    done = fairgate_here("live", "prune", "--older-than", "31d", "--yes", cwd=tmp_path)
    assert done.returncode == 0
    assert "Removed 20 applications" in done.stdout
    assert fairgate_here("live", "audit", cwd=tmp_path).returncode == 0
