"""Sessions: who is logged in. A signed cookie names a key by its id; the key itself is looked at again each time."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from fairgate.errors import InputError

HOURS = 8.0
"""How long a session lasts, a working day; nothing prolongs it."""


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
    secret_of
        Gate → what its cookies are signed with; whoever has it can log in as anybody.
    clock
        Seconds since 1970.

    Examples
    --------
    >>> sessions = Sessions(lambda gate: b"secret", clock=lambda: 0.0)
    >>> session, cookie = sessions.begin("credit", "k1")
    >>> [sessions.read(*each) == session for each in ((cookie, "credit"), (cookie + "0", "credit"), (cookie, "other"))]
    [True, False, False]
    """

    def __init__(self, secret_of: Callable[[str], bytes], clock: Callable[[], float] = time.time) -> None:
        self._secret_of = secret_of
        self._clock = clock
        self._ended: dict[str, float] = {}  # sessions that were logged out, until they would have ended

    def begin(self, gate: str, key: str) -> tuple[Session, str]:
        """Begin a session, and return it with its cookie."""
        session = Session(gate, key, secrets.token_urlsafe(16), self._clock() + HOURS * 3600)
        body = base64.urlsafe_b64encode(json.dumps(asdict(session)).encode()).decode()
        return session, f"{body}.{self._sign(gate, 'cookie', body)}"

    def read(self, cookie: str, gate: str) -> Session | None:
        """Return the session of a cookie, if it is one of ours, for this gate, and has not ended."""
        if not cookie:
            return None
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign(gate, "cookie", body).encode(), signature.encode()):
            return None
        try:
            session = Session(**json.loads(base64.urlsafe_b64decode(body)))
        except (binascii.Error, ValueError, TypeError):
            return None
        known = session.gate == gate and session.until > self._clock() and session.name not in self._ended
        return session if known else None

    def end(self, session: Session) -> None:
        """End a session before its time, in this process; revoking its key ends it everywhere."""
        now = self._clock()
        self._ended = {name: until for name, until in self._ended.items() if until > now}
        self._ended[session.name] = session.until

    def form_token(self, session: Session) -> str:
        """Return what every form of this session must send back; another page cannot know it."""
        return self._sign(session.gate, "form", session.name)

    def fits(self, session: Session, token: str) -> bool:
        """Whether a form was sent by a page of this session."""
        return hmac.compare_digest(self.form_token(session).encode(), token.encode())

    def _sign(self, gate: str, use: str, text: str) -> str:
        return hmac.new(self._secret_of(gate), f"{use}/{text}".encode(), hashlib.sha256).hexdigest()


def read_secret(path: Path) -> bytes:
    """Return the secret of a file, made if there is none."""
    with contextlib.suppress(FileExistsError):
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w") as file:
            file.write(secrets.token_hex(32))
    found = path.read_text().strip().encode()
    if len(found) < 32:
        raise InputError(f"session_secret: the file {path} must hold at least 32 characters, got {len(found)}")
    return found


class Attempts:
    """Counts failed log-ins by address, and says when there were too many.

    >>> attempts = Attempts(most=2, seconds=60.0, clock=lambda: 0.0)
    >>> attempts.failed("a"), attempts.too_many("a"), attempts.failed("a"), attempts.too_many("a")
    (None, False, None, True)
    """

    def __init__(self, most: int = 10, seconds: float = 300.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._times: dict[str, deque[float]] = {}

    def too_many(self, address: str) -> bool:
        """Whether this address has failed too often of late."""
        with self._lock:
            self._forget()
            return len(self._times.get(address, ())) >= self.most

    def failed(self, address: str) -> None:
        """Note a failure."""
        with self._lock:
            self._times.setdefault(address, deque(maxlen=self.most)).append(self._clock())

    def _forget(self) -> None:
        oldest = self._clock() - self.seconds
        for address, times in list(self._times.items()):
            while times and times[0] <= oldest:
                times.popleft()
            if not times:
                del self._times[address]
