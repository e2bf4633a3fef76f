"""Deciding: one application, many, or decisions that were made elsewhere."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from fairgate.live.replies import Decision, Decisions, Recorded
from fairgate.live.requests import Decide, Report
from fairgate.live.service.models import Application, Applications, Reported, read
from fairgate.live.service.routes.route import Called, Route, done


async def decide(request: Request, caller: Called) -> Response:
    """Decide on one application. The same id again gets the first decision; with another score it is a conflict."""
    body = await read(request, Application)
    asked = Decide([body.id], [body.group], [body.score], single=True, key=caller.key, actor=caller.actor)
    return await done(caller.gate.submit(asked))


async def decide_batch(request: Request, caller: Called) -> Response:
    """Decide on up to 10,000 applications at once, all or none; they are given by columns, and so is the reply."""
    body = await read(request, Applications)
    asked = Decide(body.ids, body.groups, body.scores, single=False, key=caller.key, actor=caller.actor)
    return await done(caller.gate.submit(asked))


async def report(request: Request, caller: Called) -> Response:
    """Record decisions that the operator's own rule made, in the mode shadow."""
    body = await read(request, Reported)
    asked = Report(body.ids, body.groups, body.scores, body.accepted, key=caller.key, actor=caller.actor)
    return await done(caller.gate.submit(asked))


ROUTES = (
    Route("POST", "/decisions", "decide", decide, Decision, (Application,), "deciding"),
    Route("POST", "/decisions/batch", "decide", decide_batch, Decisions, (Applications,), "deciding"),
    Route("POST", "/reports", "decide", report, Recorded, (Reported,), "deciding"),
)
