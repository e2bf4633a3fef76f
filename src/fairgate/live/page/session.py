"""Sessions: who is logged in. A signed cookie names a key by its id; the key itself is looked at again each time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

HOURS = 8.0
"""How long a session lasts, a working day; nothing prolongs it."""

NOTE_SECONDS = 60
"""How long what was done waits to be told by the next page."""


@dataclass(frozen=True)
class Session:
    """A log-in to one gate with one key."""

    gate: str
    key: str  # the key's id
    name: str  # of this session, random
    until: float  # seconds since 1970


class Sessions:
    """Makes and reads the cookies of sessions.

    Parameters
    ----------
    secret
        What cookies are signed with; whoever has it can log in as anybody.
    clock
        Seconds since 1970.

    Examples
    --------
    >>> sessions = Sessions(b"secret", clock=lambda: 0.0)
    >>> session, cookie = sessions.begin("credit", "k1")
    >>> [sessions.read(*each) == session for each in ((cookie, "credit"), (cookie + "0", "credit"), (cookie, "other"))]
    [True, False, False]
    """

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock

    def begin(self, gate: str, key: str) -> tuple[Session, str]:
        """Begin a session, and return it with its cookie."""
        session = Session(gate, key, secrets.token_urlsafe(16), self._clock() + HOURS * 3600)
        body = base64.urlsafe_b64encode(json.dumps(asdict(session)).encode()).decode()
        return session, f"{body}.{self._sign('cookie', body)}"

    def read(self, cookie: str, gate: str) -> Session | None:
        """Return the session of a cookie, if it is one of ours, for this gate, and its time is not over."""
        if not cookie:
            return None
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign("cookie", body).encode(), signature.encode()):
            return None
        try:
            session = Session(**json.loads(base64.urlsafe_b64decode(body)))
        except (binascii.Error, ValueError, TypeError):
            return None
        return session if session.gate == gate and session.until > self._clock() else None

    def form_token(self, session: Session) -> str:
        """Return what every form of this session must send back; another page cannot know it."""
        return self._sign("form", session.name)

    def fits(self, session: Session, token: str) -> bool:
        """Whether a form was sent by a page of this session."""
        return hmac.compare_digest(self.form_token(session).encode(), token.encode())

    def note(self, session: Session, done: str) -> str:
        """Return what the next page of this session is to tell, as a cookie; a link cannot make it."""
        text = f"{done}.{self._clock() + NOTE_SECONDS:.0f}"
        return f"{text}.{self._sign('note', f'{session.name}/{text}')}"

    def read_note(self, session: Session, cookie: str) -> str:
        """Return what was done, if the cookie is of this session and of late; nothing otherwise.

        >>> sessions = Sessions(b"secret", clock=lambda: 0.0)
        >>> one, other = (sessions.begin("credit", "k1")[0] for _ in range(2))
        >>> sessions.read_note(one, sessions.note(one, "mode")), sessions.read_note(other, sessions.note(one, "mode"))
        ('mode', '')
        """
        text, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign("note", f"{session.name}/{text}").encode(), signature.encode()):
            return ""
        done, _, until = text.partition(".")
        return done if float(until) > self._clock() else ""

    def _sign(self, use: str, text: str) -> str:
        return hmac.new(self._secret, f"{use}/{text}".encode(), hashlib.sha256).hexdigest()
