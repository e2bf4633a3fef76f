"""Outcomes: labels as they arrive, and labels that were wrong."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from fairgate.live.replies import Recorded
from fairgate.live.requests import Correct
from fairgate.live.requests import Outcomes as Record
from fairgate.live.service.auth import caller_of
from fairgate.live.service.models import Corrections, OutcomeCounts, Outcomes, read
from fairgate.live.service.routes.route import Route, done


async def outcomes(request: Request) -> Response:
    """Record labels of accepted applications. The same label again is harmless; another one is a conflict.

    A gate that keeps counts only takes labels by round, group and score, with an `Idempotency-Key`.
    """
    gate, who = caller_of(request)
    if gate.spec.store == "cases":
        body = await read(request, Outcomes)
        return await done(gate.submit(Record(body.ids, body.labels, **who)))
    counts = await read(request, OutcomeCounts)
    people = ((), counts.labels, counts.round, counts.groups, counts.scores)
    return await done(gate.submit(Record(*people, **who)))


async def correct(request: Request) -> Response:
    """Correct labels that were wrong, with a reason."""
    body = await read(request, Corrections)
    gate, who = caller_of(request)
    return await done(gate.submit(Correct(body.ids, body.labels, body.reason, **who)))


ROUTES = (
    Route("POST", "/outcomes", "outcomes", outcomes, Recorded, (Outcomes, OutcomeCounts), "outcomes"),
    Route("POST", "/corrections", "outcomes", correct, Recorded, (Corrections,), "outcomes"),
)
