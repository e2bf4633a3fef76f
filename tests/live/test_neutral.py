"""A key without `read` cannot tell by a refusal what is stored: same status, headers, sentence and queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from fairgate.errors import InputError
from fairgate.live import Gate
from fairgate.live.failures import ConflictError
from fairgate.live.prune import prune
from fairgate.live.requests import Correct, Outcomes
from tests.live.gates import make_spec
from tests.live.serving import Served, service

SPEC = make_spec(start={"mode": "hold", "threshold": 0.5})

UNLABELLED = ("unknown", "rejected", "turned down", "pruned")
"""Applications that can have no label; of `turned down` a person overrode the acceptance."""

LABELLED = ("bad", "mended")
"""Applications whose label is 0, `mended` by a correction, one of a round that is closed."""

DECIDED = ("accepted", "rejected", "turned down", "bad", "mended", "closed")
"""Applications with the score 0.75, or 0.25 if they were rejected; `closed` is of a closed round."""


def fill(gate: Gate) -> None:
    """Bring applications into every state."""
    gate.decide("pruned", "men", 0.75)
    gate.outcomes(["pruned"], [1])
    gate.close()
    later = Gate(gate.engine.url.render_as_string(hide_password=False).removeprefix("sqlite:///"), gate.name)
    later.clock = lambda: datetime.now(UTC) + timedelta(days=800)
    prune(later)
    later.shut()
    gate.decide(["closed", "mended"], ["men"] * 2, [0.75] * 2)
    gate.outcomes(["mended"], [1])
    gate.close()
    gate.correct(["mended"], [0], "typed wrongly")
    gate.decide(["accepted", "turned down", "bad", "good"], ["men"] * 4, [0.75] * 4)
    gate.decide("rejected", "men", 0.25)
    gate.override("turned down", False, "known to us")
    gate.outcomes(["bad", "good"], [0, 1])


@pytest.fixture
def served(database_url: str) -> Iterator[Served]:
    with service(database_url, SPEC) as found:
        fill(found.app.state.gates["credit"])
        yield found


def told(served: Served, scope: str, path: str, body: Any, name: str) -> Any:
    """Return a whole answer, the caller's own id aside."""
    answer = served.ask("POST", path, scope, json=body)
    assert repr(name) in answer.json()["detail"]
    headers = [(key, value) for key, value in answer.headers.items() if key != "content-length"]
    return answer.status_code, headers, answer.text.replace(repr(name), "ID")


def test_refusals_are_the_same_for_every_state(served: Served) -> None:
    gate: Gate = served.app.state.gates["credit"]
    before = gate.status()
    outcomes = [
        told(served, "outcomes", "/outcomes", {"ids": [name], "labels": [1]}, name) for name in (*UNLABELLED, *LABELLED)
    ]
    corrections = [
        told(served, "outcomes", "/corrections", {"ids": [name], "labels": [1], "reason": "wrong"}, name)
        for name in (*UNLABELLED, "accepted")
    ]
    decisions = [
        told(served, "decide", "/decisions", {"id": name, "group": group, "score": score}, name)
        for name in DECIDED
        for group, score in (("men", 0.74), ("women", 0.75), ("women", 0.25), ("men", 2.0))
    ]
    batches = [
        told(served, "decide", "/decisions/batch", {"ids": [name], "groups": ["women"], "scores": [0.5]}, name)
        for name in DECIDED
    ]
    overrides = [
        told(served, "admin", "/overrides", {"id": name, "accepted": True, "reason": "wrong"}, name)
        for name in ("unknown", "pruned", "turned down", "bad", "mended", "accepted", "closed")
    ]
    for answers in (outcomes, corrections, [*decisions, *batches], overrides):
        assert answers[0][0] == 409
        assert answers == answers[:1] * len(answers)
    served.app.state.gates["credit"].set_mode("shadow", "our own rule decides")
    after = gate.status()
    own = [({"groups": ["men"], "scores": [0.75]}, name) for name in ("accepted", "bad", "mended", "closed")]
    own += [({"groups": ["women"], "scores": [0.1]}, name) for name in DECIDED]
    own += [({"groups": ["men"], "scores": [0.25]}, "rejected")]
    reports = [
        told(served, "decide", "/reports", {"ids": [name], **body, "accepted": [name == "rejected"]}, name)
        for body, name in own
    ]
    assert reports == [decisions[0]] * len(reports)
    assert (before.people, after) == (5, gate.status())


def test_whoever_may_read_is_told_why(served: Served) -> None:
    sentences = {
        served.ask("POST", "/outcomes", json={"ids": [name], "labels": [1]}).json()["detail"]
        for name in ("unknown", "rejected", "bad")
    }
    assert sentences == {
        "id 'unknown' has not been decided on at this gate",
        "ids must be of accepted applications, but 'rejected' was rejected: it has no outcome",
        "labels: 'bad' was reported as 0, now as 1: correct it instead",
    }
    other = served.ask("POST", "/decisions", json={"id": "bad", "group": "women", "score": 0.5})
    assert "as 'men' with the score 0.75" in other.json()["detail"]


@pytest.mark.parametrize("successor", ["", "leasing"])
def test_ids_cannot_be_tried_out_where_new_ones_are_refused(served: Served, successor: str) -> None:
    """Nothing would be recorded of it."""
    gate: Gate = served.app.state.gates["credit"]
    for kind in ("reports", "decisions/batch", "reports"):  # in the mode hold; then in shadow, and after a handover
        if kind == "decisions/batch":
            gate.set_mode("shadow", "next", successor=successor)
        elif not successor:
            gate.set_mode("hold", "next")
        before = gate.status()
        answers = [
            served.ask("POST", f"/{kind}", "decide", json={"ids": [name], "groups": ["women"], "scores": [0.1], **more})
            for name in ("unknown", "pruned", *DECIDED)
            for more in ([{"accepted": [True]}] if kind == "reports" else [{}])
        ]
        assert {(each.status_code, each.text) for each in answers} == {(409, answers[0].text)}
        assert gate.status() == before
    gate.set_mode("shadow", "next")
    body = {"ids": ["accepted"], "groups": ["men"], "scores": [0.75]}
    assert served.ask("POST", "/decisions/batch", "decide", json=body).json()["repeated"] == 1


def test_a_key_that_another_caller_used_is_not_noticed(served: Served) -> None:
    body = {"id": "accepted", "group": "men", "score": 0.75}
    answers = [
        served.ask("POST", "/decisions", scope, json=body, headers={"Idempotency-Key": "monday"})
        for scope in ("all", "decide")
    ]
    assert [each.status_code for each in answers] == [200, 200]
    answers = [
        served.ask("POST", "/decisions", "decide", json={**body, "id": name}, headers={"Idempotency-Key": key})
        for name, key in (("new", "monday"), ("accepted", "tuesday"))
    ]
    assert (answers[0].status_code, answers[1].status_code) == (409, 200)
    said = "key 'monday' was used before for another request: choose a new one"
    assert answers[0].json()["detail"] == said


@contextmanager
def watched(gate: Gate) -> Iterator[list[str]]:
    """Note the statements that are sent to the database."""
    found: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *more: Any) -> None:
        found.append(statement)

    event.listen(gate.engine, "before_cursor_execute", note)
    yield found
    event.remove(gate.engine, "before_cursor_execute", note)


@pytest.fixture
def gate(database_url: str) -> Iterator[Gate]:
    made = Gate(database_url, "credit", spec=SPEC)
    fill(made)
    yield made
    made.shut()


WRONG = {Outcomes: (*UNLABELLED, *LABELLED), Correct: (*UNLABELLED, "accepted")}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), kind=st.sampled_from([Outcomes, Correct]))
def test_of_a_batch_only_the_first_id_at_fault_is_told(gate: Gate, data: st.DataObject, kind: Any) -> None:
    """Whatever the faults of it and of the others are; the queries are the same."""
    fits = ["good", "bad", "mended"] if kind is Correct else ["good"]
    faults = data.draw(st.lists(st.sampled_from(WRONG[kind]), unique=True, min_size=1))
    ids = data.draw(st.permutations([*faults, *data.draw(st.lists(st.sampled_from(fits), unique=True))]))
    ids = list(dict.fromkeys(ids))
    first = next(name for name in ids if name in faults)
    more = ("wrong",) if kind is Correct else ()
    with watched(gate) as statements, pytest.raises(InputError) as found:
        gate.submit(kind(ids, [1] * len(ids), *more, reads=False)).result()
    does = "corrected" if kind is Correct else "recorded"
    sentence = f"the label of id {first!r} cannot be {does}: a key with the scope read can look up why"
    assert (type(found.value), str(found.value)) == (ConflictError, sentence)
    with watched(gate) as usual, pytest.raises(InputError):
        gate.submit(kind(["unknown"], [1], *more, reads=False)).result()
    assert statements == usual


def test_at_a_gate_of_counts_rounds_and_numbers_are_not_told_apart(database_url: str) -> None:
    spec = make_spec(start={"mode": "hold", "threshold": 0.5}, store="counts")
    with service(database_url, spec) as served:
        gate: Gate = served.app.state.gates["credit"]
        gate.decide(["a"], ["men"], [0.75], key="a")
        answers = []
        for number in (0, 1, 7):
            body = {"round": number, "groups": ["men"] * 2, "scores": [0.75] * 2, "labels": [1, 1]}
            key = {"Idempotency-Key": f"k-{number}"}
            answer = served.ask("POST", "/outcomes", "outcomes", json=body, headers=key)
            answers.append((answer.status_code, answer.text.replace(f"round {number}", "ROUND")))
        assert answers == answers[:1] * 3
