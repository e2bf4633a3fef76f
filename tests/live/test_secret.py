"""A new secret of the gate: later draws cannot be foreseen, earlier ones stay checkable, other processes go on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from fairgate.errors import InputError
from fairgate.live import Gate
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.database import reading, writing
from fairgate.live.events import START, draws_of, make_event, round_secret
from fairgate.live.export import export_log
from fairgate.live.failures import ForbiddenError, UnavailableError
from fairgate.live.schema import cases, events, gates
from fairgate.live.subjects import draw_key, hidden
from tests.command import fairgate_here
from tests.live.gates import make_spec
from tests.live.page_checks import page_checks
from tests.live.serving import service

HELD = {"mode": "hold", "threshold": 0.5}


def drawn(gate: Gate, name: str) -> float:
    with reading(gate.engine) as connection:
        return float(connection.execute(select(cases.c.draw).where(cases.c.id == name)).scalar_one())


def test_who_could_read_the_old_secret_cannot_foresee_later_draws(database_url: str) -> None:
    gate = Gate(database_url, "credit", spec=make_spec(start=HELD, subjects={"days": 30}))
    gate.decide(["a", "b"], ["women", "men"], [0.6, 0.6], subjects=["p-1", None])
    with reading(gate.engine) as connection:
        row = connection.execute(select(gates)).one()
    old, key = bytes(row.secret), bytes(row.subject_key)
    assert drawn(gate, "b") == draws_of(round_secret(old, 0), ["b"])[0]
    assert drawn(gate, "a") == draws_of(draw_key(old, 0), hidden(key, ["p-1"]))[0]
    told = gate.rotate_secret("somebody left who could read the database", actor="ada")
    assert (told.round, gate.status().round, gate.log(newest=True, limit=1)[0].actor) == (1, 1, "ada")
    gate.decide(["c", "d"], ["women", "men"], [0.6, 0.6], subjects=["p-2", None])
    assert drawn(gate, "d") != draws_of(round_secret(old, 1), ["d"])[0]
    assert drawn(gate, "c") not in {draws_of(draw_key(old, each), hidden(key, ["p-2"]))[0] for each in (0, 1)}
    assert gate.decide("e", "women", 0.6, subjects="p-1").repeated  # who was decided on before is still known
    assert gate.audit().clean
    gate.shut()


def test_another_process_notices_and_one_of_another_gate_refuses(database_url: str) -> None:
    first = Gate(database_url, "credit", spec=make_spec(start=HELD))
    second = Gate(database_url, "credit")
    second.decide("a", "women", 0.6)
    first.rotate_secret("each quarter")
    first.rotate_secret("and once more")
    assert second.decide("b", "women", 0.6).round == 1
    assert second.audit().clean
    with reading(first.engine) as connection:
        secret = connection.execute(select(gates.c.secret)).scalar_one()
    assert drawn(first, "b") == draws_of(round_secret(secret, 1), ["b"])[0]
    with writing(first.engine) as connection:
        connection.execute(update(gates).values(secret=b"0" * 32))  # which no event gave it
    for gate in (first, second):
        with pytest.raises(UnavailableError, match="was made again, or another database is in its place"):
            gate.decide("c", "women", 0.6)
        gate.shut()


def test_a_request_after_it_in_the_same_transaction_has_the_new_secret(tmp_path: Path) -> None:
    from concurrent.futures import Future

    from fairgate.live.requests import Decide, Rotate

    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(start=HELD))
    asked = [Decide(["a"], ["men"], [0.6]), Rotate("now"), Decide(["b"], ["men"], [0.6])]
    pairs: list[tuple[Any, Future[Any]]] = [(each, Future()) for each in asked]
    gate._answer(pairs)
    assert [future.exception() for _, future in pairs] == [None] * 3
    assert gate.audit().clean
    gate.shut()


def test_a_gate_of_counts_repeats_decisions_of_rounds_before(database_url: str) -> None:
    """By a lottery, so that another secret would give other decisions."""
    gate = Gate(database_url, "credit", spec=make_spec(learner="safe-forecast", store="counts"))
    people = [f"a-{each}" for each in range(40)], ["women"] * 40, [0.5] * 40
    first = gate.decide(*people, key="k")
    assert 0 < sum(first.accepted) < 40
    gate.rotate_secret("each quarter")
    again = gate.decide(*people, key="k")
    assert again == first
    assert gate.audit().clean
    gate.shut()


def test_a_retry_changes_nothing_and_a_reason_is_needed(tmp_path: Path) -> None:
    gate = Gate(str(tmp_path / "gate.db"), "credit", spec=make_spec(start=HELD))
    told = gate.rotate_secret("each quarter", key="k")
    assert gate.rotate_secret("each quarter", key="k") == told
    with pytest.raises(InputError, match="reason must be a line"):
        gate.rotate_secret(" ")
    assert gate.status().seq == 2
    gate.shut()


def test_over_http_it_needs_admin_and_the_client_has_it(tmp_path: Path) -> None:
    with service(str(tmp_path / "gate.db")) as served:
        with served.client(scope="decide") as client, pytest.raises(ForbiddenError):
            client.rotate_secret("why not")
        with served.client(scope="admin") as client:
            told = client.rotate_secret("each quarter")
        with served.client() as client:
            (event,) = client.log(kind="rotated")
        assert (event.seq, event.body["commitment"], event.actor) == (told.seq, told.commitment, "key:admin")
        assert served.app.state.gates["credit"].audit().clean


def test_the_command_does_it_while_the_gate_is_open(tmp_path: Path) -> None:
    assert fairgate_here("live", "init", "credit", cwd=tmp_path).returncode == 0
    gate = Gate(str(tmp_path / "credit.db"), "credit")
    done = fairgate_here("live", "rotate", "each quarter", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "new secret from round 0 on" in done.stdout
    gate.decide("a", gate.spec.groups[0], 0.6)
    assert gate.log(kind="rotated")[0].actor == "command line"
    assert gate.audit().clean
    gate.shut()
    wrong = fairgate_here("live", "rotate", "", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "reason must be a line" in wrong.stderr


def rotated_twice(url: str) -> Gate:
    gate = Gate(url, "credit", spec=make_spec(start=HELD, subjects={"days": 30}))
    for number in range(3):
        gate.decide([f"a-{number}", f"b-{number}"], ["women", "men"], [0.6, 0.6], subjects=[f"p-{number}", None])
        if number < 2:
            gate.rotate_secret("each quarter")
    gate.close()
    return gate


def test_the_audit_of_a_file_and_the_program_of_the_page_check_all_rounds(tmp_path: Path) -> None:
    gate = rotated_twice(str(tmp_path / "gate.db"))
    with stored_log(gate.engine, "credit") as log:
        export_log(log, tmp_path / "credit.zip")
    report = audit_log(tmp_path / "credit.zip")
    assert report.clean, report.first
    for check in page_checks():
        check(tmp_path / "credit.zip")
    gate.shut()


def chained_again(gate: Gate, change: Callable[[str, dict[str, Any]], None]) -> None:
    """Change bodies of events, and compute all hashes again."""
    with stored_log(gate.engine, "credit") as log:
        old = list(log.events())
    head = START
    with writing(gate.engine) as connection:
        for each in old:
            data = each.data
            change(each.kind, data)
            new = make_event(head, each.seq, each.kind, each.round, data, each.at, each.actor, each.key, each.request)
            head = new.hash
            connection.execute(update(events).where(events.c.seq == new.seq).values(body=new.body, hash=new.hash))
        connection.execute(update(gates).values(head=head))


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("rotated", "commitment", "its commitment is not that of the gate's secret"),
        ("rotated", "revealed", "it does not reveal the key of subjects' draws that was committed to"),
        ("opened", "began", "its period of subjects is"),
        ("opened", "since", "its period of subjects is"),
        ("opened", "pseudonyms", "it commits to another key of pseudonyms"),
        ("opened", "commitment", "its commitment is not that of the key of subjects' draws"),
    ],
)
def test_a_changed_rotation_or_period_is_found(kind: str, name: str, said: str, tmp_path: Path) -> None:
    """The last one of its kind is changed, and all hashes are computed again."""
    gate = rotated_twice(str(tmp_path / "gate.db"))
    left = {"rotated": 2, "opened": 3}

    def change(found: str, data: dict[str, Any]) -> None:
        left[found] = left.get(found, 0) - 1
        if found == kind and left[found] == 0:
            place = data["subjects"] if kind == "opened" else data
            place[name] = 7 if name == "since" else "2026-02-01T00:00:00+00:00" if name == "began" else "ab" * 32

    chained_again(gate, change)
    report = gate.audit()
    gate.shut()
    assert report.first is not None
    assert report.first.kind == kind
    assert said in report.first.text
