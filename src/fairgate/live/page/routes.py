"""Routes of the page: log in, look, change the mode, approve; each change is the same call that the API makes."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Form, Query, Request
from sqlalchemy import Engine
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fairgate.errors import InputError
from fairgate.live.failures import ForbiddenError, MissingError, UnknownKeyError
from fairgate.live.gate import Gate
from fairgate.live.keys import KeyFacts, check_key, list_keys
from fairgate.live.page import views
from fairgate.live.page.answers import NotLoggedInError, PageRoute, TooManyError, check_origin, status_of
from fairgate.live.page.assets import asset
from fairgate.live.page.attempts import Attempts
from fairgate.live.page.ended import end, has_ended
from fairgate.live.page.session import HOURS, NOTE_SECONDS, Session, Sessions
from fairgate.live.page.views import Told, Visitor
from fairgate.live.page.words import KINDS, MODES
from fairgate.live.replies import Figures, LogEvent
from fairgate.live.spec import Mode
from fairgate.live.turn import check_reason

EVENTS = 10
"""Events on the page of a gate."""

WHOLE = 400
"""Most rounds that are drawn of the whole history: two pixels each on a large screen."""

EVENTS_PER_PAGE = 50
CASES_PER_PAGE = 100
LARGEST = 2**53

Text = Annotated[str, Form()]
Seq = Annotated[int | None, Query(ge=1, le=LARGEST)]


class Here(NamedTuple):
    """Who is logged in to which gate."""

    gate: Gate
    session: Session
    facts: KeyFacts
    visitor: Visitor


def router(gates: Mapping[str, Gate], engine: Engine, secret: bytes) -> APIRouter:
    """Return the routes of the page.

    Parameters
    ----------
    gates
        The gates that are served, by name.
    engine
        Their database.
    secret
        What session cookies are signed with, the same in all processes that serve the gates.
    """
    routes = APIRouter(route_class=PageRoute, include_in_schema=False)
    sessions = Sessions(secret)
    attempts = Attempts()

    def session_of(request: Request, gate: str) -> Session | None:
        """Return the session of a request at a gate, if there is one that has not ended."""
        session = sessions.read(request.cookies.get(cookie_of(gate), ""), gate) if gate in gates else None
        return None if session is None or has_ended(engine, session) else session

    def here(request: Request, gate: str) -> Here:
        """Return who is logged in to a gate."""
        session = session_of(request, gate)
        if session is None:
            raise NotLoggedInError("you are not logged in, or the session has ended: log in")
        facts = next((each for each in list_keys(engine, gate) if each.id == session.key), None)
        if facts is None or facts.ended(datetime.now(UTC)):
            raise NotLoggedInError("the key of this session has been revoked or has expired: log in")
        if "read" not in facts.scopes:
            raise ForbiddenError(f"the key {facts.name!r} must have the scope read to see the page")
        visitor = Visitor(gate, facts.name, "admin" in facts.scopes, sessions.form_token(session))
        return Here(gates[gate], session, facts, visitor)

    def posted(request: Request, gate: str, token: str) -> Here:
        """Return who sent a form, if a page of their own session did."""
        check_origin(request)
        found = here(request, gate)
        if not sessions.fits(found.session, token):
            raise ForbiddenError("the form is not of this session: open the page again and send it from there")
        return found

    def changing(request: Request, gate: str, token: str) -> Here:
        """Return who sent a form that changes something, if their key may."""
        found = posted(request, gate, token)
        if "admin" not in found.facts.scopes:
            raise ForbiddenError(f"the key {found.facts.name!r} must have the scope admin to change anything")
        return found

    def shown(found: Here, status: int = 200, told: Told | None = None, *, whole: bool = False) -> HTMLResponse:
        """Return the page of a gate."""
        figures, events = seen(found, whole=whole)
        key, spec = secrets.token_urlsafe(12), found.gate.spec
        return HTMLResponse(views.gate_page(found.visitor, figures, spec, events, key, told, whole=whole), status)

    def seen(found: Here, *, whole: bool) -> tuple[Figures, list[LogEvent]]:
        """Return the figures and events of a page."""
        figures = found.gate.figures(WHOLE, whole=True) if whole else found.gate.figures()
        return figures, found.gate.log(0, EVENTS, newest=True)

    def done_with(request: Request, found: Here, done: str) -> Response:
        """Go back to the page of a gate, which tells what was done."""
        response = moved(found.visitor.home)
        name, value = note_of(found.visitor.gate), sessions.note(found.session, done)
        set_cookie(response, request, name, value, NOTE_SECONDS, found.visitor.home)
        return response

    @routes.get("/")
    def start(request: Request) -> Response:
        """Go to the gate one is logged in to, or to the log-in."""
        for gate in gates:
            if session_of(request, gate):
                return moved(f"/gates/{gate}")
        return moved("/login")

    @routes.get("/login")
    def ask() -> Response:
        return HTMLResponse(views.render("login", told=""))

    @routes.post("/login")
    def log_in(request: Request, key: Text = "") -> Response:
        """Begin a session at the gate whose key this is."""
        check_origin(request)
        refused: InputError = UnknownKeyError("this is not a key of a gate here, or it was revoked or has expired")
        for gate in gates:
            try:
                facts = check_key(engine, gate, key.strip(), "read")
            except ForbiddenError as error:
                refused = error
            except UnknownKeyError:
                continue
            else:
                response = moved(f"/gates/{gate}")
                set_cookie(response, request, cookie_of(gate), sessions.begin(gate, facts.id)[1], int(HOURS * 3600))
                return response
        if attempts.failed():
            late = f"{attempts.most} log-ins failed within {attempts.seconds / 60:g} minutes"
            raise TooManyError(f"{late}, and this one too: a good key still logs in; try again later with another")
        text = str(refused)
        return HTMLResponse(views.render("login", told=text[:1].upper() + text[1:]), status_of(refused))

    @routes.post("/gates/{gate}/logout")
    def log_out(request: Request, gate: str, token: Text = "") -> Response:
        """End the session."""
        end(engine, posted(request, gate, token).session)
        response = moved("/login")
        response.delete_cookie(cookie_of(gate))
        return response

    @routes.get("/gates/{gate}")
    def look(request: Request, gate: str, history: str = "") -> Response:
        """The page of a gate, with its last rounds or its whole history; it tells once what was done last."""
        found = here(request, gate)
        note = request.cookies.get(note_of(gate))
        done = "" if note is None else sessions.read_note(found.session, note)
        told = Told(DONE[done], refused=False, written={}) if done in DONE else None
        response = shown(found, told=told, whole=history == "whole")
        if note is not None:
            response.delete_cookie(note_of(gate), path=found.visitor.home)
        return response

    @routes.get("/gates/{gate}/now")
    def now(request: Request, gate: str, history: str = "") -> Response:
        """The parts of the page that change."""
        found = here(request, gate)
        figures, events = seen(found, whole=history == "whole")
        return HTMLResponse(views.fragment(found.visitor, figures, found.gate.spec, events, secrets.token_urlsafe(12)))

    @routes.post("/gates/{gate}/mode")
    def change_mode(
        request: Request,
        gate: str,
        token: Text = "",
        key: Text = "",
        mode: Text = "",
        reason: Text = "",
        threshold: Text = "",
    ) -> Response:
        """Change the mode, with a reason."""
        found = changing(request, gate, token)
        try:
            value = read_threshold(threshold)
            found.gate.set_mode(read_mode(mode), read_reason(reason), value, key=key or None, actor=actor_of(found))
        except InputError as error:
            written = {"mode": mode, "reason": reason, "threshold": threshold}
            return shown(found, status_of(error), Told(refused_text(error), True, written))
        return done_with(request, found, "mode")

    @routes.post("/gates/{gate}/approve")
    def approve(
        request: Request, gate: str, token: Text = "", key: Text = "", waiting: Text = "", reason: Text = ""
    ) -> Response:
        """Approve what the learner proposes, with a reason."""
        found = changing(request, gate, token)
        try:
            found.gate.approve(waiting, read_reason(reason), key=key or None, actor=actor_of(found))
        except InputError as error:
            return shown(found, status_of(error), Told(refused_text(error), True, {}))
        return done_with(request, found, "approve")

    @routes.get("/gates/{gate}/log")
    def log(request: Request, gate: str, before: Seq = None, kind: str = "") -> Response:
        """The log, newest first."""
        found = here(request, gate)
        wanted = kind if kind in KINDS else ""
        events = found.gate.log(before or 0, EVENTS_PER_PAGE + 1, newest=True, kind=wanted or None)
        older = events[EVENTS_PER_PAGE - 1].seq if len(events) > EVENTS_PER_PAGE else None
        return HTMLResponse(views.log_page(found.visitor, events[:EVENTS_PER_PAGE], wanted, older, before is None))

    @routes.get("/gates/{gate}/log/{seq}")
    def event(request: Request, gate: str, seq: int, place: Annotated[int, Query(ge=0, le=LARGEST)] = 0) -> Response:
        """An event, with the cases it decided."""
        found = here(request, gate)
        events = found.gate.log(seq - 1, 1) if 1 <= seq <= LARGEST else []
        if not events or events[0].seq != seq:
            raise MissingError(f"there is no event {seq} in the log of this gate")
        people = events[0].body.get("people", 0) if events[0].kind in ("decided", "reported") else 0
        wanted = min(people - place, CASES_PER_PAGE)
        listed = found.gate.cases((seq, place - 1), wanted) if wanted > 0 else []
        cases = [each for each in listed if each.seq == seq]  # others follow if those of this event were pruned
        more = place + CASES_PER_PAGE if people - place > CASES_PER_PAGE else None
        return HTMLResponse(views.event_page(found.visitor, events[0], cases, more))

    @routes.get("/gates/{gate}/case")
    def case(request: Request, gate: str, name: Annotated[str, Query(alias="id")] = "") -> Response:
        """Why an application was accepted or rejected."""
        found = here(request, gate)
        return HTMLResponse(views.case_page(found.visitor, found.gate.case(name) if name else None))

    @routes.get("/static/{name}")
    def static(name: str) -> Response:
        return asset(name)

    return routes


DONE = {"mode": "The mode was changed; the log has it.", "approve": "The proposal was approved; the log has it."}
"""What is said after a change."""


def moved(place: str) -> RedirectResponse:
    """Send the browser to another page of this site."""
    return RedirectResponse(place, 303)


def cookie_of(gate: str) -> str:
    """Return the name of a gate's cookie."""
    return f"fairgate-{gate}"


def note_of(gate: str) -> str:
    """Return the name of the cookie that holds what a gate's page is to tell."""
    return f"fairgate.{gate}"  # no gate has a dot in its name


def set_cookie(response: Response, request: Request, name: str, value: str, seconds: int, path: str = "/") -> None:
    """Give the browser a cookie: not for scripts, not for requests that other sites make."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=seconds, path=path, secure=secure, httponly=True, samesite="strict")


def actor_of(found: Here) -> str:
    """Return the actor that the log names, as the API's."""
    return f"key:{found.facts.name}"


def refused_text(error: Exception) -> str:
    """Say that nothing was changed, and why."""
    return f"Nothing was changed: {error}."


def read_mode(text: str) -> Mode:
    """Return the mode of a form."""
    for mode in MODES:
        if mode == text:
            return mode
    raise InputError(f"mode must be one of {', '.join(MODES)}, got {text[:80]!r}")


def read_reason(text: str) -> str:
    """Return the reason of a form, which may not be empty, and reads as what it is."""
    if not text.strip():
        raise InputError("reason must be given: the log keeps it")
    return check_reason(text)


def read_threshold(text: str) -> float | list[float] | None:
    """Return the threshold of a form, or one per group.

    >>> read_threshold(" 0.5 "), read_threshold("0.5, 0.6"), read_threshold("")
    (0.5, [0.5, 0.6], None)
    """
    if not text.strip():
        return None
    try:
        values = [float(part.replace("−", "-")) for part in text.split(",")]
    except ValueError:
        wanted = "a number, or one per group with commas between"
        raise InputError(f"threshold must be {wanted}, got {text[:80]!r}") from None
    return values if len(values) > 1 else values[0]
