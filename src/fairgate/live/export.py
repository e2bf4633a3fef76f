"""Export: the whole log of a gate as one file that can be audited anywhere, and the table of decisions."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fairgate.live.auditing.chunks import chunks, parse
from fairgate.live.auditing.exported import FORMAT, HEAD, SUBJECT, TABLES
from fairgate.live.auditing.log import Log
from fairgate.store.files import whole

ROWS = 50_000
"""Rows of a group of rows."""

MIDNIGHT = (1980, 1, 1, 0, 0, 0)
"""The time that files in the zip have: the same log gives the same bytes."""


def export_log(log: Log, path: Path) -> dict[str, Any]:
    """Write the log to a zip of Parquet files, whole or not at all, and return its head. No secret is in it."""
    head = {"format": FORMAT, "gate": log.facts.gate, "last": log.facts.last, "head": log.facts.head}
    with (
        whole(path, private=True) as unfinished,
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".export-") as folder,
    ):
        tables = tables_of(log)
        sources = {
            "events": _events(log),
            "cases": _cases(log, tables["cases"].names),
            "outcomes": _outcomes(log),
            "overrides": _over(log),
        }
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as packed:
            packed.writestr(zipfile.ZipInfo(HEAD, MIDNIGHT), json.dumps(head, indent=1) + "\n")
            for name, schema in tables.items():
                part = Path(folder) / f"{name}.parquet"
                write_rows(part, schema, sources[name])
                with (
                    part.open("rb") as file,
                    packed.open(zipfile.ZipInfo(part.name, MIDNIGHT), "w", force_zip64=True) as to,
                ):
                    while block := file.read(1 << 20):
                        to.write(block)
                part.unlink()
    return head


def tables_of(log: Log) -> dict[str, pa.Schema]:
    """Return the tables of the file; applications have a subject only in a gate that remembers them."""
    first = next(log.events(), None)
    spec = {} if first is None else parse(first).data.get("spec", {})
    named = isinstance(spec, dict) and spec.get("subjects") is not None
    return TABLES | ({"cases": TABLES["cases"].append(SUBJECT)} if named else {})


def write_rows(path: Path, schema: pa.Schema, parts: Iterator[list[Any]]) -> int:
    """Write columns that come in parts, in groups of rows of even size; return how many rows there were."""
    waiting: list[pa.RecordBatch] = []
    held = written = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for columns in parts:
            arrays = [pa.array(values, type=kind) for values, kind in zip(columns, schema.types, strict=True)]
            waiting.append(pa.record_batch(arrays, schema=schema))
            held += waiting[-1].num_rows
            while held >= ROWS:
                table = pa.Table.from_batches(waiting).combine_chunks()
                writer.write_table(table.slice(0, ROWS))
                waiting, held, written = table.slice(ROWS).to_batches(), held - ROWS, written + ROWS
        writer.write_table(pa.Table.from_batches(waiting, schema=schema))
    return written + held


def _events(log: Log) -> Iterator[list[Any]]:
    for chunk in chunks(log):
        yield [list(each) for each in zip(*(parsed.event for parsed in chunk.events), strict=True)] or [[]] * 9


def _cases(log: Log, names: list[str]) -> Iterator[list[Any]]:
    for first, last, _ in chunks(log):
        yield list(log.cases(first, last))[: len(names)]


def _outcomes(log: Log) -> Iterator[list[Any]]:
    for first, last, _ in chunks(log):
        yield list(log.labels(first, last)[:3])


def _over(log: Log) -> Iterator[list[Any]]:
    for first, last, _ in chunks(log):
        rows = log.overrides(first, last)
        yield [[row[place] for row in rows] for place in range(4)]
