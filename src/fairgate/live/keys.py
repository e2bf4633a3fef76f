"""Keys: who may ask what of a gate. A key is shown once, when it is made; only its hash is stored."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from sqlalchemy import Connection, Engine, Row, select, update

from fairgate.errors import InputError, unknown_name
from fairgate.live.database import insert, reading
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnknownKeyError
from fairgate.live.replies import Reply
from fairgate.live.requests import Note
from fairgate.live.schema import api_keys, gates

if TYPE_CHECKING:
    from fairgate.live.gate import Gate

Scope = Literal["decide", "rounds", "outcomes", "read", "admin", "audit"]
"""What a key may do; none implies another."""

SCOPES: tuple[Scope, ...] = get_args(Scope)

TOKEN = re.compile(r"fg_([0-9a-f]{12})_([A-Za-z0-9_-]{20,100})")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,59}")


class KeyFacts(Reply):
    """What is known of a key, but not the key."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created: str
    expires: str | None
    revoked: str | None

    def ended(self, now: datetime) -> str:
        """Say since when the key is no longer good; nothing if it is."""
        if self.revoked is not None:
            return f"was revoked at {self.revoked}"
        if self.expires is not None and datetime.fromisoformat(self.expires) <= now:
            return f"expired at {self.expires}"
        return ""


class Retry(NamedTuple):
    """How a request for a new key is known when it is sent again: its Idempotency-Key, and the API key of the caller.

    The new secret is then derived from the caller's API key, which is not stored, and a random number, which is stored
    for as long as replies are. A retry thus gets the first reply: no key is left that no caller has, and a request that
    a proxy sends twice ends no key, as issuing another secret would. The database alone does not give the secret.
    """

    key: str
    token: str

    def secret(self, nonce: str) -> str:
        """Return the secret of the new key."""
        made = hmac.digest(self.token.encode(), f"fairgate key {nonce}".encode(), "sha256")
        return base64.urlsafe_b64encode(made).decode().rstrip("=")


def create_key(
    gate: Gate,
    name: str,
    scopes: Sequence[str],
    expires: datetime | None = None,
    *,
    actor: str | None = None,
    retry: Retry | None = None,
) -> str:
    """Make a key of a gate and return it, ``fg_<id>_<secret>``; it cannot be shown again, but to the same `retry`.

    Parameters
    ----------
    gate
        The gate that the key is for.
    name
        Who or what uses it. The log names it as the actor, so no two good keys of a gate have the same.
    scopes
        Of decide, rounds, outcomes, read, admin and audit.
    expires
        When it ends, with its time zone; never if not given.
    actor
        Who makes it.
    retry
        How the same request is known again.
    """
    now = gate.clock().astimezone(UTC)
    facts = KeyFacts(
        id=secrets.token_hex(6),
        name=checked_name(name),
        scopes=checked_scopes(scopes),
        created=written(now),
        expires=None if expires is None else checked_end(expires, now),
        revoked=None,
    )
    nonce = secrets.token_hex(32)
    secret = secrets.token_urlsafe(32) if retry is None else retry.secret(nonce)

    def add(connection: Connection, number: int) -> None:
        same = select(api_keys).where(api_keys.c.gate == number, api_keys.c.name == name)
        if any(not facts_of(row).ended(now) for row in connection.execute(same)):
            raise ConflictError(f"name {name!r} is that of another key of this gate: choose another, or revoke it")
        row = {**facts.model_dump(), "scopes": ",".join(facts.scopes), "gate": number, "hash": hash_of(secret)}
        insert(connection, api_keys, {column: [value] for column, value in row.items()})

    own = facts.model_dump(mode="json", exclude={"revoked"})
    data = added(own, hash_of(secret))
    asked = {each: own[each] for each in ("name", "scopes", "expires")}
    key = None if retry is None else retry.key
    reply = {"id": facts.id, "nonce": nonce}
    told = gate.submit(Note("key-added", data, add, asked, reply, key=key, actor=actor or gate.actor)).result()
    if retry is not None and told != reply:
        secret = retry.secret(told["nonce"])
        with reading(gate.engine) as connection:
            stored = connection.execute(select(api_keys.c.hash).where(api_keys.c.id == told["id"])).scalar_one()
        if not hmac.compare_digest(stored, hash_of(secret)):
            raise ConflictError(
                f"key {retry.key!r} was used before with another API key, which alone gets the first reply: revoke the "
                f"key {told['id']} and make a new one"
            )
    return f"fg_{told['id']}_{secret}"


def added(facts: dict[str, Any], secret_hash: str) -> dict[str, Any]:
    """Return the body of the event that adds a key; the audit compares it with the row.

    `closes` marks keys that were made since `rounds` is a scope: older ones with `decide` may close rounds.
    """
    return {**facts, "hash": secret_hash, "closes": "rounds" in facts["scopes"]}


def check_key(engine: Engine, gate: str, token: str, scope: Scope, *, now: datetime | None = None) -> KeyFacts:
    """Return the facts of a key; refuse one that is not of this gate, not good any more, or not for this scope."""
    facts = find_key(engine, gate, token, now=now)
    if scope not in facts.scopes:
        scopes = ", ".join(facts.scopes)
        raise ForbiddenError(f"the key {facts.name!r} is for {scopes}, and this needs {scope}", facts.name)
    return facts


def find_key(engine: Engine, gate: str, token: str, *, now: datetime | None = None) -> KeyFacts:
    """Return the facts of a key, whatever it is for; refuse one that is not of this gate or not good any more."""
    parts = TOKEN.fullmatch(token)
    number, secret = parts.groups() if parts else ("", "")
    same = select(api_keys, gates.c.name.label("gate_name")).join(gates).where(api_keys.c.id == number)
    with reading(engine) as connection:
        row = connection.execute(same).first()
    matches = hmac.compare_digest(hash_of(secret), "" if row is None else row.hash)
    if row is None or not matches or row.gate_name != gate:
        raise UnknownKeyError("the key is not one of this gate")
    facts = facts_of(row)
    ended = facts.ended(now or datetime.now(UTC))
    if ended:
        raise UnknownKeyError(f"the key {facts.name!r} {ended}")
    return facts


def list_keys(engine: Engine, gate: str) -> list[KeyFacts]:
    """Return all keys of a gate, the oldest first, also those that are no longer good."""
    of_gate = select(api_keys).join(gates).where(gates.c.name == gate)
    with reading(engine) as connection:
        return [facts_of(row) for row in connection.execute(of_gate.order_by(api_keys.c.created, api_keys.c.id))]


def revoke_key(gate: Gate, key: str, *, actor: str | None = None) -> KeyFacts:
    """End a key, named by its id; one that was revoked before stays as it is. It is refused from now on."""
    known = {each.id: each for each in list_keys(gate.engine, gate.name)}
    if key not in known:
        raise MissingError(f"key {key!r} is not the id of a key of the gate {gate.name!r}")
    facts = known[key]
    if facts.revoked is not None:
        return facts
    at = written(gate.clock().astimezone(UTC))

    def end(connection: Connection, number: int) -> None:
        connection.execute(update(api_keys).where(api_keys.c.gate == number, api_keys.c.id == key).values(revoked=at))

    gate.submit(Note("key-revoked", {"id": key, "revoked": at}, end, actor=actor or gate.actor)).result()
    return facts.model_copy(update={"revoked": at})


def facts_of(row: Row[Any]) -> KeyFacts:
    """Return the facts that a row of the table holds."""
    return KeyFacts.model_validate({**row._mapping, "scopes": row.scopes.split(",")})


def hash_of(secret: str) -> str:
    """Return the hash that is stored; the secret is random and long, so a plain one will do."""
    return hashlib.sha256(secret.encode()).hexdigest()


def checked_name(name: str) -> str:
    """Return a name that a key can have."""
    if not NAME.fullmatch(name):
        raise InputError(f"name must be 1 to 60 letters, digits, spaces or any of . _ @ -, got {name[:80]!r}")
    return name


def checked_scopes(scopes: Sequence[str]) -> tuple[Scope, ...]:
    """Return scopes in their usual order, each once."""
    for scope in scopes:
        if scope not in SCOPES:
            raise unknown_name("scope", scope, SCOPES)
    if not scopes:
        raise InputError(f"scopes must be some of {', '.join(SCOPES)}, got none")
    return tuple(scope for scope in SCOPES if scope in scopes)


def checked_end(expires: datetime, now: datetime) -> str:
    """Write when a key expires, a moment that is still to come."""
    if expires.tzinfo is None or expires <= now:
        raise InputError(f"expires must be a time to come, with its zone, got {expires.isoformat()}")
    try:
        return written(expires.astimezone(UTC))
    except OverflowError:
        raise InputError(f"expires must be in the year 9999 or before in UTC, got {expires.isoformat()}") from None


def written(moment: datetime) -> str:
    """Write a moment as the log does."""
    return moment.isoformat(timespec="microseconds")
