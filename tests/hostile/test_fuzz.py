"""Any change of a valid file gives a result or one sentence; FAIRGATE_FUZZ=2000 tries more of them."""

from __future__ import annotations

import copy
import io
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fairgate as fg
from fairgate.advice.monitor import monitor
from fairgate.live.audit import audit_log, stored_log
from fairgate.live.config import parse_config
from fairgate.live.database import connect
from fairgate.live.failures import UnavailableError
from tests.hostile.saved import table_of, written
from tests.hostile.tables import arrow
from tests.hostile.valid import CONFIG, LONGEST, Valid, no_traceback, people
from tests.hostile.zips import packed, parts_of
from tests.people.excel import write_excel

EXAMPLES = int(os.environ.get("FAIRGATE_FUZZ", "12"))
"""Changes of each file that are tried."""

few = settings(
    max_examples=EXAMPLES,
    derandomize=EXAMPLES < 1000,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)

places = st.floats(0.0, 1.0, exclude_max=True)
ends = st.floats(0.9, 1.0, exclude_max=True)  # where footers are
edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "flip", "put", "cut", "remove", "repeat"]), places | ends, st.binary(max_size=9)
    ),
    min_size=1,
    max_size=4,
)
odd = st.one_of(
    st.sampled_from([None, True, -1, 0, 1, 2, 10**30, -(10**400), 1e308, float("nan"), float("inf"), 0.5]),
    st.sampled_from(["", "x", "\ud800", "\x1b[2J", "os:system", "nan", "1e999", "0.1:0.2", "x" * 5000]),
    st.sampled_from([[], {}, [[]], [None], [[1, 2], [3]], {"fields": {}}, {"array": [1], "dtype": "O"}, [0] * 2000]),
)
swaps = st.lists(st.tuples(st.lists(places, min_size=1, max_size=7), odd, st.booleans()), min_size=1, max_size=3)


def edited(content: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    """Return a file with some of its bytes changed."""
    made = bytearray(content)
    for kind, share, value in changes:
        place = int(share * len(made))
        if kind == "flip":
            made[place : place + 1] = bytes(each ^ (value[0] if value else 1) for each in made[place : place + 1])
        elif kind == "put":
            made[place : place + len(value)] = value
        elif kind == "cut":
            del made[place:]
        elif kind == "remove":
            del made[place : place + 4 * len(value)]
        else:
            made[place:place] = made[place : place + 16 * len(value)]
    return bytes(made)


def swapped(plain: Any, changes: list[tuple[list[float], Any, bool]]) -> Any:
    """Return plain data with some of its values, or names, replaced by odd ones."""
    made = copy.deepcopy(plain)
    for path, value, remove in changes:
        found = made
        for depth, share in enumerate(path):
            keys: list[Any] = list(found) if isinstance(found, dict) else list(range(len(found)))
            if not keys:
                break
            key = keys[int(share * len(keys))]
            if depth == len(path) - 1 or not isinstance(found[key], (dict, list)):
                if remove:
                    del found[key]
                else:
                    found[key] = copy.deepcopy(value)
                break
            found = found[key]
    return made


def gives_a_result_or_a_sentence(use: Callable[[], Any]) -> None:
    """Check that nothing else comes of it."""
    try:
        with no_traceback():
            use()
    except fg.InputError as error:
        said = str(error)
        assert len(said.splitlines()) <= 1
        assert len(said) <= 20 * LONGEST


def written_to(name: str, content: bytes, use: Callable[[Path], Any]) -> None:
    """Use a file that has these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        gives_a_result_or_a_sentence(lambda: use(path))
        assert [each.name for each in path.parent.iterdir()] == [name]


@few
@given(changes=edits)
def test_an_export(valid: Valid, changes: list[tuple[str, float, bytes]]) -> None:
    written_to("evil.zip", edited(valid.bytes("credit.zip"), changes), audit_log)


@few
@given(changes=edits, name=st.sampled_from(["events", "cases", "outcomes", "overrides"]))
def test_a_table_of_an_export(valid: Valid, name: str, changes: list[tuple[str, float, bytes]]) -> None:
    parts = parts_of(valid.bytes("credit.zip"))
    parts[f"{name}.parquet"] = edited(parts[f"{name}.parquet"], changes)
    written_to("evil.zip", packed(parts), audit_log)


@few
@given(changes=swaps, place=places, column=st.sampled_from(["body", "kind", "seq", "at", "actor", "round"]))
def test_events_of_an_export(
    valid: Valid, changes: list[tuple[list[float], Any, bool]], place: float, column: str
) -> None:
    """The hash of the event is wrong then, and whatever it says is read nevertheless."""
    import pyarrow.parquet as pq

    parts = parts_of(valid.bytes("credit.zip"))
    table = pq.read_table(io.BytesIO(parts["events.parquet"]))
    values = table[column].to_pylist()
    at = int(place * len(values))
    if column == "body":
        values[at] = json.dumps(swapped(json.loads(values[at]), changes))
    elif column in ("seq", "round"):
        values[at] = {0: None, 1: -1, 2: 1 << 62}[at % 3]
    else:
        values[at] = {0: None, 1: "x" * 5000, 2: "closed"}[at % 3]
    made = io.BytesIO()
    index = table.column_names.index(column)
    pq.write_table(
        table.set_column(index, table.schema.field(index), pa.array(values, table.schema.types[index])), made
    )
    written_to("evil.zip", packed(parts | {"events.parquet": made.getvalue()}), audit_log)


def kinds_of_tables() -> dict[str, bytes]:
    """Return the same people in every kind of file."""
    table, made, book = people(60), io.BytesIO(), io.BytesIO()
    import pyarrow.csv
    import pyarrow.parquet as pq

    pq.write_table(table, made)
    rows = [list(table.column_names), *(list(row.values()) for row in table.to_pylist())]
    write_excel(book, ("people", rows))
    text = io.BytesIO()
    pyarrow.csv.write_csv(table, text)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()
    files = {"parquet": made.getvalue(), "arrow": arrow(table)[1], "csv": text.getvalue(), "jsonl": lines}
    return files | {"xlsx": book.getvalue(), "zip": packed({"people.csv": text.getvalue()})}


FILES = kinds_of_tables()


@pytest.mark.parametrize("kind", FILES)
def test_a_table(kind: str) -> None:
    @few
    @given(changes=edits)
    def check(changes: list[tuple[str, float, bytes]]) -> None:
        def use(path: Path) -> Any:
            return fg.from_file(path, score="score", label="paid", group="sex", decision="taken")

        written_to(f"evil.{kind}", edited(FILES[kind], changes), use)

    check()


@pytest.mark.parametrize(("name", "load"), [("run.parquet", fg.Run.load), ("sweep.parquet", fg.Sweep.load)])
def test_a_saved_table(valid: Valid, name: str, load: Callable[[Path], Any]) -> None:
    content = valid.bytes(name)
    table, header = table_of(content)

    @few
    @given(changes=edits, values=swaps)
    def check(changes: list[tuple[str, float, bytes]], values: list[tuple[list[float], Any, bool]]) -> None:
        written_to(name, edited(content, changes), load)
        written_to(name, written(table, json.dumps(swapped(header, values))), load)

    check()


@pytest.mark.parametrize("name", ["ofs", "safe-forecast", "mixture"])
def test_a_learner_state(name: str) -> None:
    setting, learner = fg.load_task("interior").setting, fg.load_learner(name)
    plain = json.loads(json.dumps(learner.save(learner.start(setting, 2, np.random.default_rng(0)))))

    @few
    @given(values=swaps)
    def check(values: list[tuple[list[float], Any, bool]]) -> None:
        gives_a_result_or_a_sentence(lambda: learner.load(swapped(plain, values), setting))

    check()


@few
@given(changes=edits)
def test_a_gates_file(changes: list[tuple[str, float, bytes]]) -> None:
    text = edited(CONFIG.encode(), changes).decode("utf-8", errors="replace")
    gives_a_result_or_a_sentence(lambda: parse_config(text, Path("gate.toml")))


@few
@given(values=swaps, name=st.sampled_from(["report.json", "reference.json"]))
def test_an_advice(valid: Valid, values: list[tuple[list[float], Any, bool]], name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for each in ("report.json", "reference.json"):
            plain = json.loads(valid.bytes(f"advice/{each}"))
            (Path(folder) / each).write_text(json.dumps(swapped(plain, values) if each == name else plain))
        gives_a_result_or_a_sentence(lambda: monitor(valid.folder / "people.parquet", folder))


@few
@given(changes=edits)
def test_a_database(valid: Valid, changes: list[tuple[str, float, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gate.db"
        path.write_bytes(edited(valid.bytes("gate.db"), changes))
        engine = connect(str(path))

        def use() -> None:
            try:
                with stored_log(engine, "credit") as log:
                    audit_log(log)
            except UnavailableError:  # a sentence, too
                pass
            finally:
                engine.dispose()

        gives_a_result_or_a_sentence(use)
