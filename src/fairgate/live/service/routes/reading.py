"""Reading: what is in force, figures, the log, cases, snapshot and audit. None of it changes anything."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from fairgate.live.auditing.report import AuditReport
from fairgate.live.events import KINDS
from fairgate.live.failures import MissingError
from fairgate.live.replies import CaseFacts, Figures, LogEvent, PolicyNow, Status
from fairgate.live.service.auth import caller_of
from fairgate.live.service.lanes import lanes_of
from fairgate.live.service.models import LARGEST_ROUND, LARGEST_SEQ, Id
from fairgate.live.service.routes.route import Route, given, given_list

MOST = 1000
"""Events in one answer."""

MOST_CASES = 200
"""Cases in one answer."""

Limit = Annotated[int, Query(ge=1, le=MOST, description="At most so many.")]

EVENTS = TypeAdapter(list[LogEvent])
CASES = TypeAdapter(list[CaseFacts])


async def status(request: Request) -> Response:
    """What is in force now: mode, policy, the open round, what the learner proposes."""
    return given(await run_in_threadpool(caller_of(request).gate.status))


async def policy(request: Request) -> Response:
    """The policy in force; there is none in the mode shadow."""
    found = (await run_in_threadpool(caller_of(request).gate.status)).policy
    if found is None:
        raise MissingError("there is no policy in force: in the mode shadow the operator's own rule decides")
    return given(found)


async def figures(
    request: Request,
    rounds: Annotated[int, Query(ge=0, le=10_000, description="Rounds in the history.")] = 200,
    whole: Annotated[
        bool, Query(description="Every 2nd, 4th, 8th … round of all, at most `rounds`, in place of the last ones.")
    ] = False,
) -> Response:
    """Everything the page shows: acceptance, gap, reward and constraints with bounds, labels, alarms, history."""
    gate = caller_of(request).gate
    return await lanes_of(request).figures.run(lambda: given(gate.figures(rounds, whole=whole)))


async def log(
    request: Request,
    after: Annotated[int, Query(ge=0, le=LARGEST_SEQ, description="Events after this one.")] = 0,
    limit: Limit = 100,
    newest: Annotated[
        bool, Query(description="The newest first: those before `after`, or of all if that is 0.")
    ] = False,
    kind: Annotated[
        str | None, Query(pattern=f"^({'|'.join(KINDS)})$", description="Only events of this kind.")
    ] = None,
) -> Response:
    """Events of the log, oldest first."""
    gate = caller_of(request).gate

    def read_log() -> Response:
        return given_list(EVENTS, gate.log(after, limit, newest=newest, kind=kind))

    return await run_in_threadpool(read_log)


async def cases(
    request: Request,
    after: Annotated[int, Query(ge=0, le=LARGEST_SEQ, description="Those after the `seq` of the last one.")] = 0,
    place: Annotated[int, Query(ge=-1, le=LARGEST_ROUND, description="And after its `place`.")] = -1,
    limit: Annotated[int, Query(ge=1, le=MOST_CASES, description="At most so many.")] = 100,
) -> Response:
    """Applications in the order they were decided, each with the facts of its decision."""
    return given_list(CASES, await run_in_threadpool(caller_of(request).gate.cases, (after, place), limit))


async def case(request: Request, name: Annotated[Id, Path(description="The application's id.")]) -> Response:
    """Why an application was accepted or rejected: the facts that a notice needs."""
    return given(await run_in_threadpool(caller_of(request).gate.case, name))


async def case_of_id(
    request: Request, name: Annotated[Id, Query(alias="id", description="The application's id.")]
) -> Response:
    """The same by a parameter, for ids that a path cannot carry, such as `..`."""
    return given(await run_in_threadpool(caller_of(request).gate.case, name))


async def snapshot(request: Request) -> Response:
    """The state of the gate as plain data: the learner's and all counters."""
    gate = caller_of(request).gate
    return await lanes_of(request).figures.run(lambda: JSONResponse(gate.snapshot()))


async def audit(request: Request) -> Response:
    """Recompute every policy, draw, count and hash of the log, and tell the first that does not fit."""
    gate = caller_of(request).gate
    return given(await lanes_of(request).audits.run(gate.audit))


ROUTES = (
    Route("GET", "", "read", status, Status),
    Route("GET", "/policy", "read", policy, PolicyNow),
    Route("GET", "/figures", "read", figures, Figures),
    Route("GET", "/log", "read", log, list[LogEvent]),
    Route("GET", "/cases", "audit", cases, list[CaseFacts]),
    Route("GET", "/cases/{name:path}", "read", case, CaseFacts),
    Route("GET", "/case", "read", case_of_id, CaseFacts),
    Route("GET", "/snapshot", "audit", snapshot, dict[str, Any]),
    Route("GET", "/audit", "audit", audit, AuditReport),
)
