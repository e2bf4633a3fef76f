"""Keys: hashed, scoped, per gate, expiring, revocable; making and revoking them is in the log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from fairgate.errors import InputError
from fairgate.live import Gate, Spec
from fairgate.live.backup import check_copy
from fairgate.live.database import reading
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnknownKeyError
from fairgate.live.keys import SCOPES, Scope, check_key, create_key, find_key, list_keys, revoke_key
from fairgate.live.schema import api_keys, events


def spec(name: str = "credit") -> Spec:
    return Spec.read({"name": name, "groups": ["a", "b"], "grid": [0.25, 0.5, 0.75], "start": {"threshold": 0.5}})


@pytest.fixture
def gate(database_url: str) -> Iterator[Gate]:
    made = Gate(database_url, "credit", spec=spec())
    yield made
    made.shut()


def test_a_key_is_good_for_its_scopes_and_no_others(gate: Gate) -> None:
    for own in SCOPES:
        token = create_key(gate, f"key of {own}", [own])
        for scope in SCOPES:
            if scope == own:
                facts = check_key(gate.engine, "credit", token, scope)
                assert (facts.name, facts.scopes) == (f"key of {own}", (own,))
            else:
                with pytest.raises(
                    ForbiddenError, match=f"the key 'key of {own}' is for {own}, and this needs {scope}"
                ):
                    check_key(gate.engine, "credit", token, scope)


def test_only_the_hash_is_stored(gate: Gate) -> None:
    token = create_key(gate, "app", ["read", "decide"])
    secret = token.split("_", 2)[2]
    with reading(gate.engine) as connection:
        rows = [*connection.execute(select(api_keys)), *connection.execute(select(events))]
    assert len(secret) >= 43
    assert secret not in repr(rows)
    assert find_key(gate.engine, "credit", token).scopes == ("decide", "read")


def test_a_key_that_is_not_quite_right_is_refused(gate: Gate) -> None:
    token = create_key(gate, "app", ["read"])
    _, number, secret = token.split("_", 2)
    wrong = "A" if secret[-1] != "A" else "B"
    for bad in (
        "",
        "fg",
        token[:-1] + wrong,
        token + "x",
        f"fg_{'0' * 12}_{secret}",
        f"fg_{number}_",
        token.upper(),
        f" {token}",
        f"{token}\n",
        "fg_é_\0",
    ):
        with pytest.raises(UnknownKeyError, match="the key is not one of this gate"):
            find_key(gate.engine, "credit", bad)


def test_a_key_of_another_gate_is_refused(gate: Gate, database_url: str) -> None:
    other = Gate(database_url, "leasing", spec=spec("leasing"))
    token = create_key(other, "app", ["read"])
    check_key(gate.engine, "leasing", token, "read")
    for name in ("credit", "none", "leasing\0"):
        with pytest.raises(UnknownKeyError):
            check_key(gate.engine, name, token, "read")
    assert list_keys(gate.engine, "credit") == []
    with pytest.raises(MissingError, match="is not the id of a key of the gate 'credit'"):
        revoke_key(gate, list_keys(gate.engine, "leasing")[0].id)
    other.shut()


def test_a_key_expires(gate: Gate) -> None:
    ends = datetime.now(UTC) + timedelta(days=1)
    token = create_key(gate, "app", ["read"], ends)
    check_key(gate.engine, "credit", token, "read", now=ends - timedelta(seconds=1))
    with pytest.raises(UnknownKeyError, match="the key 'app' expired at "):
        check_key(gate.engine, "credit", token, "read", now=ends)
    for past in (datetime.now(UTC) - timedelta(seconds=1), datetime.now()):
        with pytest.raises(InputError, match="expires must be a time to come, with its zone, got "):
            create_key(gate, "other", ["read"], past)


def test_a_revoked_key_is_refused_and_its_name_is_free_again(gate: Gate) -> None:
    token = create_key(gate, "app", ["read"])
    with pytest.raises(ConflictError, match="name 'app' is that of another key of this gate"):
        create_key(gate, "app", ["decide"])
    number = find_key(gate.engine, "credit", token).id
    first = revoke_key(gate, number)
    assert revoke_key(gate, number) == first
    with pytest.raises(UnknownKeyError, match="the key 'app' was revoked at "):
        find_key(gate.engine, "credit", token)
    check_key(gate.engine, "credit", create_key(gate, "app", ["read"]), "read")


def test_making_and_revoking_is_in_the_log(gate: Gate) -> None:
    create_key(gate, "app", ["read", "decide"], actor="key:boss")
    made = list_keys(gate.engine, "credit")[0]
    revoke_key(gate, made.id, actor="key:boss")
    added, revoked = gate.log()[-2:]
    assert (added.kind, added.actor, revoked.kind, revoked.body) == (
        "key-added",
        "key:boss",
        "key-revoked",
        {"id": made.id, "revoked": list_keys(gate.engine, "credit")[0].revoked},
    )
    assert set(added.body) == {"id", "name", "scopes", "created", "expires", "hash", "closes"}
    assert (added.body["id"], added.body["name"], added.body["scopes"]) == (made.id, "app", ["decide", "read"])
    assert [copied.events for copied in check_copy(gate.engine)] == [3]


@pytest.mark.parametrize(
    ("name", "scopes", "said"),
    [
        ("", ["read"], "name must be 1 to 60 letters"),
        ("a\nb", ["read"], "name must be 1 to 60 letters"),
        ("x" * 61, ["read"], "name must be 1 to 60 letters"),
        ("app", [], "scopes must be some of decide, rounds, outcomes, read, admin, audit, got none"),
        ("app", ["reed"], "unknown scope 'reed': did you mean 'read'?"),
    ],
)
def test_what_no_key_can_have_is_one_sentence(gate: Gate, name: str, scopes: list[Scope], said: str) -> None:
    with pytest.raises(InputError, match=said):
        create_key(gate, name, scopes)
    assert list_keys(gate.engine, "credit") == []
