"""Subjects: who asks again under a new id meets the same lottery number and the first decision, within a period."""

from __future__ import annotations

import hashlib
import math
import re
import sqlite3
import zipfile
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from fairgate.errors import InputError
from fairgate.live import Gate, making
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.auditing import AuditReport
from fairgate.live.config import parse_config
from fairgate.live.database import reading, writing
from fairgate.live.events import draws_of
from fairgate.live.export import export_log
from fairgate.live.failures import ConflictError
from fairgate.live.prune import prune
from fairgate.live.requests import Decide, Request
from fairgate.live.schema import cases, gates
from fairgate.live.spec import Spec
from tests.live.gates import Clock, make_spec
from tests.live.page_checks import page_checks
from tests.live.serving import make_spec as served_spec
from tests.live.serving import service

HELD = {"mode": "hold", "threshold": 0.5}


def held(url: str, **changes: Any) -> Gate:
    """A gate that holds at 0.5 and remembers subjects for 30 days."""
    return Gate(url, "credit", spec=make_spec(start=HELD, subjects={"days": 30.0}, **changes), clock=Clock())


def moved(gate: Gate, days: float) -> None:
    clock = gate.clock
    assert isinstance(clock, Clock)
    clock.move(days=days)


def rows_of(gate: Gate) -> list[Any]:
    with reading(gate.engine) as connection:
        return list(connection.execute(select(cases).order_by(cases.c.seq, cases.c.place)))


def exported(gate: Gate, path: Path) -> AuditReport:
    with stored_log(gate.engine, "credit") as log:
        export_log(log, path)
    return audit_log(path)


def test_who_asks_again_under_new_ids_is_accepted_as_often_as_the_lottery_says(database_url: str) -> None:
    """Without subjects three tries accept 1 − (1 − p)³; with them p, to five standard errors (6 in 10 million)."""
    people = 1500
    spec = make_spec(learner="safe-forecast", subjects={"days": 30.0})
    gate = Gate(database_url, "credit", spec=spec)
    gate.decide("first", "men", 0.0)
    policy = gate.status().policy
    assert policy is not None
    low, high = sorted(policy.components, key=lambda each: float(each.thresholds["men"]))
    chance, score = low.weight, 0.5
    assert float(low.thresholds["men"]) <= score < float(high.thresholds["men"])
    names = [f"p-{each}" for each in range(people)]
    tries: dict[bool, list[list[bool]]] = {True: [], False: []}
    for attempt in range(3):
        for known, subjects in ((True, names), (False, None)):
            ids = [f"{known}-{attempt}-{each}" for each in names]
            tries[known].append(gate.decide(ids, ["men"] * people, [score] * people, subjects=subjects).accepted)
    assert tries[True][0] == tries[True][1] == tries[True][2]
    for known, expected in ((True, chance), (False, 1 - (1 - chance) ** 3)):
        share = sum(map(any, zip(*tries[known], strict=True))) / people
        assert abs(share - expected) < 5 * math.sqrt(expected * (1 - expected) / people)
    assert gate.audit().clean
    gate.shut()


def test_the_same_facts_get_the_first_decision_and_others_are_a_conflict_that_tells_nothing(database_url: str) -> None:
    gate = held(database_url)
    assert gate.decide("a", "women", 0.6, subjects="p-1").accepted
    again = gate.decide("b", "women", 0.6, subjects="p-1")
    assert (again.id, again.accepted, again.round, again.repeated) == ("b", True, 0, True)
    before = gate.status().seq
    for group, score in (("women", 0.7), ("men", 0.6)):
        with pytest.raises(ConflictError) as told:
            gate.decide("c", group, score, subjects="p-1")
        assert str(told.value) == (
            "subject was decided on before in this period, with another group or score: a subject is decided on once"
        )
    with pytest.raises(ConflictError, match=r"^subjects\[1\] was decided on before"):
        gate.decide(["d", "e"], ["women", "men"], [0.6, 0.6], subjects=["p-2", "p-1"])
    assert gate.status().seq == before
    mixed = gate.decide(["f", "g", "h"], ["women", "women", "men"], [0.6, 0.4, 0.6], subjects=["p-1", "p-2", None])
    assert (mixed.accepted, mixed.repeated) == ([True, False, True], 1)
    gate.override("g", True, "an appeal")
    gate.close()
    gate.hold("another policy", 1.0)
    assert gate.decide("i", "women", 0.6, subjects="p-1").accepted  # as it was decided, not as it would be now
    assert gate.decide("j", "women", 0.4, subjects="p-2").accepted  # as a person decided in the end
    assert gate.decide("k", "women", 0.6).repeated is False
    assert [row.id for row in rows_of(gate)] == ["a", "g", "h", "k"]
    assert gate.audit().clean
    gate.shut()


def test_a_conflict_opens_no_round_and_a_new_period_forgets(database_url: str) -> None:
    gate = held(database_url)
    assert not gate.decide("a", "women", 0.4, subjects="p-1").accepted
    moved(gate, 31)
    assert gate.decide("b", "women", 0.4, subjects="p-1").repeated  # its round is still open
    gate.close()
    moved(gate, -2)
    before = gate.status().seq
    with pytest.raises(ConflictError):
        gate.decide("c", "women", 0.6, subjects="p-1")
    assert gate.status().seq == before
    moved(gate, 2)
    with reading(gate.engine) as connection:
        key = connection.execute(select(gates.c.subject_key)).scalar_one()
    assert gate.decide("c", "women", 0.6, subjects="p-1").repeated is False
    with reading(gate.engine) as connection:
        assert connection.execute(select(gates.c.subject_key)).scalar_one() != key
    first, second = rows_of(gate)
    assert first.subject != second.subject  # nothing links the two periods
    assert gate.decide("a", "women", 0.4, subjects="p-1").repeated  # an application keeps its decision for ever
    assert gate.audit().clean
    gate.shut()


def test_a_clock_that_jumps_to_and_fro_begins_one_period_and_no_more(database_url: str) -> None:
    gate = held(database_url)
    assert gate.decide("0", "women", 0.4, subjects="p-1").repeated is False
    gate.close()
    found = []
    for number, days in enumerate((40, -40, 40, -40, -40, 40, 365, -365), start=1):
        moved(gate, days)
        found.append(gate.decide(str(number), "women", 0.4, subjects="p-1").repeated)
        gate.close()
    assert found == [False, True, True, True, True, True, False, True]
    for number in range(9, 9 + 30):  # the period that began a year ahead does not last for a year
        moved(gate, 1)
        found.append(gate.decide(str(number), "women", 0.4, subjects="p-1").repeated)
        gate.close()
    assert found[8:] == [True] * 29 + [False]
    assert gate.audit().clean
    gate.shut()


def test_a_log_of_the_first_rule_of_time_is_audited_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "RULES", {**making.RULES, "clock": 1})
    gate = held(str(tmp_path / "gate.db"))
    for number, days in enumerate((0, 40, -40)):
        moved(gate, days)
        assert gate.decide(str(number), "women", 0.4, subjects="p-1").repeated is False
        gate.close()
    monkeypatch.undo()
    assert gate.audit().clean
    moved(gate, 1)
    assert gate.decide("3", "women", 0.4, subjects="p-1").repeated
    assert gate.audit().clean
    gate.shut()


def test_requests_that_come_at_once_know_each_other(tmp_path: Path) -> None:
    gate = held(str(tmp_path / "gate.db"), rounds={"people": 2})
    asked = [
        Decide([name], ["men"], [score], single=True, subjects=[subject])
        for name, score, subject in (
            ("a", 0.6, "p-1"),
            ("b", 0.6, "p-1"),
            ("c", 0.7, "p-1"),
            ("d", 0.6, None),
            ("e", 0.6, "p-2"),
            ("f", 0.6, "p-1"),
        )
    ]
    pairs: list[tuple[Request, Future[Any]]] = [(each, Future()) for each in asked]
    gate._answer(pairs)
    errors = [future.exception() for _, future in pairs]
    assert [type(error) for error in errors] == [type(None), type(None), ConflictError, *[type(None)] * 3]
    replies = [future.result() for _, future in pairs if future.exception() is None]
    assert [(each.id, each.round, each.repeated) for each in replies] == [
        ("a", 0, False),
        ("b", 0, True),
        ("d", 0, False),
        ("e", 1, False),
        ("f", 0, True),
    ]
    assert gate.audit().clean
    gate.shut()


def test_reports_are_remembered_and_keys_repeat_them(database_url: str) -> None:
    gate = held(database_url)
    gate.set_mode("shadow", "our own rule")
    told = ["a", "b"], ["women", "men"], [0.6, 0.4]
    assert gate.report(*told, [True, False], subjects=["p-1", "p-2"]).new == 2
    again = ["c", "d"], ["women", "men"], [0.6, 0.9]
    assert gate.report(*again, [True, True], subjects=["p-1", "p-3"], key="k").model_dump(
        include={"new", "repeated"}
    ) == {
        "new": 1,
        "repeated": 1,
    }
    with pytest.raises(ConflictError):
        gate.report(["e"], ["women"], [0.6], [False], subjects=["p-1"])
    gate.hold("we decide now", 0.5)
    batch = ["f", "g"], ["women", "men"], [0.6, 0.6]
    first = gate.decide(*batch, subjects=["p-1", None], key="l")
    assert first.repeated == 1
    whole = ["h"], ["women"], [0.6]
    second = gate.decide(*whole, subjects=["p-1"], key="m")
    for days in (0, 15, 16):  # the last in the next period, which knows nobody
        moved(gate, days)
        assert gate.decide(*batch, subjects=["p-1", None], key="l") == first
        assert gate.decide(*whole, subjects=["p-1"], key="m") == second
        gate.close()
    assert gate.audit().clean
    gate.shut()


def test_a_pseudonym_is_nowhere_but_in_the_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    secret = "pseudonym-of-somebody"
    asked = Decide(["a"], ["a"], [0.6], single=True, subjects=[secret])
    assert secret not in repr(asked)
    assert asked.digest == Decide(["a"], ["a"], [0.6], single=True).digest  # the log has it: it could be guessed from
    with service(str(tmp_path / "gate.db"), served_spec(subjects={"days": 7})) as served:
        sent = {"id": "x", "group": "a", "score": 0.6, "subject": secret}
        keyed = {"Idempotency-Key": "k"}
        assert served.ask("POST", "/decisions", json=sent, headers=keyed).json()["accepted"]
        assert served.ask("POST", "/decisions", json={**sent, "id": "y"}).json()["repeated"]
        refused = [
            served.ask("POST", "/decisions", json={**sent, "id": "z", "score": 0.7}),
            served.ask("POST", "/decisions", json={**sent, "subject": [secret]}),
            served.ask("POST", "/decisions", json={**sent, "subject": secret * 20}),
            served.ask("POST", "/decisions", json={**sent, "subject": secret + "\x00"}),
            served.ask("POST", "/decisions", json={**sent, "subject": secret + "\u2028"}),
            served.ask(
                "POST",
                "/decisions/batch",
                json={"ids": ["u", "v"], "groups": ["a", "a"], "scores": [0.6, 0.6], "subjects": [secret, secret]},
            ),
        ]
        assert [each.status_code for each in refused] == [409, 422, 422, 422, 422, 422]
        shown = [served.ask("GET", path).text for path in ("/log", "/case?id=x", "/snapshot", "/figures")]
        gate = served.app.state.gates["credit"]
        with stored_log(gate.engine, "credit") as log:
            export_log(log, tmp_path / "credit.zip")
        with sqlite3.connect(tmp_path / "gate.db") as connection:
            dumped = "\n".join(connection.iterdump())
        connection.close()
    with zipfile.ZipFile(tmp_path / "credit.zip") as packed:
        files = b"".join(packed.read(each) for each in packed.namelist())
    plain = [*shown, *(each.text for each in refused), dumped, caplog.text]
    for text in (secret, hashlib.sha256(secret.encode()).hexdigest()[:32]):
        assert not any(text in each for each in plain)
        assert text.encode() not in files


@pytest.mark.parametrize(
    ("subjects", "said"),
    [
        (["p-1"], "subjects must be one per application, 2, got 1"),
        (["p-1", "p-1"], "subjects must be different, and those at 0 and 1 are the same"),
        ([None, ""], r"subjects\[1\] must be text of 1 to 200 printable characters, or none"),
        ([None, 5], r"subjects\[1\] must be text of 1 to 200 printable characters, or none"),
    ],
)
def test_subjects_that_do_not_fit_are_refused_with_their_whole_batch(
    subjects: list[Any], said: str, tmp_path: Path
) -> None:
    gate = held(str(tmp_path / "gate.db"))
    with pytest.raises(InputError, match=said):
        gate.decide(["a", "b"], ["men", "men"], [0.4, 0.4], subjects=subjects)
    assert gate.status().seq == 1
    gate.shut()


def test_a_gate_without_the_setting_refuses_subjects_and_one_of_counts_the_setting(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(start=HELD))
    with pytest.raises(InputError, match=r"subject is for gates whose file has the table \[subjects\]"):
        gate.decide("a", "men", 0.6, subjects="p-1")
    assert gate.decide(["a"], ["men"], [0.6], subjects=[None]).accepted == [True]
    gate.shut()
    with pytest.raises(InputError, match='subjects: a gate with store = "counts" cannot remember'):
        make_spec(store="counts", subjects={"days": 30.0})


def test_the_file_of_a_gate_gives_the_days(tmp_path: Path) -> None:
    text = '[gate]\nname = "c"\ngroups = ["a", "b"]\n[scores]\ngrid = [0.5, 0.6]\n[start]\nthreshold = 0.5\n{}'
    text += '\n[database]\nurl = "gate.db"\n'
    assert [specs(text.format(each), tmp_path).subjects for each in ("", "[subjects]")] == [
        None,
        make_spec(subjects={}).subjects,
    ]
    assert specs(text.format("[subjects]\ndays = 7"), tmp_path).subjects == make_spec(subjects={"days": 7}).subjects


def specs(text: str, folder: Path) -> Spec:
    return parse_config(text, folder / "gate.toml").gates[0]


def test_subjects_are_pruned_with_their_applications_and_not_within_their_period(database_url: str) -> None:
    gate = held(database_url, label_due_days=5.0)
    gate.decide("a", "women", 0.6, subjects="p-1")
    gate.close()
    moved(gate, 40)
    with pytest.raises(InputError, match="older_than must be at least the 30 days for which subjects are remembered"):
        prune(gate, timedelta(days=10))
    gone = prune(gate, timedelta(days=35))
    assert gone is not None
    assert gone.cases == 1
    assert gate.decide("b", "women", 0.6, subjects="p-1").repeated is False
    assert gate.audit().clean
    gate.shut()


def with_periods(url: str) -> Gate:
    """A gate with three keys of draws: of a period, of its rest after a new secret, and of the next period."""
    gate = held(url)
    gate.decide(["a", "b"], ["women", "men"], [0.6, 0.4], subjects=["p-1", None])
    gate.rotate_secret("somebody left")
    gate.decide(["c", "d"], ["women", "men"], [0.6, 0.4], subjects=["p-1", "p-2"])
    gate.close()
    moved(gate, 31)
    gate.decide(["e", "f"], ["women", "men"], [0.6, 0.4], subjects=["p-1", None])
    gate.close()
    return gate


def test_draws_of_subjects_are_checked_from_a_file_once_their_key_is_revealed(
    database_url: str, tmp_path: Path
) -> None:
    gate = with_periods(database_url)
    stored, told = gate.audit(), exported(gate, tmp_path / "credit.zip")
    assert stored.clean, stored.first
    assert told.clean, told.first
    assert "Draws of subjects from round 2 on cannot be checked yet" in told.unchecked[0]
    assert not any("cannot be checked yet" in each for each in stored.unchecked)
    assert "The gate got a new secret at event 5" in stored.unchecked[0]
    first = gate.log(limit=3)[1].body["subjects"]
    revealed = next(each.body["revealed"] for each in gate.log() if each.kind == "rotated")
    row = rows_of(gate)[0]
    assert row.draw == draws_of(bytes.fromhex(revealed), [row.subject])[0]
    assert hashlib.sha256(bytes.fromhex(revealed)).hexdigest() == first["commitment"]
    for check in page_checks():  # the program of the page, which has nothing of fairgate
        check(tmp_path / "credit.zip")
    gate.shut()


def test_a_file_of_a_gate_without_subjects_is_as_it_was(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(start=HELD))
    gate.decide("a", "women", 0.6)
    assert exported(gate, tmp_path / "credit.zip").clean
    gate.shut()
    with zipfile.ZipFile(tmp_path / "credit.zip") as packed:
        assert b"subject" not in packed.read("cases.parquet")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("draw", "has the draw 0.5, and its subject gives"),
        ("subject", "has the draw .*, and its subject gives"),
        ("no subject", "has the draw .*, and its id gives"),
        ("key", "the key of pseudonyms that is stored is not the one that its period is committed to"),
    ],
)
def test_a_change_of_a_subject_is_found(what: str, said: str, tmp_path: Path) -> None:
    gate = with_periods(str(tmp_path / "gate.db"))
    change = {
        "draw": update(cases).where(cases.c.id == "a").values(draw=0.5),
        "subject": update(cases).where(cases.c.id == "a").values(subject="0" * 32),
        "no subject": update(cases).where(cases.c.id == "a").values(subject=None),
        "key": update(gates).values(subject_key=b"0" * 32),
    }
    with writing(gate.engine) as connection:
        connection.execute(change[what])
    report = gate.audit()
    assert report.first is not None
    assert re.search(said, report.first.text)
    gate.shut()
