"""Probes: whether the process lives, whether it can work, and its metrics."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fairgate.live.config import ServiceSettings
from fairgate.live.database import reading
from fairgate.live.failures import ForbiddenError, UnavailableError, UnknownKeyError
from fairgate.live.preparing import REVISION, revision_of
from fairgate.live.service.auth import KeyCache, bearer
from fairgate.live.service.gates import Gates
from fairgate.live.service.metrics import Metrics
from fairgate.live.service.openapi import refusals

LOOPBACK = ("127.0.0.1", "::1", "localhost")
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter(tags=["probes"])


class Well(BaseModel):
    """All is well; anything else is a refusal."""

    status: Literal["ok"] = "ok"


@router.get("/health", responses=refusals())
async def health() -> Well:
    """Whether the process lives."""
    return Well()


@router.get("/ready", responses=refusals())
async def ready(request: Request) -> Well:
    """Whether requests are served at once: the tables are right, and all gates are open, read and can be written.

    What is wrong with a gate is said to those who ask from loopback; others are told which gate it is.
    """
    gates: Gates = request.app.state.gates
    await run_in_threadpool(check_tables, request.app.state.engine)
    for name in gates:
        trouble = gates[name].trouble or gates.troubles.get(name)
        if trouble and from_loopback(request):
            raise UnavailableError(trouble)
        if trouble:
            raise UnavailableError(f"the gate {name!r} cannot work at the moment: the log of the server says more")
    if gates.unread:
        raise UnavailableError(f"{gates.unread} of {len(gates)} gates are still being read: ask again in a moment")
    return Well()


def check_tables(engine: Engine) -> None:
    """Refuse a database that does not answer or has other tables than these."""
    try:
        with reading(engine) as connection:
            found = revision_of(connection)
    except UnavailableError:
        raise UnavailableError("the database does not answer: the log of the server says more") from None
    if found != REVISION:
        raise UnavailableError(f"the database has the tables of revision {found}, and this server needs {REVISION}")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {METRICS_TYPE: {"schema": {"type": "string"}}}}, **refusals(401, 403, 429)},
    openapi_extra={"security": [{"key": ["read"]}, {}]},
)
async def metrics(request: Request) -> Response:
    """Metrics of all gates, for Prometheus: with a key of scope read of any of them, or without one from loopback.

    Behind a proxy every request seems to come from nearby, and a key is needed always.
    """
    if "authorization" in request.headers or not from_loopback(request):
        await check_any(request)
    found: Metrics = request.app.state.metrics
    return Response(await run_in_threadpool(found.written), media_type=METRICS_TYPE)


def from_loopback(request: Request) -> bool:
    """Whether a request comes from this machine, and asks for it by its own name."""
    settings: ServiceSettings = request.app.state.settings
    near = request.client is not None and request.client.host in LOOPBACK
    return near and request.url.hostname in LOOPBACK and not settings.behind_proxy


async def check_any(request: Request) -> None:
    """Refuse a key that is not one of any gate here, or may not read."""
    gates: Gates = request.app.state.gates
    keys: KeyCache = request.app.state.keys
    token = bearer(request)
    refusal: Exception = UnknownKeyError("the key is not one of the gates here")
    for name in gates:
        try:
            await keys.check(name, token, "read")
        except (UnknownKeyError, ForbiddenError) as error:
            if isinstance(error, ForbiddenError):
                refusal = error
        else:
            return
    raise refusal
