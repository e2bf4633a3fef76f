"""A gate that starts from past decisions: gate.toml names their table, the log has its digest, an audit needs it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from fairgate.errors import InputError
from fairgate.learners import LEARNERS
from fairgate.live import Gate
from fairgate.live.audit import audit_log
from fairgate.live.config import read_config
from fairgate.live.failures import ConflictError
from fairgate.live.past import MissingTableError, PastDecisions
from fairgate.live.template import gate_toml
from tests.command import fairgate_here
from tests.live.gates import make_spec, people
from tests.past import Keeper, past_table

GROUPS = {"f": "women", "m": "men"}


@pytest.fixture(autouse=True)
def keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner that plays the old threshold of its history."""
    monkeypatch.setitem(LEARNERS, "keeper", Keeper)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a table of past decisions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", list(sys.path))
    write(tmp_path / "past.csv")
    return tmp_path


def write(path: Path, names: dict[str, str] | None = None, **changed: Any) -> None:
    columns = past_table(cut=0.75, **changed)
    columns["group"] = [GROUPS[each] for each in columns["group"]]
    csv.write_csv(pa.table({(names or {}).get(name, name): values for name, values in columns.items()}), path)


def toml(folder: Path, learner: str = 'history = "past.csv"', name: str = "keeper") -> Path:
    text = gate_toml("credit", ["women", "men"], "credit.db").replace('"safe-forecast"', f'"{name}"', 1)
    (folder / "gate.toml").write_text(f"{text}\n[learner]\n{learner}\n")
    return folder / "gate.toml"


def test_a_gate_starts_from_the_table_that_its_file_names(folder: Path) -> None:
    spec = read_config(toml(folder)).gates[0]
    assert spec.history is not None
    assert (spec.history.file, spec.history.rows, spec.history.columns) == ("past.csv", 400, {})
    learner = spec.make_learner()
    assert learner.propose(learner.start(spec.setting)).single.tolist() == [[0.75, 0.75]]


def test_columns_may_have_other_names_and_the_threshold_be_given(folder: Path) -> None:
    write(folder / "old.csv", {"score": "points", "outcome": "repaid"})
    columns = 'columns = { score = "points", outcome = "repaid" }'
    spec = read_config(toml(folder, f'history = "old.csv"\n{columns}\nthreshold = [0.3, 0.3]')).gates[0]
    learner = spec.make_learner()
    assert learner.propose(learner.start(spec.setting)).single.tolist() == [[0.3, 0.3]]


def test_the_table_is_found_beside_gate_toml(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    path = toml(folder)
    write(folder / "elsewhere" / "past.csv", seed=5)
    monkeypatch.chdir(folder / "elsewhere")
    assert read_config(path).gates[0].make_learner().describe()["history"]["rows"] == 400


@pytest.mark.parametrize(
    ("entry", "name", "said"),
    [
        ('history = "nowhere.csv"', "keeper", "[learner] history: there is no file 'nowhere.csv'"),
        ("threshold = 0.5", "keeper", "[learner] must have history"),
        ('history = "other.csv"', "keeper", "[learner] history: the group column 'group' has the unknown group 'x'"),
        ('history = "past.csv"', "ofs", "learner ofs takes no history"),
        ('history = "past.csv"\ncolumns = { age = "x" }', "keeper", "[learner] columns.age"),
        ('history = "past.csv"\ncolumns = { score = "x" }', "keeper", "the score column 'x' is not in the table"),
    ],
)
def test_what_is_wrong_is_one_sentence(folder: Path, entry: str, name: str, said: str) -> None:
    csv.write_csv(pa.table(past_table(group=["x", "men"] * 200)), folder / "other.csv")
    with pytest.raises(InputError) as told:
        read_config(toml(folder, entry, name))
    assert str(told.value).startswith(f"{folder}/gate.toml: ")
    assert said in str(told.value)


def make_gate(folder: Path) -> Gate:
    """A gate that started from the table, has decided, and was told of outcomes."""
    past = PastDecisions.of("past.csv", ["women", "men"])
    gate = Gate(str(folder / "gate.db"), "credit", spec=make_spec(learner="keeper", history=past))
    names, groups, scores = people(np.random.default_rng(0), 40)
    decided = gate.decide(names, groups, scores)
    assert decided.accepted == [score >= 0.75 for score in scores]
    gate.close()
    return gate


def test_decisions_follow_from_the_table_and_an_audit_recomputes_them(folder: Path) -> None:
    gate = make_gate(folder)
    assert audit_log(gate).clean
    again = Gate(str(folder / "gate.db"), "credit")
    assert again.status().head == gate.status().head
    with pytest.raises(ConflictError, match="was made with history"):
        Gate(str(folder / "gate.db"), "credit", spec=make_spec(learner="keeper"))
    for each in (gate, again):
        each.shut()


def test_without_the_table_or_with_another_nothing_can_be_recomputed(folder: Path) -> None:
    gate = make_gate(folder)
    shutil.move("past.csv", "kept.csv")
    with pytest.raises(
        MissingTableError, match=r"past decisions of 'past.csv' \(400 rows\), and there is no such file"
    ):
        audit_log(gate)
    write(folder / "past.csv", seed=1)
    with pytest.raises(MissingTableError, match=r"past.csv has other rows"):
        audit_log(gate)
    (folder / "past.csv").write_text("score\n1\n")
    with pytest.raises(MissingTableError, match="cannot be read as such: the group column 'group' is not in the table"):
        audit_log(gate)
    shutil.move("kept.csv", "past.csv")
    assert audit_log(gate).clean
    gate.shut()


@pytest.mark.parametrize("file", ["/{}/elsewhere/past.csv", "../elsewhere/past.csv", "link/past.csv"])
def test_a_spec_opens_no_table_outside_the_folder_that_its_reader_names(folder: Path, file: str) -> None:
    for name in ("elsewhere", "named"):
        (folder / name).mkdir()
    shutil.copy(folder / "past.csv", folder / "elsewhere")
    (folder / "named/link").symlink_to(folder / "elsewhere")
    past = PastDecisions.of("past.csv", ["women", "men"]).model_copy(update={"file": file.format(str(folder)[1:])})
    named = folder / "named"
    with pytest.raises(MissingTableError, match=r"and there is no such file in .*named, as only files below it"):
        past.history(["women", "men"], named)
    with pytest.raises(InputError, match="name a table of past decisions in"):
        PastDecisions.of(past.file, ["women", "men"], folder=named)
    if "link" not in file:  # where a table was named by another path, one of its name in the folder is it
        shutil.copy(folder / "past.csv", named)
        assert past.history(["women", "men"], named).people == 400


def test_the_folder_is_named_by_who_audits(folder: Path) -> None:
    gate = make_gate(folder)
    gate.shut()
    (folder / "tables").mkdir()
    shutil.move("past.csv", "tables/past.csv")
    (folder / "gate.toml").write_text(gate_toml("credit", ["women", "men"], "gate.db"))
    assert fairgate_here("live", "export", "--out", "credit.zip", cwd=folder).returncode == 0
    for source in ([], ["credit.zip"]):
        lost = fairgate_here("live", "audit", *source, cwd=folder)
        assert lost.returncode == 2
        assert "name its folder (--folder)" in lost.stderr
        found = fairgate_here("live", "audit", *source, "--folder", "tables", cwd=folder)
        assert found.returncode == 0, found.stderr + found.stdout
