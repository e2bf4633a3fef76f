"""Limits: how large a body may be, and how long a client may take to send it."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fairgate.live.service.problems import problem

FORM_BYTES = 32_768
"""Bytes of a body that is not JSON: a form of the page with a reason and a threshold for each of many groups.

Forms are parsed by the event loop, and anonymous clients may send the log-in.
"""


class BodyLimit:
    """Refuses bodies of more than `most` bytes, said or sent, and clients that take more than `seconds` to send one.

    Bodies that are not JSON have at most `FORM_BYTES`.
    """

    def __init__(self, app: ASGIApp, most: int, seconds: float) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, within the limits."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        most, length = FORM_BYTES, 0
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit():
                length = int(value)
            elif name == b"content-type" and value[:16].lower() == b"application/json":
                most = self._most
        if length > most:
            return await problem(413, too_large(most))(scope, receive, send)
        return await self._app(scope, self._counted(receive, most), send)

    def _counted(self, receive: Receive, most: int) -> Receive:
        """Return `receive` with the limits; they end with the body."""
        left, end, more = most, 0.0, True

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
                raise HTTPException(413, too_large(most))
            return message

        return counted


def too_large(most: int) -> str:
    """Say how large a body may be."""
    return f"the body must have at most {most} bytes, got more: send it in parts"
