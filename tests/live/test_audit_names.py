"""Data never names code: a spec in a log, an exported file or a gate.toml imports only names that a person allows."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairgate as fg
from fairgate.importing import NotAllowedError
from fairgate.live import Gate, Spec
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.config import read_config
from fairgate.live.database import connect
from fairgate.live.events import START, Event, canonical, chained
from fairgate.live.export import export_log
from fairgate.live.fold import Fold
from fairgate.live.service import server
from fairgate.live.template import gate_toml
from tests.command import fairgate_here
from tests.live.gates import make_spec

TRAP = "from pathlib import Path\nPath('PWNED').touch()\n"
OWN = """
class AtMost:
    names = ("most",)

    def __init__(self, most):
        self.most = most

    def residuals(self, counts):
        return (counts.overall - self.most,)
"""
HOSTILE = {"os:system": "touch PWNED", "builtins:exec": "open('PWNED', 'w')", "trap:Trap": 1.0, "my.trap:Trap": 1.0}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a gate, its gate.toml, a module that does harm once imported, and one that does none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "trap.py").write_text(TRAP)
    (tmp_path / "own_most.py").write_text(OWN)
    (tmp_path / "gate.toml").write_text(gate_toml("credit", ["women", "men"], "credit.db"))
    with_gate(tmp_path, make_spec())
    yield tmp_path
    sys.modules.pop("own_most", None)


def with_gate(folder: Path, spec: Spec) -> None:
    gate = Gate(str(folder / "credit.db"), "credit", spec=spec)
    gate.decide("a-1", "women", 0.6)
    gate.close()
    gate.shut()


def change_spec(path: Path, **changes: object) -> None:
    """Change the spec in the first event of a database, and compute all hashes again."""
    connection = sqlite3.connect(path)
    head, columns = START, ", ".join(f'"{name}"' for name in Event._fields)
    for row in connection.execute(f"SELECT {columns} FROM events ORDER BY seq").fetchall():
        event = Event(*row)
        if event.seq == 1:
            data = event.data
            event = event._replace(body=canonical(data | {"spec": data["spec"] | changes}))
        head = chained(head, event[:-1])
        connection.execute("UPDATE events SET body = ?, hash = ? WHERE seq = ?", (event.body, head, event.seq))
    connection.execute("UPDATE gates SET head = ?", (head,))
    connection.execute("DELETE FROM snapshots")
    connection.commit()
    connection.close()


def exported(folder: Path) -> Path:
    with stored_log(connect(str(folder / "credit.db")), "credit") as log:
        export_log(log, folder / "credit.zip")
    return folder / "credit.zip"


COMMANDS = [("audit",), ("keys", "list"), ("export", "--table", "a.parquet")]


@pytest.mark.parametrize(
    ("command", "name"),
    [*((("audit", "credit.zip"), name) for name in HOSTILE), *((command, "trap:Trap") for command in COMMANDS)],
)
def test_a_log_runs_no_code_that_it_names(folder: Path, command: tuple[str, ...], name: str) -> None:
    change_spec(folder / "credit.db", constraints={name: HOSTILE[name]})
    exported(folder)
    path = list(sys.path)
    result = fairgate_here("live", *command, cwd=folder)
    assert not (folder / "PWNED").exists()
    assert "trap" not in sys.modules
    assert sys.path == path
    assert result.returncode == 2
    assert result.stderr == (
        f"fairgate: constraint {name!r} is not built in, and code that a file names is not run: if you trust it, add "
        f"--allow {name} (in Python, allow=[{name!r}])\n"
    )


def test_only_the_very_name_that_is_allowed_is_imported(folder: Path) -> None:
    change_spec(folder / "credit.db", constraints={"trap:Trap": 1.0, "own_most:AtMost": 0.9})
    for allowed in ("trap:Other", "trap.trap:Trap", "own_most:AtMost"):
        result = fairgate_here("live", "audit", "--allow", allowed, cwd=folder)
        assert (result.returncode, (folder / "PWNED").exists()) == (2, False)
    assert "add --allow trap:Trap " in result.stderr
    change_spec(folder / "credit.db", constraints={"own_most; rm -r ~:AtMost": 0.9})  # is not repeated as an option
    result = fairgate_here("live", "audit", cwd=folder)
    assert (result.returncode, "--allow" in result.stdout) == (1, False)
    assert "must be a place such as" in " ".join(result.stdout.split())


def test_a_name_whose_hash_does_not_fit_is_a_finding(folder: Path) -> None:
    connection = sqlite3.connect(folder / "credit.db")
    connection.execute("""UPDATE events SET body = replace(body, '"parity"', '"trap:Trap"') WHERE seq = 1""")
    connection.commit()
    connection.close()
    result = fairgate_here("live", "audit", "--json", cwd=folder)
    assert (result.returncode, (folder / "PWNED").exists()) == (1, False)
    findings = [each["text"] for each in json.loads(result.stdout)["findings"]]
    assert any("constraint 'trap:Trap' is not built in" in text for text in findings)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"grid": [k / 2000 for k in range(2000)]}, "grid must have at most 1000 thresholds, got 2000"),
        (
            {"groups": [str(g) for g in range(1000)], "grid": [k / 20 for k in range(20)]},
            "groups times thresholds must be at most 10000, got 1000 × 20",
        ),
        ({"false_positive_cost": 1e155}, "should be less than or equal to 1000000000"),
    ],
)
def test_a_spec_beyond_all_use_is_a_finding(folder: Path, changes: dict[str, object], said: str) -> None:
    """These exhausted memory, or overflowed, when the log was folded."""
    change_spec(folder / "credit.db", **changes)
    exported(folder)
    result = fairgate_here("live", "audit", "credit.zip", "--json", cwd=folder)
    assert result.returncode == 1
    assert any(said in each["text"] for each in json.loads(result.stdout)["findings"])


def test_a_spec_cannot_allow_itself_anything(folder: Path) -> None:
    for entry in ("allow", "_trust", "trust"):
        change_spec(folder / "credit.db", constraints={"trap:Trap": 1.0}, **{entry: ["trap:Trap"]})
        result = fairgate_here("live", "audit", cwd=folder)
        assert (result.returncode == 0, (folder / "PWNED").exists()) == (False, False)
    text = gate_toml("credit", ["women", "men"], "credit.db")
    for table in ("[gate]\n", "[service]\n"):
        (folder / "gate.toml").write_text(text.replace(table, f'{table}allow = ["trap:Trap"]\n'))
        assert "unknown entry 'allow'" in fairgate_here("live", "keys", "list", cwd=folder).stderr


def test_a_gate_with_a_constraint_of_ones_own_works_where_it_is_allowed(folder: Path) -> None:
    name, own = "own_most:AtMost", folder / "own"
    own.mkdir()
    (folder / "own_most.py").rename(own / "own_most.py")  # modules are found beside gate.toml
    text = gate_toml("mine", ["women", "men"], "mine.db").replace("parity = 0.10", f'"{name}" = 0.95')
    (own / "gate.toml").write_text(text)
    config, allow = ("--config", "own/gate.toml"), ("--allow", name)
    refused = fairgate_here("live", "init", "mine", "--folder", "own", cwd=folder)
    assert refused.returncode == 2
    assert f"add --allow {name} " in refused.stderr
    made = fairgate_here("live", "init", "mine", "--folder", "own", *allow, cwd=folder)
    assert made.returncode == 0, made.stderr
    for command in (("keys", "list"), ("audit",), ("backup", "copy.db"), ("export", "--out", "mine.zip"), ("prune",)):
        assert f"add --allow {name} " in fairgate_here("live", *command, *config, cwd=folder).stderr
        result = fairgate_here("live", *command, *config, *allow, cwd=folder)
        assert result.returncode == 0, result.stderr
    assert fairgate_here("live", "audit", "mine.zip", cwd=folder).returncode == 2
    assert fairgate_here("live", "audit", "mine.zip", *allow, cwd=folder).returncode == 0
    with pytest.raises(NotAllowedError):
        Gate(str(own / "mine.db"), "mine")
    gate = Gate(str(own / "mine.db"), "mine", allow=[name])
    assert gate.audit().clean
    gate.shut()
    with pytest.raises(NotAllowedError):
        audit_log(folder / "mine.zip")
    assert audit_log(folder / "mine.zip", allow=[name]).clean


def test_workers_allow_what_their_parent_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = gate_toml("mine", ["women", "men"], "mine.db").replace("parity = 0.10", '"own_most:AtMost" = 0.95')
    (folder / "gate.toml").write_text(text)
    settings = read_config(folder / "gate.toml", ["own_most:AtMost"])
    monkeypatch.setattr(server, "settle", lambda: None)
    monkeypatch.setenv(server.SETTINGS, settings.model_dump_json())
    gates = server.make_worker().state.gates
    gates.open()
    assert gates["mine"].spec.trust == settings.gates[0].trust
    assert gates["mine"].audit().clean
    gates.shut()


def test_a_spec_made_in_python_is_text_too(folder: Path) -> None:
    plain = {**make_spec(learner="safe-search").model_dump(), "constraints": {"own_most:AtMost": 0.9}}
    with pytest.raises(ValueError, match="add --allow own_most:AtMost "):
        Spec(**plain)
    with pytest.raises(NotAllowedError, match="add --allow own_most:AtMost "):
        Spec.read(plain)
    spec = Spec.read(plain, allow=["own_most:AtMost"])
    assert spec.setting.problem.names == ("most",)
    with pytest.raises(fg.InputError, match="allow must be a list of names"):
        Spec.read(plain, allow="own_most:AtMost")


def test_a_learners_settings_open_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    monkeypatch.setattr("fairgate.history.read_past", lambda table, **columns: opened.append(table))
    own = "safe-search: history = /etc/passwd"
    with pytest.raises(fg.InputError, match=f"learner '{own}' must have no setting history"):
        make_spec(learner=own)
    change_spec(folder / "credit.db", learner=own)
    assert fairgate_here("live", "audit", cwd=folder).returncode == 2
    assert opened == []


def test_an_event_names_no_method() -> None:
    fold = Fold(make_spec())
    fold.apply(Event(1, "open", 0, "{}", "", "", None, None, START))  # the fold has a method _open
    assert fold.seq == 1
