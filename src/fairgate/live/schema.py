"""Schema: the tables, alike in SQLite and PostgreSQL. `events` is the log; rows of people hang on its events."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

gates = Table(
    "gates",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("secret", LargeBinary, nullable=False),  # of which each round's is made
    Column("last", BigInteger, nullable=False),  # seq of the last event
    Column("head", String(64), nullable=False),  # and its hash
    Column("subject_key", LargeBinary),  # of which this period's pseudonyms are made
)

events = Table(
    "events",
    METADATA,
    Column("gate", Integer, ForeignKey("gates.number"), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("round", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", String(32), nullable=False),
    Column("actor", String(100), nullable=False),
    Column("key", String(200)),  # as in `replies`; before revision 0003 the caller's key itself
    Column("request", String(64)),
    Column("hash", String(64), nullable=False),
    UniqueConstraint("gate", "key"),
    Index("events_by_round", "gate", "kind", "round"),
    sqlite_with_rowid=False,
)

cases = Table(
    "cases",
    METADATA,
    Column("gate", Integer, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # of the event
    Column("place", Integer, primary_key=True, autoincrement=False),  # in the request
    Column("id", String(200), nullable=False),  # of an application, never of a person
    Column("round", Integer, nullable=False),
    Column("group", SmallInteger, nullable=False),
    Column("score", Double, nullable=False),
    Column("bin", Integer, nullable=False),
    Column("draw", Double, nullable=False),
    Column("accepted", SmallInteger, nullable=False),
    Column("subject", String(32)),  # the pseudonym, hashed; none if none was given
    UniqueConstraint("gate", "id"),
    Index("cases_by_subject", "gate", "subject", unique=True),
    sqlite_with_rowid=False,
)

outcomes = Table(
    "outcomes",
    METADATA,
    Column("gate", Integer, primary_key=True),
    Column("id", String(200), primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),  # of the event; the last one counts
    Column("label", SmallInteger, nullable=False),
    Index("outcomes_by_event", "gate", "seq"),
    sqlite_with_rowid=False,
)

overrides = Table(
    "overrides",
    METADATA,
    Column("gate", Integer, primary_key=True),
    Column("id", String(200), primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("accepted", SmallInteger, nullable=False),
    Column("reason", Text, nullable=False),
    sqlite_with_rowid=False,
)

replies = Table(  # first replies that the log and the rows of people cannot give again
    "replies",
    METADATA,
    Column("gate", Integer, primary_key=True),
    Column("key", String(64), primary_key=True),  # hash of the caller and the caller's key
    Column("seq", BigInteger, nullable=False),  # of the last event at that time
    Column("request", String(64), nullable=False),  # hash of the request
    Column("status", SmallInteger, nullable=False),
    Column("body", Text),  # empty if the decisions of that time are the reply
    Column("at", String(32), nullable=False),
    Index("replies_by_time", "gate", "at"),
    sqlite_with_rowid=False,
)

snapshots = Table(
    "snapshots",
    METADATA,
    Column("gate", Integer, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("library", String(32), nullable=False),
    Column("state", Text, nullable=False),
    sqlite_with_rowid=False,
)

api_keys = Table(
    "api_keys",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("gate", Integer, ForeignKey("gates.number"), nullable=False),
    Column("name", String(100), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("scopes", String(100), nullable=False),
    Column("created", String(32), nullable=False),
    Column("expires", String(32)),
    Column("revoked", String(32)),
)

ended_sessions = Table(
    "ended_sessions",
    METADATA,
    Column("session", String(32), primary_key=True),  # of the page, logged out
    Column("until", Double, nullable=False),  # when it would have ended by itself, in seconds since 1970
    sqlite_with_rowid=False,
)
