"""Answers: every answer of the page has the same headers, and every refusal is a page with one sentence."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fairgate.errors import InputError
from fairgate.live.failures import ConflictError, ForbiddenError, MissingError, UnavailableError, UnknownKeyError
from fairgate.live.page.views import render
from fairgate.live.service.reasons import note_refusal

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers say of no form where it comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every answer: nothing is loaded from elsewhere, nothing runs that is not ours, nobody frames the page."""

UNAVAILABLE = "the database does not answer, and nothing was recorded: try again in a moment"
"""All that anybody who is not logged in is told; the log of the server has the particulars."""

STATUSES = {UnknownKeyError: 401, ForbiddenError: 403, MissingError: 404, ConflictError: 409}
"""The status of each failure; other bad input is 422."""


class TooManyError(InputError):
    """An address has tried too often to log in."""


class NotLoggedInError(UnknownKeyError):
    """There is no session, or it has ended."""


class PageRoute(APIRoute):
    """A route of the page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which answers failures as pages."""
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response: Response = await inner(request)
            except NotLoggedInError as error:
                note_refusal(request.scope, error)
                looks = request.method == "GET"
                response = RedirectResponse("/login", 303) if looks else refusal(401, str(error), "/login")
            except UnavailableError as error:
                note_refusal(request.scope, error)
                response = refusal(503, UNAVAILABLE)
            except InputError as error:
                note_refusal(request.scope, error)
                response = refusal(status_of(error), str(error))
            except RequestValidationError:
                response = refusal(422, "The address or the form is not one of this page's.")
            for name, value in HEADERS.items():
                response.headers[name] = value
            response.headers.setdefault("Cache-Control", "no-store")
            return response

        return handle


def status_of(error: Exception) -> int:
    """Return the status of a failure."""
    if isinstance(error, TooManyError):
        return 429
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 422)


def refusal(status: int, sentence: str, back: str = "/") -> HTMLResponse:
    """Return a page that says why something is refused."""
    text = sentence[:1].upper() + sentence[1:]
    title = HTTPStatus(status).phrase
    return HTMLResponse(render("refused", title=title, sentence=text, back=back), status)


def check_origin(request: Request) -> None:
    """Refuse a form that another site sent. Browsers say where a form comes from; what says nothing is no browser."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        ours = site in ("same-origin", "none")
    else:
        ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if not ours:
        raise ForbiddenError("the form was sent by another site: open the page itself and try again")
