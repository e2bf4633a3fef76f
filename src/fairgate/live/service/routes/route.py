"""Route: one line of the table of all routes, with the scope that its callers need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from inspect import signature
from typing import Any, NamedTuple

from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from fairgate.live.keys import Scope
from fairgate.live.service.auth import authorize
from fairgate.live.service.models import Body

PREFIX = "/v1/gates/{gate}"


class Route(NamedTuple):
    """A route under `/v1/gates/{gate}`: what it takes, what it gives, and which other refusals it has."""

    method: str
    path: str
    scope: Scope
    endpoint: Callable[..., Any]
    gives: Any
    takes: tuple[type[Body], ...] = ()
    tag: str = "reading"
    refusals: tuple[int, ...] = ()
    status: int = 200
    keyed: bool = False  # whether it must have an Idempotency-Key


class GateRoute(APIRoute):
    """A route whose caller's key is checked before anything else of the request is looked at.

    An endpoint that takes nothing but the request is called straight: what the framework does to find arguments is a
    third of the time that a decision takes here.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        straight = list(signature(self.endpoint).parameters) == ["request"]
        answer: Callable[[Request], Coroutine[Any, Any, Response]] = (
            self.endpoint if straight else super().get_route_handler()
        )

        async def authorized(request: Request) -> Response:
            await authorize(request)
            return await answer(request)

        return authorized


def given(reply: BaseModel) -> Response:
    """Return a reply as a response."""
    return Response(reply.__pydantic_serializer__.to_json(reply), media_type="application/json")


def given_list(adapter: TypeAdapter[Any], replies: Any) -> Response:
    """Return a list of replies as a response."""
    return Response(adapter.dump_json(replies), media_type="application/json")


async def done(future: Future[Any]) -> Response:
    """Wait until a request is on disk, and return its reply."""
    return given(await asyncio.wrap_future(future))
