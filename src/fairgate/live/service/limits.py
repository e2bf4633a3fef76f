"""Limits: how large a body may be, and how long a client may take to send it."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairgate.live.service.problems import problem


class BodyLimit:
    """Refuses bodies of more than `most` bytes, said or sent, and clients that take more than `seconds` to send one."""

    def __init__(self, app: ASGIApp, most: int, seconds: float) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, within the limits."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._most:
                return await problem(413, self._too_large)(scope, receive, send)
        return await self._app(scope, self._counted(receive), send)

    @property
    def _too_large(self) -> str:
        return f"the body must have at most {self._most} bytes, got more: send it in parts"

    def _counted(self, receive: Receive) -> Receive:
        """Return `receive` with the limits; they end with the body."""
        left, end, more = self._most, 0.0, True

        async def counted() -> Message:
            nonlocal left, end, more
            if not more:
                return await receive()
            end = end or asyncio.get_running_loop().time() + self._seconds
            try:
                async with asyncio.timeout_at(end):
                    message = await receive()
            except TimeoutError:
                more = False
                raise HTTPException(
                    408, f"the body must arrive within {self._seconds:g} seconds, and did not"
                ) from None
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)
            if left < 0:
                more = False
                raise HTTPException(413, self._too_large)
            return message

        return counted
