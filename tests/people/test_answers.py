"""Which decision means accepted is asked where a name sounds like a rejection; several labels may be good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairgate as fg
from fairgate.advice import Aims
from fairgate.advice.config import put_together
from fairgate.advice.findings import inspect
from fairgate.people import from_file, from_frame
from fairgate.people.direction import sounds_rejected
from tests.command import fairgate_here

COLUMNS: dict[str, Any] = {"score": "score", "label": "repaid", "group": "sex"}
NAMES = ("--score", "score", "--label", "repaid", "--group", "sex")


def applicants(rows: int = 600) -> pa.Table:
    """Most people of high score were granted a loan; what came of it is known of them only."""
    rng = np.random.default_rng(1)
    score = rng.random(rows).round(3)
    denied = score + rng.normal(0.0, 0.1, rows) < 0.5
    paid = (rng.random(rows) < score).tolist()
    repaid = [None if no else int(good) for no, good in zip(denied, paid, strict=True)]
    status = [
        None if good is None else ("ok" if score[at] < 0.8 else "promoted") if good else "left"
        for at, good in enumerate(repaid)
    ]
    return pa.table(
        {
            "score": score,
            "repaid": pa.array(repaid, pa.int64()),
            "status": status,
            "sex": rng.choice(["f", "m"], rows),
            "denied": denied.astype(int),
            "declined": ["yes" if no else "no" for no in denied],
            "outcome": ["denied" if no else "approved" for no in denied],
        }
    )


@pytest.mark.parametrize(("name", "accepted"), [("denied", "0"), ("declined", "no")])
def test_a_decision_that_sounds_like_a_rejection_is_asked_about(name: str, accepted: str) -> None:
    table = applicants()
    for read in (
        lambda: from_frame(table, **COLUMNS, decision=name),
        lambda: fg.audit(table, decision=name, group="sex"),
    ):
        with pytest.raises(fg.InputError) as caught:
            read()
        told = str(caught.value)
        assert f"the decision column {name!r} sounds like a rejection" in told
        assert f"--accepted {accepted} if {name} = {accepted} means accepted (the usual case)" in told
    found = from_frame(table, **COLUMNS, decision=name, accepted=accepted)
    expected = 1.0 - table["denied"].to_numpy().mean()
    assert found.decisions is not None
    assert found.decisions.sum(axis=(0, 1))[1] / found.people == pytest.approx(expected)
    audited = fg.audit(table, decision=name, group="sex", accepted=accepted)
    assert audited.overall.overall.value[-1] == pytest.approx(expected)


def test_values_that_say_themselves_what_they_mean_are_not_asked_about() -> None:
    table = applicants().rename_columns(["score", "repaid", "status", "sex", "a", "b", "denial"])
    found = from_frame(table, **COLUMNS, decision="denial")
    assert found.decided is not None
    assert found.decided.accepted == "denial = approved"


@pytest.mark.parametrize("name", ["deny", "is_rejected", "Refused", "turned_down", "loanDeclined", "not_approved"])
def test_names_that_sound_like_a_rejection(name: str) -> None:
    assert sounds_rejected(name)


@pytest.mark.parametrize("name", ["approved", "accepted", "decision", "granted", "not_denied", "hired", "y"])
def test_names_that_do_not(name: str) -> None:
    assert not sounds_rejected(name)


def test_labels_of_the_rejected_alone_are_a_warning() -> None:
    """Read upside down, the table would know what came of the rejected, and nothing of the accepted."""
    table = applicants()
    for accepted, there in ((0, False), (1, True)):
        findings = inspect(from_frame(table, **COLUMNS, decision="denied", accepted=accepted), Aims())
        told = [each for each in findings if each.key == "decision-upside-down"]
        assert bool(told) is there
    assert told[0].level == "warning"
    assert "labels are known of 100% of those who count as rejected and of 0% of those who count as accepted" in (
        told[0].text
    )
    assert "(denied = 1)" in told[0].text
    audited = fg.audit(table, decision="denied", accepted=1, group="sex", label="repaid")
    assert any("upside down" in line for line in audited.document()["summary"])


def test_the_commands_and_the_policy_file_take_the_answer(tmp_path: Path) -> None:
    pq.write_table(applicants(), tmp_path / "people.parquet")
    quick = ("--feedback", "0", "--json")
    asked = fairgate_here("advise", "people.parquet", *NAMES, "--decision", "denied", *quick, cwd=tmp_path)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert "--accepted 0 if denied = 0 means accepted" in asked.stderr
    told = fairgate_here(
        "advise", "people.parquet", *NAMES, "--decision", "denied", "--accepted", "0", *quick, cwd=tmp_path
    )
    assert told.returncode == 0
    rate = json.loads(told.stdout)["change"]["everybody"]["rate_now"]
    assert rate == pytest.approx(1.0 - applicants()["denied"].to_numpy().mean())
    (tmp_path / "policy.toml").write_text(
        '[data]\nfile = "people.parquet"\nscore = "score"\nlabel = "status"\ngroup = "sex"\n'
        'positive = ["ok", "promoted"]\ndecision = "denied"\naccepted = 0\n',
        encoding="utf-8",
    )
    found = from_file(**put_together(tmp_path / "policy.toml", {}, {}).table)
    assert found.current_rates is not None
    assert found.decided is not None
    assert (found.good, found.decided.accepted) == ("status = ok or promoted", "denied = 0")
    alone = fairgate_here("advise", "people.parquet", *NAMES, "--accepted", "0", cwd=tmp_path)
    assert "needs a column of decisions: say --decision NAME" in alone.stderr


def test_decisions_that_are_not_there_are_refused() -> None:
    for accepted in ("granted", ["approved", "granted"]):
        with pytest.raises(fg.InputError, match="accepted 'granted' is no decision of the column 'outcome', whose"):
            from_frame(applicants(), **COLUMNS, decision="outcome", accepted=accepted)


def test_several_labels_may_be_good(tmp_path: Path) -> None:
    table = applicants()
    named = COLUMNS | {"label": "status"}
    found = from_frame(table, **named, positive=["ok", "promoted"])
    assert (found.good, found.bad) == ("status = ok or promoted", "status = left")
    np.testing.assert_array_equal(found.counts, from_frame(table, **COLUMNS).counts)
    pq.write_table(table, tmp_path / "people.parquet")
    options = ("--score", "score", "--label", "status", "--group", "sex", "--positive", "ok", "--positive", "promoted")
    result = fairgate_here("advise", "people.parquet", *options, "--feedback", "0", "--json", cwd=tmp_path)
    assert json.loads(result.stdout)["money"]["good"] == "status = ok or promoted"
    options = ("--decision", "outcome", *options[2:])
    audited = fairgate_here("audit", "people.parquet", *options, "--json", cwd=tmp_path)
    assert json.loads(audited.stdout)["table"]["good"] == "status = ok or promoted"


@pytest.mark.parametrize(
    ("positive", "sentence"),
    [
        (["ok", "lost"], "positive 'lost' is no label of the column 'status'"),
        ([], "positive must be a label of the column 'status', or a list of them, got \\[\\]"),
        (["ok", None], "positive must be a label of the column 'status', or a list of them"),
    ],
)
def test_a_list_of_labels_that_are_none_is_refused(positive: Any, sentence: str) -> None:
    with pytest.raises(fg.InputError, match=sentence):
        from_frame(applicants(), **(COLUMNS | {"label": "status"}), positive=positive)


def test_an_audit_asks_which_label_is_good_too() -> None:
    table = applicants().rename_columns(["score", "default", "status", "sex", "a", "b", "outcome"])
    with pytest.raises(fg.InputError, match="the label column 'default' sounds like a bad outcome"):
        fg.audit(table, decision="outcome", group="sex", label="default")
