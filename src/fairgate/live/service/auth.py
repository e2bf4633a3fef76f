"""Keys of callers: who asks, what the key may do, and the gate that is asked."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from fairgate.errors import InputError
from fairgate.live.failures import UnavailableError, UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.keys import TOKEN, KeyFacts, Scope, check_key
from fairgate.live.service.gates import Gates
from fairgate.live.service.lanes import Lanes

REMEMBERED_SECONDS = 1.0
"""How long a key that was found good is trusted; a revoked one works for at most so long."""

LOOK_AGAIN_SECONDS = 0.4
"""After which a key is looked up again, while requests go on."""

REMEMBERED_KEYS = 1000
IDEMPOTENCY = re.compile(r"[!-~]{1,200}")

Asked = tuple[str, str, Scope]
"""A gate, a key, and the scope that is needed."""


class Who(TypedDict):
    """Who asks; `key` makes a retry harmless, `reads` is whether refusals may name what is stored."""

    actor: str
    key: str | None
    reads: bool


class Caller(NamedTuple):
    """Who asks which gate."""

    gate: Gate
    who: Who


class KeyCache:
    """Looks keys up, each at most a few times a second however many requests come with it.

    Requests that come while a key is looked up again are answered by what is known, unless that is too old.
    """

    def __init__(self, engine: Engine, lanes: Lanes) -> None:
        self._engine = engine
        self._lanes = lanes
        self._known: dict[Asked, tuple[float, KeyFacts]] = {}
        self._looking: dict[Asked, asyncio.Task[KeyFacts]] = {}

    async def check(self, gate: str, token: str, scope: Scope) -> KeyFacts:
        """Return the facts of a key, or refuse it; what cannot be a key is refused without a look."""
        if not TOKEN.fullmatch(token):
            raise UnknownKeyError("the key is not one of this gate")
        asked = (gate, token, scope)
        at, facts = self._known.get(asked, (0.0, None))
        age = time.monotonic() - at
        if facts is not None and age < LOOK_AGAIN_SECONDS:
            return facts
        look = self._looking.get(asked)
        if look is None:
            look = self._looking[asked] = asyncio.create_task(self._look(asked, known=facts is not None))
            look.add_done_callback(lambda done: done.cancelled() or done.exception())  # perhaps nobody waits for it
        if facts is not None and age < REMEMBERED_SECONDS:
            return facts
        return await asyncio.shield(look)

    async def _look(self, asked: Asked, known: bool) -> KeyFacts:
        at = time.monotonic()
        run = run_in_threadpool if known else self._lanes.keys.run  # so that guesses do not hold up good keys
        try:
            facts = await run(check_key, self._engine, *asked)
        except UnavailableError:  # which says where the database is, and it is not known yet who asks
            self._known.pop(asked, None)
            raise UnavailableError("the database does not answer: send the request again later") from None
        except Exception:
            self._known.pop(asked, None)
            raise
        finally:
            del self._looking[asked]
        if len(self._known) >= REMEMBERED_KEYS:
            self._known.clear()
        self._known[asked] = (at, facts)
        return facts

    def forget(self) -> None:
        """Look every key up again from now on."""
        self._known.clear()


async def authorize(request: Request) -> None:
    """Note who asks; refuse them if their key is not one of this gate, or not for this route."""
    scope, state = request.scope, request.app.state
    gates: Gates = state.gates
    keys: KeyCache = state.keys
    needed: Mapping[Callable[..., Any], Scope] = state.scopes
    gate = scope["path_params"]["gate"]
    facts = await keys.check(gate, bearer(request), needed[scope["endpoint"]])  # first: who has no key learns nothing
    who = Who(actor=f"key:{facts.name}", key=idempotency_key(request), reads="read" in facts.scopes)
    scope["caller"] = Caller(gates[gate], who)


def caller_of(request: Request) -> Caller:
    """Return who asks."""
    found: Caller = request.scope["caller"]
    return found


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
