"""Running: rounds, modes, approvals, and decisions that a person overrides."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request
from starlette.responses import Response

from fairgate.errors import InputError
from fairgate.live.replies import Closed, Decision, Rotated, Status
from fairgate.live.requests import Approve, Close, Rotate, SetMode
from fairgate.live.requests import Override as Overrule
from fairgate.live.service.auth import caller_of
from fairgate.live.service.models import LARGEST_ROUND, Approval, ModeChange, NewSecret, Override, read
from fairgate.live.service.routes.route import Route, done


async def close(
    request: Request, number: Annotated[int, Path(ge=0, le=LARGEST_ROUND, description="The round's number.")]
) -> Response:
    """Close a round. It names its round, so that a retry is harmless."""
    gate, who = caller_of(request)
    return await done(gate.submit(Close(number, **who)))


async def close_open(request: Request) -> Response:
    """Close the round that is open, whatever its number; it needs an `Idempotency-Key`, so that a retry is harmless."""
    gate, who = caller_of(request)
    if who["key"] is None:
        raise InputError("Idempotency-Key must be given to close a round without its number, got none")
    return await done(gate.submit(Close(None, **who)))


async def set_mode(request: Request) -> Response:
    """Change who decides: learn, hold, shadow or approve, with a reason. The open round is closed first."""
    body = await read(request, ModeChange)
    gate, who = caller_of(request)
    return await done(gate.submit(SetMode(body.mode, body.reason, body.threshold, body.successor or "", **who)))


async def rotate(request: Request) -> Response:
    """Give the gate a new secret, of which lottery numbers are made from the next round on; the open one is closed."""
    body = await read(request, NewSecret)
    gate, who = caller_of(request)
    return await done(gate.submit(Rotate(body.reason, **who)))


async def approve(request: Request) -> Response:
    """Approve the proposal that waits, in the mode approve."""
    body = await read(request, Approval)
    gate, who = caller_of(request)
    return await done(gate.submit(Approve(body.waiting, body.reason, **who)))


async def override(request: Request) -> Response:
    """Put a person's decision in place of the gate's, with a reason. It counts in figures, not for the learner."""
    body = await read(request, Override)
    gate, who = caller_of(request)
    return await done(gate.submit(Overrule(body.id, body.accepted, body.reason, **who)))


ROUTES = (
    Route("POST", "/rounds/{number}/close", "rounds", close, Closed, (), "running", (409,)),
    Route("POST", "/rounds/close", "rounds", close_open, Closed, (), "running", (409,), keyed=True),
    Route("POST", "/mode", "admin", set_mode, Status, (ModeChange,), "running"),
    Route("POST", "/secret", "admin", rotate, Rotated, (NewSecret,), "running"),
    Route("POST", "/approvals", "admin", approve, Status, (Approval,), "running"),
    Route("POST", "/overrides", "admin", override, Decision, (Override,), "running"),
)
