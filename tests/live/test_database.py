"""The database: durable, alike in SQLite and PostgreSQL, clear when it cannot be used, and well again by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, select

from fairgate.live.database import connect, find, insert, prepare, reading, writing
from fairgate.live.schema import cases, gates


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = connect(database_url)
    prepare(made)
    yield made
    made.dispose()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Engine]:
    made = connect(str(tmp_path / "gate.db"))
    prepare(made)
    yield made
    made.dispose()


def add_gate(engine: Engine, number: int = 1) -> None:
    with writing(engine) as connection:
        row: dict[str, Any] = {
            "number": [number],
            "name": [f"g{number}"],
            "secret": [b"\0s"],
            "last": [0],
            "head": ["0" * 64],
        }
        insert(connection, gates, row)


def names(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return list(connection.scalars(select(gates.c.name).order_by(gates.c.number)))


def people(n: int, gate: int = 1, seq: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seq)
    return {
        "gate": [gate] * n,
        "seq": [seq] * n,
        "place": np.arange(n),
        "id": [f"a-{seq}-{i}" for i in range(n)],
        "round": [3] * n,
        "group": rng.integers(0, 2, n),
        "score": rng.normal(size=n),
        "bin": rng.integers(0, 9, n),
        "draw": rng.random(n),
        "accepted": rng.integers(0, 2, n),
    }


def test_what_is_inserted_is_found_bit_for_bit(engine: Engine) -> None:
    given = people(3000)
    with writing(engine) as connection:
        insert(connection, cases, given)
        insert(connection, cases, people(10, gate=2, seq=1))  # the same ids at another gate
        insert(connection, cases, people(0, seq=2))
    wanted = [*given["id"][::2], given["id"][0], "unknown", "a'\"{};--é"]
    with reading(engine) as connection:
        found = sorted(find(connection, 1, wanted), key=lambda row: row.place)
        assert find(connection, 1, []) == []
    assert [row.id for row in found] == given["id"][::2]
    for column in cases.c:
        assert [row._mapping[column.name] for row in found] == list(given[column.name])[::2]


def test_an_id_of_any_text_is_found(engine: Engine) -> None:
    strange = ["1", "1.0", "null", "é", "'", '"', "a b", "\\u0041", "%s", "?", "日本"]
    given = {name: list(column)[: len(strange)] for name, column in people(len(strange)).items()} | {"id": strange}
    with writing(engine) as connection:
        insert(connection, cases, given)
        assert sorted(row.id for row in find(connection, 1, strange)) == sorted(strange)
        assert [row.id for row in find(connection, 1, ["1"])] == ["1"]
