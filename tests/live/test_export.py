"""The exported file and the table of decisions, read by the commands they are for."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fairgate.errors import InputError
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.auditing.exported import TABLES, ExportedLog
from fairgate.live.decisions import export_decisions
from fairgate.live.export import export_log
from tests.command import fairgate_here
from tests.live.logs import Lender, make_spec, opened, write_busy, write_counts
from tests.live.test_audit import CONFIG


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a busy gate, its log and its table."""
    folder = tmp_path_factory.mktemp("exported")
    with opened(str(folder / "gate.db"), make_spec()) as lender:
        write_busy(lender)
        write(lender, folder)
        (folder / "secret").write_bytes(lender.gate.secret)
    return folder


def write(lender: Lender, folder: Path) -> None:
    with stored_log(lender.gate.engine, "credit") as log:
        export_log(log, folder / "credit.zip")
        export_decisions(log, folder / "decisions.parquet")


def test_the_file_has_every_row_and_no_secret(exported: Path) -> None:
    secret = (exported / "secret").read_bytes()
    with zipfile.ZipFile(exported / "credit.zip") as packed:
        assert packed.testzip() is None
        assert sorted(packed.namelist()) == sorted(["head.json", *(f"{name}.parquet" for name in TABLES)])
        head = json.loads(packed.read("head.json"))
        assert set(head) == {"format", "gate", "last", "head"}
        content = b"".join(packed.read(name) for name in packed.namelist())
    assert secret not in content
    assert secret.hex().encode() not in content
    with ExportedLog(exported / "credit.zip") as log:
        assert log.facts.head == head["head"]
        assert sum(1 for _ in log.events()) == head["last"]
        assert log.beyond() == []


def test_the_same_log_gives_the_same_bytes(exported: Path, tmp_path: Path) -> None:
    from fairgate.live.database import connect

    engine = connect(str(exported / "gate.db"))
    with stored_log(engine, "credit") as log:
        export_log(log, tmp_path / "again.zip")
    engine.dispose()
    assert (tmp_path / "again.zip").read_bytes() == (exported / "credit.zip").read_bytes()
    assert list(tmp_path.iterdir()) == [tmp_path / "again.zip"]


@pytest.mark.parametrize("name", ["cases", "outcomes", "overrides", "events"])
def test_a_file_whose_rows_were_changed_does_not_fit(exported: Path, tmp_path: Path, name: str) -> None:
    """Take out the third row, the first of overrides."""
    with zipfile.ZipFile(exported / "credit.zip") as packed:
        parts = {each: packed.read(each) for each in packed.namelist()}
    (tmp_path / "part").write_bytes(parts[f"{name}.parquet"])
    table = pq.read_table(tmp_path / "part")
    place = 0 if name == "overrides" else 2
    seq = table["seq"][place].as_py()
    kept = [row for row in range(table.num_rows) if row != place]
    pq.write_table(table.take(kept), tmp_path / "part")
    with zipfile.ZipFile(tmp_path / "credit.zip", "w") as packed:
        for each, content in parts.items():
            packed.writestr(each, (tmp_path / "part").read_bytes() if each == f"{name}.parquet" else content)
    report = audit_log(tmp_path / "credit.zip")
    assert report.first is not None
    assert report.first.seq == seq


def test_an_application_that_is_there_twice_is_found(exported: Path, tmp_path: Path) -> None:
    import pyarrow as pa

    with zipfile.ZipFile(exported / "credit.zip") as packed:
        parts = {each: packed.read(each) for each in packed.namelist()}
    (tmp_path / "part").write_bytes(parts["cases.parquet"])
    table = pq.read_table(tmp_path / "part")
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), tmp_path / "part")
    with zipfile.ZipFile(tmp_path / "credit.zip", "w") as packed:
        for each, content in parts.items():
            packed.writestr(each, (tmp_path / "part").read_bytes() if each == "cases.parquet" else content)
    report = audit_log(tmp_path / "credit.zip")
    assert any("is there twice" in each.text for each in report.findings)


def test_the_table_has_a_row_per_application(exported: Path) -> None:
    table = pq.read_table(exported / "decisions.parquet").to_pylist()
    assert len({row["id"] for row in table}) == len(table)
    assert {row["mode"] for row in table} == {"learn", "hold", "shadow", "approve"}
    for row in table:
        known = row["propensity"]
        assert (known is None) == (row["mode"] == "shadow" or row["overridden"])
        assert known is None or (known > 0.0 if row["accepted"] else known < 1.0)
        assert row["label"] is None or row["accepted"] == 1
        assert row["date"] == row["at"].date()
    assert any(row["overridden"] for row in table)
    assert {row["label"] for row in table} == {None, 0, 1}
    names = [(row["segment"], row["policy"]) for row in table]
    assert names == sorted(names, key=lambda each: each[0])
    assert len(set(names)) == names[-1][0]


def test_counts_have_no_table(tmp_path: Path) -> None:
    with opened(str(tmp_path / "gate.db"), make_spec(store="counts")) as lender:
        write_counts(lender)
        with (
            stored_log(lender.gate.engine, "credit") as log,
            pytest.raises(InputError, match="keeps counts only: it has no applications to write"),
        ):
            export_decisions(log, tmp_path / "decisions.parquet")
    assert not (tmp_path / "decisions.parquet").exists()


def test_the_command_writes_both(exported: Path) -> None:
    (exported / "gate.toml").write_text(CONFIG)
    done = fairgate_here("live", "export", "--out", "two.zip", "--table", "two.parquet", cwd=exported)
    assert done.returncode == 0, done.stderr
    assert "note it" in done.stdout
    assert (exported / "two.zip").read_bytes() == (exported / "credit.zip").read_bytes()
    assert audit_log(exported / "two.zip").clean
    assert fairgate_here("live", "audit", "two.zip", cwd=exported).returncode == 0
    nothing = fairgate_here("live", "export", cwd=exported)
    assert (nothing.returncode, "say what to write" in nothing.stderr) == (2, True)
    for option, ending, name in (("--table", ".parquet", "d.csv"), ("--out", ".zip", "log")):
        other = fairgate_here("live", "export", option, name, cwd=exported)
        said = f"fairgate: {option} must be a file that ends in {ending}, got {name}\n"
        assert (other.returncode, other.stderr, (exported / name).exists()) == (2, said, False)
    nowhere = fairgate_here("live", "export", "--out", "gate.db/x.zip", cwd=exported)
    assert (nowhere.returncode, "cannot write" in nowhere.stderr) == (2, True)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table of two thousand decisions, in two halves."""
    folder = tmp_path_factory.mktemp("larger")
    spec = make_spec(rounds={"people": 200}, start={"mode": "hold", "threshold": 0.2}, guards={})
    with opened(str(folder / "gate.db"), spec) as lender:
        for _ in range(10):
            lender.decide(200)
            lender.outcomes(len(lender.accepted))
        with stored_log(lender.gate.engine, "credit") as log:
            export_decisions(log, folder / "decisions.parquet")
    return folder


def test_fairgate_audit_reads_the_table(larger: Path) -> None:
    columns = {"decision": "accepted", "group": "group", "date": "date", "policy": "policy", "label": "label"}
    columns |= {"score": "score", "propensity": "propensity", "parity": "0.2", "positive": "1", "out": "audit"}
    asked = [each for name, value in columns.items() for each in (f"--{name}", value)]
    done = fairgate_here("audit", "decisions.parquet", *asked, "--json", cwd=larger)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["table"]["people"] == 2000
    assert [each["name"] for each in told["segments"]] == ["≥ 0.2"]
    assert told["value"] is not None


@pytest.mark.slow
def test_fairgate_advise_and_monitor_read_the_table(larger: Path) -> None:
    columns = {"score": "score", "label": "label", "group": "group", "decision": "accepted", "positive": "1"}
    asked = [each for name, value in columns.items() for each in (f"--{name}", value)]
    asked += ["--parity", "0.2", "--no-loops", "--out", "advice", "--json"]
    done = fairgate_here("advise", "decisions.parquet", *asked, cwd=larger)
    assert done.returncode == 0, done.stderr
    assert "recommendation" in json.loads(done.stdout)
    later = fairgate_here("monitor", "decisions.parquet", "--against", "advice", "--json", cwd=larger)
    assert later.returncode in (0, 1), later.stderr
    assert json.loads(later.stdout)
