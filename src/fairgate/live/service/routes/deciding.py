"""Deciding: one application, many, or decisions that were made elsewhere."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from fairgate.live.replies import Decision, Decisions, Recorded
from fairgate.live.requests import Decide, Report
from fairgate.live.service.auth import caller_of
from fairgate.live.service.models import Application, Applications, Reported, read
from fairgate.live.service.routes.route import Route, done


async def decide(request: Request) -> Response:
    """Decide on one application. The same id again gets the first decision; with another score it is a conflict."""
    body = await read(request, Application)
    gate, who = caller_of(request)
    one = Decide([body.id], [body.group], [body.score], single=True, subjects=[body.subject], **who)
    return await done(gate.submit(one))


async def decide_batch(request: Request) -> Response:
    """Decide on up to 10,000 applications at once, all or none; they are given by columns, and so is the reply."""
    body = await read(request, Applications)
    gate, who = caller_of(request)
    return await done(gate.submit(Decide(body.ids, body.groups, body.scores, False, body.subjects, **who)))


async def report(request: Request) -> Response:
    """Record decisions that the operator's own rule made, in the mode shadow."""
    body = await read(request, Reported)
    gate, who = caller_of(request)
    return await done(gate.submit(Report(body.ids, body.groups, body.scores, body.accepted, body.subjects, **who)))


ROUTES = (
    Route("POST", "/decisions", "decide", decide, Decision, (Application,), "deciding"),
    Route("POST", "/decisions/batch", "decide", decide_batch, Decisions, (Applications,), "deciding"),
    Route("POST", "/reports", "decide", report, Recorded, (Reported,), "deciding"),
)
