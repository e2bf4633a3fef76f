"""Saved runs, sweeps, learner states, advices and settings that were changed."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairgate.store.files import HEADER

Saved = Callable[[bytes], bytes]
"""Takes a valid file and returns a hostile one."""

DEEP = "[" * 100_000 + "]" * 100_000


def table_of(valid: bytes) -> tuple[pa.Table, dict[str, Any]]:
    """Return a saved table and its header."""
    table = pq.read_table(io.BytesIO(valid))
    return table, json.loads(table.schema.metadata[HEADER.encode()])


def written(table: pa.Table, header: str) -> bytes:
    """Return a table with a header."""
    made = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({HEADER: header}), made)
    return made.getvalue()


def headed(text: str) -> Saved:
    """Put a text in the place of the header."""
    return lambda valid: written(table_of(valid)[0], text)


def entry(**entries: Any) -> Saved:
    """Change entries of the header."""

    def make(valid: bytes) -> bytes:
        table, header = table_of(valid)
        return written(table, json.dumps(header | entries))

    return make


def lacking(name: str) -> Saved:
    """Leave an entry out of the header."""

    def make(valid: bytes) -> bytes:
        table, header = table_of(valid)
        return written(table, json.dumps({key: value for key, value in header.items() if key != name}))

    return make


def column(place: int, change: Callable[[pa.Table], Any]) -> Saved:
    """Put another column in the place of one."""

    def make(valid: bytes) -> bytes:
        table, header = table_of(valid)
        return written(table.set_column(place, table.column_names[place], pa.array(change(table))), json.dumps(header))

    return make


def rows(number: int) -> Saved:
    """Leave rows out."""
    return lambda valid: written(table_of(valid)[0].slice(0, number), json.dumps(table_of(valid)[1]))


def columns(number: int) -> Saved:
    """Leave columns out."""

    def make(valid: bytes) -> bytes:
        table, header = table_of(valid)
        return written(table.select(table.column_names[:number]), json.dumps(header))

    return make


ANY: dict[str, Saved] = {
    "nothing": lambda valid: b"",
    "text": lambda valid: b"PAR1 once upon a time PAR1",
    "cut in half": lambda valid: valid[: len(valid) // 2],
    "cut at its end": lambda valid: valid[:-1],
    "a header nested": headed(DEEP),
    "a header nested by names": headed('{"format":' * 100_000 + "1" + "}" * 100_000),
    "a header of no JSON": headed("settings"),
    "a header that is a list": headed('["names", "parameters"]'),
    "a header that is a text": headed('"names parameters"'),
    "a header of a huge number": headed('{"names": [], "parameters": {}, "format": ' + "9" * 100_000 + "}"),
    "a header without a format": lacking("format"),
    "a header of a huge format": entry(format="x" * 100_000),
    "a header of a nested format": entry(format=[[[1]]]),
    "a header without a shape": lacking("shape"),
    "a header without settings": lacking("settings"),
    "a huge shape": entry(shape=[10**9, 10**9, 10**9, 10**9]),
    "a shape of many groups": entry(shape=[2, 4, 10**9, 1]),
    "a shape of many parts": entry(shape=[2, 4, 2, 10**9]),
    "a negative shape": entry(shape=[-2, -4, 2, 1]),
    "a shape of text": entry(shape=["2", "4", "2", "1"]),
    "a shape of one": entry(shape=[8]),
    "a shape that is a number": entry(shape=8),
    "a shape of huge integers": entry(shape=[10**400, 4, 2, 1]),
    "a shape of fractions": entry(shape=[2.0, 4.0, 2.0, 1.5]),
    "fewer rows": rows(3),
    "no rows": rows(0),
    "fewer columns": columns(5),
    "one column": columns(1),
}
"""What no saved table may be."""

RUNS: dict[str, Saved] = {
    **ANY,
    "names that are a number": entry(names=7),
    "a huge number of names": entry(names=["x"] * 100_000),
    "settings that are a list": entry(settings=[1]),
    "settings of no task": entry(settings={}),
    "settings of a task that is a text": entry(settings={"task": "os:system"}),
    "a final policy that is none": entry(final={"thresholds": "all", "weights": [[1]]}),
    "a final policy of a huge number": entry(final={"thresholds": [[[1e308, 10**400]]], "weights": [[1.0]]}),
    "states of a huge shape": entry(states={"x": [10**9, 10**9]}),
    "states that are not there": entry(states={"x": [2]}),
    "thresholds of text": column(2, lambda table: ["high"] * table.num_rows),
    "thresholds of lists": column(2, lambda table: [[1.0]] * table.num_rows),
    "thresholds of objects": column(2, lambda table: [{"a": 1}] * table.num_rows),
    "thresholds of nulls": column(2, lambda table: [None] * table.num_rows),
    "thresholds of times": column(2, lambda table: np.zeros(table.num_rows, dtype="datetime64[s]")),
}
"""Saved runs."""

SWEEPS: dict[str, Saved] = {
    **ANY,
    "learners that are a number": entry(learners=7),
    "a learner that is a list": entry(learners=[["x"]]),
    "many learners": entry(learners=["x"] * 1000),
    "parameters that are not there": entry(parameters=["x"]),
    "parameters that are a number": entry(parameters=7),
    "failures of strange fields": entry(failures=[{"code": "x"}]),
    "failures that are text": entry(failures="all"),
    "settings that are a list": entry(settings=[1]),
}
"""Saved sweeps."""


PLANS: tuple[Any, ...] = (
    *("os:system", 7, None, [], {}, {"task": "os:system", "learner": "os:system", "learners": "os:system"}),
    {"task": {"class": "os:system", "fields": {}}, "learner": {"type": "os:system"}, "learners": {"ofs": 7}},
    {"task": [], "learner": {"object": "os:system"}, "learners": {"ofs": {"class": "os:system", "fields": {}}}},
)
"""What may be in the place of a recipe."""

COMMANDS: tuple[Any, ...] = ("os:system", 7, None, [], {}, {"task": 7, "learners": {"ofs": 7}}, {"task": "x"})
"""What may be in the place of the texts of a command."""


def at(*path: Any, value: Any) -> Callable[[Any], Any]:
    """Put a value into plain data."""

    def make(plain: Any) -> Any:
        found = plain
        for each in path[:-1]:
            found = found[each]
        found[path[-1]] = value
        return plain

    return make


def deep(levels: int = 100_000) -> Any:
    """Return lists in lists."""
    found: Any = []
    for _ in range(levels):
        found = [found]
    return found


def first_array(plain: Any) -> Any:
    """Return the first array in a state."""
    for value in plain.values() if isinstance(plain, dict) else plain if isinstance(plain, list) else ():
        if isinstance(value, dict) and "array" in value:
            return value
        found = first_array(value)
        if found is not None:
            return found
    return None


def array(**entries: Any) -> Callable[[Any], Any]:
    """Change entries of the first array."""

    def make(plain: Any) -> Any:
        first_array(plain["state"]).update(entries)
        return plain

    return make


STATES: dict[str, Callable[[Any], Any]] = {
    "a list": lambda plain: [],
    "a text": lambda plain: "state",
    "null": lambda plain: None,
    "nothing": lambda plain: {},
    "a state nested": at("state", value=deep()),
    "a version nested": at("version", value=deep()),
    "a version of a huge text": at("version", value="x" * 100_000),
    "another learner": at("learner", value={"name": "os:system"}),
    "a learner of a huge name": at("learner", value={"name": "x" * 100_000}),
    "a grid of text": at("grid", value="grid"),
    "a problem that is a list": at("problem", value=["x" * 100_000]),
    "a huge number of replicates": at("replicates", value=10**12),
    "replicates beyond 64 bits": at("replicates", value=10**30),
    "no replicates": at("replicates", value=0),
    "replicates fewer than none": at("replicates", value=-1),
    "replicates of text": at("replicates", value="2"),
    "a state that is a list": at("state", value=[1, 2]),
    "a state that is null": at("state", value=None),
    "fields that are a list": at("state", value={"fields": [1]}),
    "fields that are not there": at("state", value={"fields": {"rng": {"fields": {"x": {"fields": {}}}}}}),
    "a generator that is a function": at("state", "fields", "rng", value={"generator": {"bit_generator": "seed"}}),
    "a generator that there is not": at("state", "fields", "rng", value={"generator": {"bit_generator": "os"}}),
    "a generator of a strange state": at(
        "state", "fields", "rng", value={"generator": {"bit_generator": "PCG64", "state": 1}}
    ),
    "an array of a huge type": array(dtype="S1000000000"),
    "an array of wide text": array(dtype="U1000000000"),
    "an array of bytes": array(dtype="V1000000000"),
    "an array of objects": array(dtype="object"),
    "an array of a type that is code": array(dtype="__import__('os')"),
    "an array of a ragged list": array(array=[[1], [1, 2]]),
    "an array of text": array(array=["x"]),
    "an array of a negative shape": array(array=[], shape=[-1, -1]),
    "an array of a huge shape": array(array=[], shape=[10**9, 10**9]),
    "pending of strange rounds": at("state", "fields", "pending", value={"os": 1}),
}
"""Changes of a saved learner state."""


ADVICE: dict[str, str] = {
    "nothing": "",
    "no JSON": "advice",
    "nested": DEEP,
    "nested by names": '{"format":' * 100_000 + "1" + "}" * 100_000,
    "a list": "[]",
    "null": "null",
    "an object": "{}",
    "a huge number": '{"format": ' + "9" * 100_000 + "}",
    "a huge format": '{"format": "' + "x" * 100_000 + '"}',
    "of the format alone": '{"format": 1}',
    "of strange entries": '{"format": 1, "looks": 7, "advice": 7, "groups": 7, "recommendation": 7}',
    "of an advice elsewhere": '{"format": 1, "looks": [], "advice": "../../escaped"}',
    "of looks that are none": '{"format": 1, "looks": [7, "x"], "advice": "0123456789abcdef"}',
}
"""Texts in the place of report.json, reference.json and monitor.json."""


def sparse(path: Path) -> None:
    """Put a file of a terabyte there, which takes no place on the disk."""
    path.write_text("")
    os.truncate(path, 1 << 40)


def endless(path: Path) -> None:
    """Put a link to endless zeros there."""
    path.symlink_to("/dev/zero")


SETTINGS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: path.write_text(""),
    "text": lambda path: path.write_text("once upon a time"),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe" + bytes(range(256))),
    "NUL": lambda path: path.write_bytes(bytes(5000)),
    "a huge file": lambda path: path.write_text("# " + "x" * (2 << 20)),
    "a sparse file of a terabyte": sparse,
    "lists nested": lambda path: path.write_text(f"a = {DEEP}"),
    "tables nested": lambda path: path.write_text("a = " + "{b = " * 50_000 + "1" + "}" * 50_000),
    "names nested": lambda path: path.write_text("a" + ".a" * 20_000 + " = 1"),
    "headers nested": lambda path: path.write_text("[a" + ".a" * 20_000 + "]"),
    "a huge integer": lambda path: path.write_text(f"a = 1{'0' * 100_000}"),
    "a number beyond 64 bits": lambda path: path.write_text(f"[aims]\ncost = 1{'0' * 400}"),
    "a list of them": lambda path: path.write_text(f"[constraints]\nservice = [1{'0' * 400}, 0.5]"),
    "a share of them": lambda path: path.write_text(f"[data]\nmax_lost = 1{'0' * 400}"),
    "a huge name": lambda path: path.write_text(f"{'x' * 100_000} = 1"),
    "a name twice": lambda path: path.write_text("a = 1\na = 2"),
    "a strange date": lambda path: path.write_text("a = 9999-99-99"),
    "NaN": lambda path: path.write_text("gate = nan\nscores = inf\n"),
    "control characters": lambda path: path.write_text('"\\u001b[2J" = 1'),
    "a lone surrogate": lambda path: path.write_text('a = "\\ud800"'),
    "tables that are values": lambda path: path.write_text("gate = 1\ndata = [1]\nscores = 2\ndatabase = 3"),
    "a pipe": lambda path: os.mkfifo(path),
    "a folder": lambda path: path.mkdir(),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to endless zeros": endless,
    "missing": lambda path: None,
}
"""What may be in the place of gate.toml or policy.toml."""
