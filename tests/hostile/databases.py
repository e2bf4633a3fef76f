"""Databases that are no gate's: other files, other tables, damaged pages, revisions that there are not."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Database = Callable[[Path], None]
"""Changes a valid database in place, or puts something else there."""


def bytes_of(content: bytes) -> Database:
    """Put these bytes in its place."""
    return lambda path: _written(path, content)


def _written(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def cut(share: float) -> Database:
    """Cut it short."""
    return lambda path: os.truncate(path, int(path.stat().st_size * share))


def noise(seed: int, pages: int = 3) -> Database:
    """Put noise into pages after the first."""

    def make(path: Path) -> None:
        rng, content = random.Random(seed), bytearray(path.read_bytes())
        for _ in range(pages):
            place = 4096 * rng.randrange(1, len(content) // 4096)
            content[place : place + 4096] = rng.randbytes(4096)
        path.write_bytes(content)

    return make


def header(place: int, content: bytes) -> Database:
    """Change bytes of its header."""

    def make(path: Path) -> None:
        found = bytearray(path.read_bytes())
        found[place : place + len(content)] = content
        path.write_bytes(found)

    return make


def sql(*statements: str) -> Database:
    """Run statements in it."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA foreign_keys=OFF")
            for each in statements:
                connection.executescript(each)

    return make


def new(*statements: str) -> Database:
    """Make another database of these statements."""

    def make(path: Path) -> None:
        path.unlink()
        sql(*statements)(path)

    return make


def as_view(table: str) -> Database:
    """Put a view in the place of a table."""
    return sql(f"ALTER TABLE {table} RENAME TO kept; CREATE VIEW {table} AS SELECT * FROM kept")


def endless_view(table: str) -> Database:
    """Put a view that never ends in the place of a table: it has as many rows as one asks for."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        columns = ", ".join(f'n AS "{name}"' for name in names)
        endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
        sql(f"PRAGMA foreign_keys=OFF; DROP TABLE {table}; CREATE VIEW {table} AS {endless} SELECT {columns} FROM c")(
            path
        )

    return make


def with_body(body: str, seq: int = 1) -> Database:
    """Put a text in the place of the body of an event."""

    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE events SET body = ? WHERE seq = ?", (body, seq))

    return make


def link(to: str) -> Database:
    """Put a symbolic link in its place."""

    def make(path: Path) -> None:
        path.unlink()
        path.symlink_to(to)

    return make


def folder(path: Path) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    """Put a pipe in its place that nothing is ever written to."""
    path.unlink()
    os.mkfifo(path)


def missing(path: Path) -> None:
    """Take it away."""
    path.unlink()


def lost_log(path: Path) -> None:
    """Say that a log beside it has the last changes, which is not there."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)


def strange_log(path: Path) -> None:
    """Have a log of noise beside it."""
    path.with_name(f"{path.name}-wal").write_bytes(random.Random(1).randbytes(40_000))
    path.with_name(f"{path.name}-journal").write_bytes(random.Random(2).randbytes(4000))


def copied(valid: Path, to: Path) -> Path:
    """Copy the gate's file and its database."""
    for name in ("gate.toml", "gate.db"):
        shutil.copy(valid / name, to / name)
    return to / "gate.db"


VERSION = "UPDATE fairgate_revision SET version_num = "
DEEP = "[" * 100_000 + "]" * 100_000

REFUSED: dict[str, Database] = {
    "no database": bytes_of(b"once upon a time" * 1000),
    "a zip": bytes_of(b"PK\x03\x04" + bytes(5000)),
    "cut in half": cut(0.5),
    "cut to a page": lambda path: os.truncate(path, 4096),
    "cut to its header": lambda path: os.truncate(path, 100),
    "a header of another page size": header(16, b"\x80\x00"),
    "a header of a newer format": header(18, b"\x09\x09"),
    "a header of an unknown encoding": header(56, b"\x00\x00\x00\x63"),
    "a folder": folder,
    "a pipe": pipe,
    "missing": missing,
    "a link to itself": link("gate.db"),
    "a link to endless zeros": link("/dev/zero"),
    "a link to a terminal": link("/dev/tty"),
    "another program's tables": new("CREATE TABLE events (a); CREATE TABLE gates (b)"),
    "a revision that there is not": sql(f"{VERSION}'9999'"),
    "a revision of a huge name": sql(f"{VERSION}'{'9' * 10_000}'"),
    "a revision of a name that is code": sql(f"{VERSION}'../../x'"),
    "a revision that is a relative one": sql(f"{VERSION}'head'"),
    "a revision that is a number of bytes": sql(f"{VERSION}x'00ff'"),
    "two revisions": sql("INSERT INTO fairgate_revision VALUES ('9999')"),
    "two known revisions": sql("INSERT INTO fairgate_revision VALUES ('0001')"),
    "no revision": sql("DELETE FROM fairgate_revision"),
    "no table of revisions": sql("DROP TABLE fairgate_revision"),
    "a view for revisions": as_view("fairgate_revision"),
    "an endless view of revisions": endless_view("fairgate_revision"),
    "no table of gates": sql("DROP TABLE gates"),
    "no table of events": sql("DROP TABLE events"),
    "gates without columns": sql("DROP TABLE gates; CREATE TABLE gates (name)"),
    "no gate": sql("DELETE FROM gates"),
    "another gate": sql("UPDATE gates SET name = 'other'"),
    "a gate of numbers": sql("UPDATE gates SET last = 'many', head = 7, secret = 3"),
    "no first event": sql("DELETE FROM events WHERE seq = 1"),
    "a first event nested": with_body(DEEP),
    "a first event nested by names": with_body('{"spec":' * 100_000 + "1" + "}" * 100_000),
    "a first event of a huge number": with_body('{"spec": ' + "9" * 100_000 + "}"),
    "a first event that is a list": with_body("[1]"),
    "a first event of no JSON": with_body("spec"),
    "a first event without a spec": with_body("{}"),
    "a spec that is a list": with_body('{"spec": []}'),
    "a spec of NaN": with_body('{"spec": {"name": "credit", "groups": ["a", "b"], "grid": [NaN, Infinity]}}'),
    "a spec of ten thousand groups": with_body(
        '{"spec": {"name": "credit", "groups": [' + ", ".join(f'"{n}"' for n in range(10_000)) + '], "grid": [0.5]}}'
    ),
    "a spec of a huge grid": with_body(
        '{"spec": {"name": "credit", "groups": ["a", "b"], "grid": [' + ", ".join(map(str, range(100_000))) + "]}}"
    ),
    "a spec of a huge name": with_body('{"spec": {"name": "' + "x" * 100_000 + '"}}'),
    "a constraint of a lone surrogate": with_body(
        '{"spec": {"name": "credit", "groups": ["a", "b"], "grid": [0.5], "constraints": {"parity": "\\ud800"}}}'
    ),
    "a spec of a lone surrogate": with_body('{"spec": {"name": "\\ud800", "groups": ["\\udfff"], "grid": [1]}}'),
}
"""Databases that no command can go on with."""

FOUND: dict[str, Database] = {
    **{f"{table} as a view": as_view(table) for table in ("gates", "events", "cases", "outcomes", "api_keys")},
    **{f"noise {seed}": noise(seed) for seed in range(6)},
    "an endless view of events": endless_view("events"),
    "an endless view of cases": endless_view("cases"),
    "no table of cases": sql("DROP TABLE cases"),
    "cases without columns": sql("DROP TABLE cases; CREATE TABLE cases (gate)"),
    "keys without columns": sql("DROP TABLE api_keys; CREATE TABLE api_keys (gate)"),
    "a trigger": sql(
        "CREATE TRIGGER evil AFTER INSERT ON events BEGIN DELETE FROM cases; END;"
        "CREATE TRIGGER worse BEFORE UPDATE ON gates BEGIN SELECT RAISE(ABORT, 'evil'); END;"
    ),
    "scores of text": sql("UPDATE cases SET score = 'high'"),
    "rounds of bytes": sql("UPDATE events SET round = x'ff' WHERE seq > 1"),
    "a later event nested": with_body(DEEP, 3),
    "a later event of a huge number": with_body('{"people": ' + "9" * 100_000 + "}", 3),
    "a later event of numbers beyond 64 bits": with_body('{"people": 9' + "0" * 100 + ', "tally": [[0, 0, 0, 1]]}', 3),
    "a later event of strange tallies": with_body('{"people": 20, "tally": [[-1, 99999999, 7, -5], [1e308]]}', 3),
    "a later event of lone surrogates": with_body('{"people": "\\ud800", "\\udfff": [1]}', 3),
    "a later event that is a terminal's command": with_body('{"policy": "\x1b[2J[/red]"}', 2),
    "a log that was lost": lost_log,
    "a log of noise": strange_log,
    "events of one number": sql("UPDATE events SET at = 7, actor = 8, hash = 9, kind = 10 WHERE seq = 4"),
}
"""Databases in which the audit finds something, or nothing."""
