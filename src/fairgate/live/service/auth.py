"""Keys of callers: who asks, what the key may do, and the gate that is asked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import Path, Request
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from fairgate.errors import InputError
from fairgate.live.failures import UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.keys import KeyFacts, Scope, check_key
from fairgate.live.service.gates import Gates

REMEMBERED_SECONDS = 0.5
"""How long a key that was found good is not looked up again; a revoked one works for at most so long."""

REMEMBERED_KEYS = 1000
IDEMPOTENCY = re.compile(r"[!-~]{1,200}")


class Caller(NamedTuple):
    """Who asks which gate; `key` makes a retry harmless."""

    gate: Gate
    actor: str
    key: str | None


class KeyCache:
    """Looks keys up, each at most once in half a second however many requests come with it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._found: dict[tuple[str, str, Scope], tuple[float, asyncio.Future[KeyFacts]]] = {}

    async def check(self, gate: str, token: str, scope: Scope) -> KeyFacts:
        """Return the facts of a key, or refuse it."""
        now = asyncio.get_running_loop().time()
        until, looking = self._found.get((gate, token, scope), (0.0, None))
        if looking is None or until < now:
            if len(self._found) >= REMEMBERED_KEYS:
                self._found.clear()
            look = run_in_threadpool(check_key, self._engine, gate, token, scope)
            looking = asyncio.ensure_future(look)
            self._found[gate, token, scope] = (now + REMEMBERED_SECONDS, looking)
        if looking.done() and looking.exception() is None:
            return looking.result()
        try:
            return await asyncio.shield(looking)
        except Exception:
            self._found.pop((gate, token, scope), None)
            raise

    def forget(self) -> None:
        """Look every key up again from now on."""
        self._found.clear()


async def authorize(
    request: Request, gate: Annotated[str, Path(description="The gate's name.", examples=["credit"])]
) -> Caller:
    """Return who asks; refuse them if their key is not one of this gate, or not for this route."""
    state = request.app.state
    gates: Gates = state.gates
    keys: KeyCache = state.keys
    scopes: Mapping[Callable[..., Any], Scope] = state.scopes
    token = bearer(request)
    asked = gates[gate]
    facts = await keys.check(gate, token, scopes[request.scope["endpoint"]])
    return Caller(asked, f"key:{facts.name}", idempotency_key(request))


def bearer(request: Request) -> str:
    """Return the key that a request comes with."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise UnknownKeyError("the header Authorization must be 'Bearer ' and a key, as 'Bearer fg_…', got none")
    return token.strip()


def idempotency_key(request: Request) -> str | None:
    """Return the key by which a retry is known, if there is one."""
    key = request.headers.get("idempotency-key")
    if key is not None and not IDEMPOTENCY.fullmatch(key):
        raise InputError(f"Idempotency-Key must be 1 to 200 visible ASCII characters, got {key[:80]!r}")
    return key
