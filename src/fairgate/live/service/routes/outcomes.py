"""Outcomes: labels as they arrive, and labels that were wrong."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from fairgate.live.replies import Recorded
from fairgate.live.requests import Correct
from fairgate.live.requests import Outcomes as Record
from fairgate.live.service.models import Corrections, OutcomeCounts, Outcomes, read
from fairgate.live.service.routes.route import Called, Route, done


async def outcomes(request: Request, caller: Called) -> Response:
    """Record labels of accepted applications. The same label again is harmless; another one is a conflict."""
    body = await read(request, Outcomes)
    return await done(caller.gate.submit(Record(body.ids, body.labels, key=caller.key, actor=caller.actor)))


async def correct(request: Request, caller: Called) -> Response:
    """Correct labels that were wrong, with a reason."""
    body = await read(request, Corrections)
    asked = Correct(body.ids, body.labels, body.reason, key=caller.key, actor=caller.actor)
    return await done(caller.gate.submit(asked))


ROUTES = (
    Route("POST", "/outcomes", "outcomes", outcomes, Recorded, (Outcomes, OutcomeCounts), "outcomes"),
    Route("POST", "/corrections", "outcomes", correct, Recorded, (Corrections,), "outcomes"),
)
