"""Keys: list them, make one, revoke one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request
from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints, TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairgate.live.keys import KeyFacts, Retry, Scope, create_key, list_keys, revoke_key
from fairgate.live.replies import Reply
from fairgate.live.service.auth import KeyCache, bearer, caller_of
from fairgate.live.service.models import Body, read
from fairgate.live.service.routes.route import Route, given, given_list

KEYS = TypeAdapter(list[KeyFacts])


class NewKey(Body):
    """A key to make: who or what uses it, what it may do, and when it ends (never, if that is not given)."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "branch-7", "scopes": ["decide"], "expires": None}]}
    )

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,59}$")]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=10)]
    expires: AwareDatetime | None = None


class MadeKey(Reply):
    """A new key. The key itself is shown only now."""

    key: str


async def listed(request: Request) -> Response:
    """All keys of the gate, also those that are no longer good; never the keys themselves."""
    gate = caller_of(request).gate
    return given_list(KEYS, await run_in_threadpool(list_keys, gate.engine, gate.name))


async def made(request: Request) -> Response:
    """Make a key. It is shown once, and to a retry with the same `Idempotency-Key`; its name cannot be used again."""
    body = await read(request, NewKey)
    gate, who = caller_of(request)
    retry = None if who["key"] is None else Retry(who["key"], bearer(request))

    def make() -> str:
        return create_key(gate, body.name, body.scopes, body.expires, actor=who["actor"], retry=retry)

    return given(MadeKey(key=await run_in_threadpool(make)))


async def revoked(
    request: Request, key: Annotated[str, Path(pattern="^[0-9a-f]{12}$", description="The key's id.")]
) -> Response:
    """Revoke a key: it is refused from now on, by other servers of the same gate within a second."""
    gate, who = caller_of(request)

    def revoke() -> KeyFacts:
        return revoke_key(gate, key, actor=who["actor"])

    found = await run_in_threadpool(revoke)
    keys: KeyCache = request.app.state.keys
    keys.forget()
    return given(found)


ROUTES = (
    Route("GET", "/keys", "admin", listed, list[KeyFacts], (), "keys"),
    Route("POST", "/keys", "admin", made, MadeKey, (NewKey,), "keys"),
    Route("DELETE", "/keys/{key}", "admin", revoked, KeyFacts, (), "keys"),
)
