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

ANONYMOUS = 16
"""Bodies of callers without a key that may be waited for at a time: a form of the page is there in a moment."""

ANONYMOUS_SECONDS = 5.0
"""How long such a caller may take to send one."""


class BodyLimit:
    """Refuses bodies of more than `most` bytes, said or sent, and clients that take more than `seconds` to send one.

    Bodies that are not JSON have at most `FORM_BYTES`. Callers whose key was not found good before their body is read
    have `ANONYMOUS_SECONDS`, and `ANONYMOUS` of them are waited for: one more, and the one that has waited longest is
    refused. So they cannot take the room of those with a key, and a form that is sent at once comes through.
    """

    def __init__(self, app: ASGIApp, most: int, seconds: float) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds
        self._waiting: set[asyncio.Timeout] = set()  # for bodies of anonymous callers

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
        return await self._app(scope, self._counted(scope, receive, most), send)

    def _counted(self, scope: Scope, receive: Receive, most: int) -> Receive:
        """Return `receive` with the limits; they end with the body."""
        left, end, more = most, 0.0, True

        async def counted() -> Message:
            nonlocal left, end, more
            if not more:
                return await receive()
            anonymous = "caller" not in scope  # which a good key puts there
            seconds = min(self._seconds, ANONYMOUS_SECONDS) if anonymous else self._seconds
            end = end or asyncio.get_running_loop().time() + seconds
            limit = asyncio.timeout_at(end)
            try:
                async with limit:
                    if anonymous:
                        self._wait(limit)
                    message = await receive()
            except TimeoutError:
                more = False
                if anonymous and limit not in self._waiting:
                    told = f"more than {ANONYMOUS} bodies without a key are waited for: send the request again later"
                    raise HTTPException(503, told, {"Connection": "close"}) from None
                raise HTTPException(408, f"the body must arrive within {seconds:g} seconds, and did not") from None
            finally:
                self._waiting.discard(limit)
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)
            if left < 0:
                more = False
                raise HTTPException(413, too_large(most))
            return message

        return counted

    def _wait(self, limit: asyncio.Timeout) -> None:
        """Note that an anonymous body is waited for; the one that has waited longest makes way if they are too many."""
        if len(self._waiting) >= ANONYMOUS:
            longest = min(self._waiting, key=lambda each: each.when() or 0.0)
            self._waiting.remove(longest)
            longest.reschedule(0.0)
        self._waiting.add(limit)


def too_large(most: int) -> str:
    """Say how large a body may be."""
    return f"the body must have at most {most} bytes, got more: send it in parts"
