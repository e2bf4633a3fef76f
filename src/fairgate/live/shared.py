"""Shared: what all gates of one database have in common in a process, its connections and the threads that write."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet, WeakValueDictionary

from sqlalchemy import Connection

from fairgate.live import database
from fairgate.live.database import connect, read_url, unavailable, writing
from fairgate.live.failures import UnavailableError
from fairgate.live.writers import Writers

KNOWN: WeakValueDictionary[tuple[int, str], Database] = WeakValueDictionary()
"""Databases by process and URL: a process that was forked has connections and threads of its own."""

LOOKING = threading.Lock()
"""Held while the databases above are looked up."""


class Database:
    """One pool of connections and a few threads that write, however many gates use them."""

    def __init__(self, url: str) -> None:
        self.engine = connect(url)
        self.writers = Writers()
        self._users: WeakSet[object] = WeakSet()
        self._turn = threading.Lock() if self.engine.dialect.name == "sqlite" else None

    @classmethod
    def at(cls, url: str) -> Database:
        """Return the database of a URL, the same as long as something in this process holds it."""
        place = os.getpid(), read_url(url).render_as_string(hide_password=False)
        with LOOKING:
            found = KNOWN.get(place)
            if found is None:
                found = KNOWN[place] = cls(url)
        return found

    def join(self, user: object) -> None:
        """Note one more user, who leaves at the end."""
        with LOOKING:
            self._users.add(user)

    def leave(self, user: object) -> None:
        """Close the connections and end the threads, if this was the last user."""
        with LOOKING:
            self._users.discard(user)
        self.rest()

    def rest(self) -> None:
        """Close the connections and end the threads, unless there are users; they come back when they are needed."""
        with LOOKING:
            if not self._users:
                self.writers.end()
                self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that writes. SQLite takes one at a time: those of this process wait for it in here."""
        if self._turn is not None and not self._turn.acquire(timeout=database.PATIENCE):
            raise UnavailableError(
                unavailable(self.engine, f"other gates were written for more than {database.PATIENCE} s")
            )
        try:
            with writing(self.engine) as connection:
                yield connection
        finally:
            if self._turn is not None:
                self._turn.release()
