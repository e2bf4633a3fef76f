"""Problems: every refusal is `application/problem+json` with one sentence, whatever went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match, Route

from fairgate.errors import InputError
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnavailableError, UnknownKeyError
from fairgate.live.service.lanes import BusyError
from fairgate.live.service.reasons import note_refusal
from fairgate.live.spec import shorten, told_fault

PROBLEM = "application/problem+json"

STATUSES: Mapping[type[Exception], int] = {
    UnknownKeyError: 401,
    ForbiddenError: 403,
    MissingError: 404,
    ConflictError: 409,
    InputError: 422,
    BusyError: 429,
    UnavailableError: 503,
}
"""The status of each failure of a gate."""

HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"WWW-Authenticate": "Bearer"},
    408: {"Connection": "close"},
    413: {"Connection": "close"},
    429: {"Retry-After": "1"},
    500: {"Connection": "close"},  # the server cuts it after an error of its own
    503: {"Retry-After": "1"},
}
"""Headers that go with a status."""


LONGEST = 600
"""Characters of a sentence."""


class Problem(BaseModel):
    """A refusal, as RFC 9457 has it; `detail` is one sentence."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a refusal; a sentence that repeats too much of what was sent is cut."""
    content = Problem(title=HTTPStatus(status).phrase, status=status, detail=shorten(detail, LONGEST)).model_dump_json()
    return Response(content, status, {**HEADERS.get(status, {}), **(headers or {})}, PROBLEM)


def answer_problems(app: FastAPI) -> None:
    """Have the app answer every error as a problem."""
    for kind in STATUSES:
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(RequestValidationError, unfit)
    app.add_exception_handler(HTTPException, plain)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(Exception, unexpected)


async def refused(request: Request, error: Exception) -> Response:
    """Answer a failure of a gate; its sentence may have values, so the log gets the error instead."""
    note_refusal(request.scope, error)
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    return problem(status, str(error))


async def unfit(request: Request, error: Exception) -> Response:
    """Answer a parameter of the path or the query that does not fit."""
    faults: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
    return problem(422, told_fault({**faults[0], "loc": faults[0]["loc"][1:]}, "the request"))


async def plain(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses: an unknown path, a method that the path does not have."""
    if not isinstance(error, HTTPException):
        raise error
    note_refusal(request.scope, error)
    headers, detail = dict(error.headers or {}), error.detail
    if error.status_code == 404:
        detail = f"there is nothing at {shorten(repr(request.url.path))}: the paths are listed in /openapi.json"
    if error.status_code == 405:
        headers["Allow"] = ", ".join(allowed(request))
        detail = f"{shorten(repr(request.url.path))} can be asked with {headers['Allow']} only"
    return problem(error.status_code, detail, headers)


def allowed(request: Request) -> list[str]:
    """Return the methods of all routes that a path has."""
    routes = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
    methods = {method for each in routes if isinstance(each, Route) for method in each.methods or ()}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


async def gone(request: Request, error: Exception) -> Response:
    """Answer nobody: the client has gone before its request was whole, which is no error of ours."""
    return problem(400, "the body ended before it was whole")


async def unexpected(request: Request, error: Exception) -> Response:
    """Answer a mistake of our own; the log of the server has the particulars."""
    return problem(500, "the server met an error of its own, which its log describes; nothing is known to be recorded")
