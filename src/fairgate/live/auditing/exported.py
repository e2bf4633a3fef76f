"""Exported: the log of a gate in a zip of Parquet files, audited without the server and without a database."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from reprlib import repr as brief
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from fairgate.live.auditing.log import (
    CaseRows,
    Facts,
    Fault,
    KeyRow,
    LabelRows,
    OverrideRow,
    Whole,
    columns,
    earlier_labels,
)
from fairgate.live.events import Event
from fairgate.live.spec import NAME
from fairgate.reading import check_parquet, opened_zip, parse_json, told, unpack_member

FORMAT = 1
"""Version of the exported file."""

HEAD = "head.json"
SUBJECT = pa.field("subject", pa.string())
"""A further column of cases, if the gate has subjects."""

TABLES = {
    "events": pa.schema(
        [
            ("seq", pa.int64()),
            ("kind", pa.string()),
            ("round", pa.int64()),
            ("body", pa.string()),
            ("at", pa.string()),
            ("actor", pa.string()),
            ("key", pa.string()),
            ("request", pa.string()),
            ("hash", pa.string()),
        ]
    ),
    "cases": pa.schema(
        [
            ("seq", pa.int64()),
            ("place", pa.int64()),
            ("id", pa.string()),
            ("round", pa.int64()),
            ("group", pa.int64()),
            ("score", pa.float64()),
            ("bin", pa.int64()),
            ("draw", pa.float64()),
            ("accepted", pa.int64()),
        ]
    ),
    "outcomes": pa.schema([("seq", pa.int64()), ("id", pa.string()), ("label", pa.int64())]),
    "overrides": pa.schema(
        [("seq", pa.int64()), ("id", pa.string()), ("accepted", pa.int64()), ("reason", pa.string())]
    ),
}
"""The Parquet files and their columns."""


class ExportedLog:
    """The log in a file that ``fairgate live export`` wrote; a context, as it is unpacked into a temporary folder."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.faults: list[Fault] = []
        self._folder = tempfile.TemporaryDirectory(prefix="fairgate-")
        try:
            self._unpack(path, Path(self._folder.name))
        except BaseException:
            self._folder.cleanup()
            raise

    def _unpack(self, path: Path, folder: Path) -> None:
        """Copy the members that a log has, and no others, under names that are not the file's."""
        with told(f"{path} must be a file that fairgate live export wrote"):
            with opened_zip(path) as packed:
                for name in (HEAD, *(f"{table}.parquet" for table in TABLES)):
                    with (folder / name).open("xb") as copy:
                        unpack_member(packed, name, copy)
            self.facts = _facts((folder / HEAD).read_bytes())
            self._files = {name: _opened(folder / f"{name}.parquet", schema) for name, schema in TABLES.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        for each in self._files.values():
            each.close()
        self._folder.cleanup()
        if isinstance(error, (OSError, pa.ArrowException)):  # pages are read when they are needed
            with told(f"{self.name} is damaged"):
                raise error

    def events(self, kind: str | None = None) -> Iterator[Event]:
        """Yield the events in order, or those of one kind."""
        for batch in self._files["events"].iter_batches(2000):
            chosen = batch if kind is None else batch.filter(pc.equal(batch["kind"], kind))
            yield from (Event(*row) for row in zip(*(each.to_pylist() for each in chosen.columns), strict=True))

    def cases(self, first: int, last: int) -> CaseRows:
        """Return the applications of the events from `first` to `last`."""
        table = self._range("cases", first, last)
        if SUBJECT.name not in table.column_names:
            table = table.append_column(SUBJECT, pa.array([""] * table.num_rows, type=SUBJECT.type))
        kinds = {name: {pa.int64(): int, pa.float64(): float}.get(kind, str) for name, kind in _types("cases")}
        kinds[SUBJECT.name] = str
        if any(column.null_count for column in table.columns):
            return CaseRows(*columns([tuple(row.values()) for row in table.to_pylist()], kinds, self.faults))
        order = np.lexsort((table["place"].to_numpy(), table["seq"].to_numpy()))
        table = table if bool((np.diff(order) == 1).all()) else table.take(pa.array(order))
        parts = {name: table[name].to_pylist() if kinds[name] is str else table[name].to_numpy() for name in kinds}
        return CaseRows(*parts.values())

    def labels(self, first: int, last: int) -> LabelRows:
        """Return the labels that these events brought."""
        table = self._labels.filter(_between(self._labels, first, last))
        rows = columns(
            _listed(table.select(["seq", "id", "label"])), {"seq": int, "id": str, "label": int}, self.faults
        )
        if len(rows[0]) < table.num_rows:
            table = table.filter(pc.invert(pc.or_(pc.is_null(table["id"]), pc.is_null(table["label"]))))
        whose = [table[name].to_numpy() for name in ("case", "round", "group", "bin", "accepted")]
        before, since, oldest = earlier_labels(rows[0], rows[1], self._relabelled)
        accepted, aside = whose[-1].copy(), np.zeros(len(rows[0]), dtype=np.int64)
        for place, (event, each) in enumerate(zip(rows[0].tolist(), rows[1], strict=True) if self._overridden else ()):
            person = self._overridden.get(each)
            if person is not None and person[0] < event:
                accepted[place], aside[place] = person[1], 1
        case, rounds, groups, bins = whose[:-1]
        known = (case, rounds, groups, bins, accepted, aside)
        return LabelRows(rows[0], rows[1], rows[2], before, since, oldest, *known)

    def overrides(self, first: int, last: int) -> list[OverrideRow]:
        """Return the decisions that these events overrode."""
        rows = _listed(self._range("overrides", first, last))
        if not rows:
            return []
        whose = self._cases_of(pa.chunked_array([pa.array([row[1] for row in rows], type=pa.string())]))
        known = zip(*(whose[name].tolist() for name in ("seq", "round", "group", "bin", "accepted")), strict=True)
        return [OverrideRow(*row, *case) for row, case in zip(rows, known, strict=True)]

    def snapshots(self) -> list[int]:
        """Return nothing: a file has no stored states, as none is needed."""
        return []

    def snapshot(self, seq: int) -> tuple[str, str]:
        """There is none."""
        raise KeyError(seq)

    def keys(self) -> list[KeyRow] | None:
        """Return None: keys are not exported."""
        return None

    def beyond(self) -> list[Fault]:
        """Return rows that belong to no event: those after the last one, and applications that are there twice."""
        found = []
        for name in TABLES:
            seqs = self._files[name].read(columns=["seq"])["seq"].to_numpy()
            outside = seqs[(seqs > self.facts.last) | (seqs < 1)]
            if outside.size:
                text = f"{outside.size} rows of {name} belong to it, but the gate's last event is {self.facts.last}"
                found.append(Fault(int(outside.min()), text))
        counted = pc.value_counts(self._index["id"].combine_chunks())
        twice = pc.filter(counted.field("values"), pc.greater(counted.field("counts"), 1))
        if len(twice):
            name = twice[0].as_py()
            seqs = pc.filter(self._index["seq"], pc.equal(self._index["id"], name)).to_pylist()
            found.append(Fault(max(seqs), f"the application {name!r} is there twice, in the events {sorted(seqs)}"))
        return found

    def _range(self, name: str, first: int, last: int) -> pa.Table:
        """Return the rows of these events; of the file, only the groups of rows that may have some are read."""
        file = self._files[name]
        groups = []
        for place in range(file.num_row_groups):
            known = file.metadata.row_group(place).column(0).statistics
            if known is None or not known.has_min_max or (known.min <= last and known.max >= first):
                groups.append(place)
        table = self._groups(name, tuple(groups))
        return table.filter(_between(table, first, last))

    @functools.lru_cache(maxsize=8)  # noqa: B019 (it lives as long as the file)
    def _groups(self, name: str, groups: tuple[int, ...]) -> pa.Table:
        return self._files[name].read_row_groups(list(groups)) if groups else TABLES[name].empty_table()

    @functools.cached_property
    def _index(self) -> pa.Table:
        """All applications, without scores and draws: labels are looked up in it."""
        return self._files["cases"].read(columns=["id", "seq", "round", "group", "bin", "accepted"])

    @functools.cached_property
    def _labels(self) -> pa.Table:
        """All labels in the order of events and ids, each with its case: looked up at once, in memory."""
        table = self._files["outcomes"].read().sort_by([("seq", "ascending"), ("id", "ascending")])
        for name, values in self._cases_of(table["id"]).items():
            table = table.append_column("case" if name == "seq" else name, pa.array(values))
        return table

    def _cases_of(self, ids: pa.ChunkedArray) -> dict[str, Whole]:
        """Return the columns of the cases of these ids, −1 where there is none."""
        found = self._index.take(pc.index_in(ids, value_set=self._index["id"].combine_chunks()))
        names = ("seq", "round", "group", "bin", "accepted")
        return {name: pc.fill_null(found[name], -1).to_numpy().astype(np.int64) for name in names}

    @functools.cached_property
    def _overridden(self) -> dict[str, tuple[int, int]]:
        rows = self._files["overrides"].read(columns=["id", "seq", "accepted"]).to_pylist()
        return {row["id"]: (row["seq"], row["accepted"]) for row in rows}

    @functools.cached_property
    def _relabelled(self) -> dict[str, list[tuple[int, int]]]:
        """Labels of applications that have more than one, which are few."""
        table = self._files["outcomes"].read()
        counted = pc.value_counts(table["id"].combine_chunks())
        often = pc.filter(counted.field("values"), pc.greater(counted.field("counts"), 1))
        found: dict[str, list[tuple[int, int]]] = {}
        for row in table.filter(pc.is_in(table["id"], value_set=often)).sort_by("seq").to_pylist():
            found.setdefault(row["id"], []).append((row["seq"], row["label"]))
        return found


def _facts(head: bytes) -> Facts:
    plain = parse_json(head)
    if not isinstance(plain, dict):
        raise ValueError(f"{HEAD} is no table of names and values")
    if plain["format"] != FORMAT:
        raise ValueError(f"it has the format {brief(plain['format'])}, and this version reads {FORMAT}")
    gate, last, own = plain["gate"], plain["last"], plain["head"]
    if not isinstance(gate, str) or not re.fullmatch(NAME, gate):
        raise ValueError(f"gate in {HEAD} must be the name of a gate, got {brief(gate)}")
    if type(last) is not int or not 1 <= last < 1 << 63:
        raise ValueError(f"last in {HEAD} must be the number of an event, got {brief(last)}")
    if not isinstance(own, str) or not re.fullmatch("[0-9a-f]{64}", own):
        raise ValueError(f"head in {HEAD} must be the hash of an event, got {brief(own)}")
    return Facts(gate, last, own, None, None)


def _opened(path: Path, schema: pa.Schema) -> pq.ParquetFile:
    """Open a table of the log, which must have its columns; what it declares is checked before any row is read."""
    file = pq.ParquetFile(path)
    found = file.schema_arrow
    if path.stem == "cases" and found.names[-1:] == [SUBJECT.name]:
        schema = schema.append(SUBJECT)
    if found.names != schema.names:
        raise ValueError(f"the columns of {path.name} are {brief(found.names)}")
    wrong = [each.name for each in schema if found.field(each.name).type != each.type]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{name} in {path.name} is of {brief(str(found.field(name).type))}, not {schema.field(name).type}"
        )
    check_parquet(file, path.stat().st_size)
    return file


def _between(table: pa.Table, first: int, last: int) -> pa.ChunkedArray:
    return pc.and_(pc.greater_equal(table["seq"], first), pc.less_equal(table["seq"], last))


def _listed(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)) if table.num_rows else []


def _types(name: str) -> list[tuple[str, pa.DataType]]:
    return list(zip(TABLES[name].names, TABLES[name].types, strict=True))
