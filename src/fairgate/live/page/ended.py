"""Ended: sessions that were logged out before their time, in the database, so that every process refuses them."""

from __future__ import annotations

import time

from sqlalchemy import Engine, delete, select, text

from fairgate.live.database import reading, writing
from fairgate.live.page.session import Session
from fairgate.live.schema import ended_sessions

ADD = text("INSERT INTO ended_sessions (session, until) VALUES (:session, :until) ON CONFLICT DO NOTHING")


def end(engine: Engine, session: Session) -> None:
    """End a session; those whose time is over need not be remembered any longer."""
    with writing(engine) as connection:
        connection.execute(delete(ended_sessions).where(ended_sessions.c.until <= time.time()))
        connection.execute(ADD, {"session": session.name, "until": session.until})


def has_ended(engine: Engine, session: Session) -> bool:
    """Whether a session was logged out."""
    with reading(engine) as connection:
        found = connection.execute(select(ended_sessions).where(ended_sessions.c.session == session.name))
        return found.first() is not None
