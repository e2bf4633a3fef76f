"""A bare service to compare with: checks a body, decides by one fixed threshold, inserts the rows, commits, answers.

    python benchmarks/live_bare.py sqlite:///bare.db 8001

It is what one would write first, written well: pydantic bodies, SQLAlchemy Core, a pool of connections, ids that are
unique by an index, one commit per request with the durability of the gate's (SQLite: WAL, synchronous=FULL). No log, no
learner, no keys, no retries.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Engine, create_engine, event, insert

from fairgate.live.schema import METADATA, cases

THRESHOLD = 0.5
GROUPS = {"women": 0, "men": 1}
SECONDS_LOCKED = 30


class Application(BaseModel):
    """One application."""

    id: str
    group: str
    score: float


class Batch(BaseModel):
    """Applications, by column."""

    ids: list[str]
    groups: list[str]
    scores: list[float]


class Answer(BaseModel):
    """A decision."""

    id: str
    accepted: bool


class Answers(BaseModel):
    """Decisions on a batch."""

    accepted: list[bool]


def make_engine(url: str) -> Engine:
    """Connect, with the gate's durability."""
    if not url.startswith("sqlite"):
        engine = create_engine(url, pool_size=16, max_overflow=0)
        engine.dialect.use_insertmanyvalues_wo_returning = True  # many rows in one statement
        return engine
    engine = create_engine(url, pool_size=16, max_overflow=0, connect_args={"timeout": SECONDS_LOCKED})

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def make_app(url: str, waits: str) -> FastAPI:
    """Make the service; `waits` tells where a request waits for its commit: in a `thread`, or in the event `loop`."""
    app, engine = FastAPI(), make_engine(url)
    METADATA.create_all(engine)
    numbers = itertools.count(time.time_ns())
    statement = insert(cases)

    def write(columns: list[tuple[str, int, float, int]]) -> None:
        """Insert rows and commit."""
        seq = next(numbers)
        rows = [
            {
                "gate": 1,
                "seq": seq,
                "place": place,
                "id": each,
                "round": 0,
                "group": group,
                "score": score,
                "bin": int(score >= THRESHOLD),
                "draw": 0.0,
                "accepted": accepted,
            }
            for place, (each, group, score, accepted) in enumerate(columns)
        ]
        with engine.begin() as connection:
            connection.execute(statement, rows)

    def decide(body: Application) -> Answer:
        accepted = body.score >= THRESHOLD
        write([(body.id, GROUPS[body.group], body.score, int(accepted))])
        return Answer(id=body.id, accepted=accepted)

    def decide_many(body: Batch) -> Answers:
        accepted = [score >= THRESHOLD for score in body.scores]
        groups = [GROUPS[name] for name in body.groups]
        write(list(zip(body.ids, groups, body.scores, map(int, accepted), strict=True)))
        return Answers(accepted=accepted)

    async def decide_here(body: Application) -> Answer:
        return decide(body)

    async def decide_many_here(body: Batch) -> Answers:
        return decide_many(body)

    routes: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "thread": (decide, decide_many),
        "loop": (decide_here, decide_many_here),
    }
    one, many = routes[waits]
    app.post("/decisions")(one)
    app.post("/decisions/batch")(many)

    @app.get("/ready")
    def ready() -> dict[str, bool]:
        return {"ready": True}

    return app


def main() -> None:
    url, port, waits = sys.argv[1:4]
    uvicorn.run(make_app(url, waits), host="127.0.0.1", port=int(port), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
