"""Text files: CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairgate.errors import InputError
from fairgate.people.sources import BATCH, Source, register
from fairgate.people.values import word
from fairgate.reading import LEVELS, check_length, most_of, parse_json, told

QUOTED = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
"""A text in JSON."""

NULL = re.compile(rb"(?:\A|[\r\n])(?:\xef\xbb\xbf)?[ \t]*n")
"""A line that is null."""

STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""One level down, and one up."""

NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


def _csv(file: Path) -> Source:
    """Every column is read as text, so that no row far down can surprise by its type."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with told(f"file {str(file)!r} cannot be read as CSV"):
        _check_unpacked(file)
        with pa.input_stream(str(file)) as stream:
            head = stream.read(1 << 20)
    try:
        text = head.decode("utf-8-sig", errors="strict" if len(head) < 1 << 20 else "ignore")
    except UnicodeDecodeError:
        raise InputError(f"file {str(file)!r} must be text in UTF-8, and is not: save it as CSV in UTF-8") from None
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(",;\t|", key=first.count)
    columns = next(csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter), [])
    if not first:
        raise InputError(f"file {str(file)!r} is empty: it must have a line of column names and one row per person")

    malformed = [0]

    def skip(row: Any) -> str:
        malformed[0] += 1
        return "skip"

    def batches(wanted: list[str]) -> Any:
        # Not open_csv, whose threads could still hold `skip` when the interpreter ends.
        table = arrow_csv.read_csv(
            str(file),
            read_options=arrow_csv.ReadOptions(use_threads=False, block_size=1 << 23),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                strings_can_be_null=True,
                null_values=[""],  # what else means that there is no value is the same for every kind of file
            ),
        )
        return table.to_batches(BATCH)

    def lines() -> int:
        """Count lines that are not blank, whatever ends them."""
        count, rest = 0, b""
        with pa.input_stream(str(file)) as stream:
            while block := stream.read(1 << 24):
                *whole, rest = (rest + block).replace(b"\r", b"\n").split(b"\n")
                count += sum(map(bool, whole))
        return count + bool(rest)

    return Source(str(file), columns, batches, f"file {str(file)!r} cannot be read as CSV", malformed, lines)


def _json_lines(file: Path) -> Source:
    """Arrow reads lines of one shape quickly; Python reads those with mixed types or bad lines."""
    import pyarrow as pa
    from pyarrow import json as arrow_json

    failure = f"file {str(file)!r} cannot be read as JSON lines"
    malformed = [0]
    with told(failure):
        _check_unpacked(file)
        if not _some_text(file):
            raise InputError(f"file {str(file)!r} is empty: it must have one JSON object per person")
        try:
            if _ends_arrow(file):
                raise pa.ArrowInvalid("Arrow would end the process")
            table = arrow_json.read_json(str(file), arrow_json.ReadOptions(use_threads=False, block_size=1 << 23))
            repeated = len(set(table.column_names)) < len(table.column_names)
        except pa.ArrowInvalid:
            repeated = True
        if repeated:
            table = _read_objects(file, malformed)

    def batches(wanted: list[str]) -> Any:
        return table.select(wanted).to_batches(BATCH)

    return Source(str(file), table.column_names, batches, failure, malformed)


def _ends_arrow(file: Path) -> bool:
    """Whether the reader of Arrow would end the process: lists and objects are nested too deeply, or a line is null.

    What stands between quotes does not count. Where each line begins and ends an object, to count brackets is
    enough.
    """
    import pyarrow as pa

    level, rest, more = 0, b"\n", True
    with pa.input_stream(str(file)) as stream:
        while more:
            block = stream.read(1 << 23)
            more = bool(block)
            whole, rest = (rest + block).rpartition(b"\n")[::2] if more else (rest, b"")
            if NULL.search(whole):
                return True
            if level == 0 and _is_plain(whole):
                continue
            steps = np.frombuffer(QUOTED.sub(b"", whole).translate(STEPS, NO_BRACKETS), dtype=np.int8)
            levels = level + np.cumsum(steps, dtype=np.int64)
            if levels.max(initial=0) > LEVELS:
                return True
            level = max(int(levels[-1]), 0) if levels.size else level
    return False


def _is_plain(lines: bytes) -> bool:
    """Whether each line begins with { and ends with }, so that none goes on with another, and has few brackets."""
    found = np.frombuffer(b"\n" + lines.replace(b"\r\n", b"\n") + b"\n", dtype=np.uint8)
    ends = np.flatnonzero(found == ord("\n"))
    first, last = found[ends[:-1] + 1], found[ends[1:] - 1]
    opened = np.flatnonzero((found == ord("{")) | (found == ord("[")))
    whole = ((first == ord("{")) & (last == ord("}"))) | (first == ord("\n"))
    return bool(whole.all() and (np.diff(np.searchsorted(opened, ends)) <= LEVELS).all())


def _some_text(file: Path) -> bool:
    import pyarrow as pa

    with pa.input_stream(str(file)) as stream:
        return bool(stream.read(1 << 20).strip())


def _read_objects(file: Path, malformed: list[int]) -> Any:
    """Read one object per line, every value as a word; what is not an object is counted as malformed."""
    import pyarrow as pa

    objects = []
    for line in _lines_of(file):
        try:
            value = parse_json(line)
        except ValueError:
            value = None
        if isinstance(value, dict):
            objects.append({name: word(each) for name, each in value.items()})
        else:
            malformed[0] += 1
    names = list(dict.fromkeys(name for each in objects for name in each))
    if not names:
        raise InputError(f'file {str(file)!r} has no line that is a JSON object such as {{"score": 0.5}}')
    return pa.table({name: pa.array([each.get(name) for each in objects], pa.string()) for name in names})


def _lines_of(file: Path) -> Iterator[str]:
    import pyarrow as pa

    with pa.input_stream(str(file)) as stream, io.TextIOWrapper(stream, "utf-8-sig", errors="replace") as text:
        yield from (line for line in text if line.strip())


def _check_unpacked(file: Path) -> None:
    """Refuse a file that gzip packed and that becomes too long; Arrow, which unpacks it again, would not stop."""
    import pyarrow as pa

    if file.name.lower().endswith(".gz"):
        with pa.input_stream(str(file)) as stream:
            check_length(stream, most_of(file.stat().st_size))


for _ending in (".csv", ".tsv", ".csv.gz", ".tsv.gz"):
    register(_ending, _csv)
for _ending in (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"):
    register(_ending, _json_lines)
