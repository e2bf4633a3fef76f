"""Binary files: Parquet, Arrow, Excel and DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairgate.errors import InputError
from fairgate.people.sources import BATCH, DATABASES, QUERIES, Source, register
from fairgate.people.values import word
from fairgate.people.workbooks import check_workbook, panics_told
from fairgate.reading import check_parquet, check_rows, told


def _parquet(file: Path) -> Source:
    import pyarrow.parquet as pq

    failure = f"file {str(file)!r} cannot be read as Parquet"
    with told(failure):
        table = pq.ParquetFile(file)
        check_parquet(table, file.stat().st_size)

    def batches(wanted: list[str]) -> Any:
        return table.iter_batches(BATCH, columns=wanted, use_threads=False)

    return Source(str(file), table.schema_arrow.names, batches, failure)


def _arrow(file: Path) -> Source:
    import pyarrow as pa

    failure = f"file {str(file)!r} cannot be read as Arrow or Feather"
    with told(failure):
        reader = pa.ipc.open_file(pa.memory_map(str(file)))
        size = file.stat().st_size

    def batches(wanted: list[str]) -> Any:
        rows = []
        for place in range(reader.num_record_batches):
            batch = reader.get_batch(place).select(wanted)
            rows.append(batch.num_rows)
            check_rows(rows, size)
            batch.validate(full=True)  # its buffers may end before its rows do
            yield batch

    return Source(str(file), reader.schema.names, batches, failure)


def _duckdb(file: Path | None, query: str | None = None) -> Source:
    try:
        import duckdb
    except ImportError:
        raise InputError("a query needs DuckDB, which is not installed: pip install 'fairgate[tables]'") from None

    name = f"query {query!r}" if query is not None else f"file {str(file)!r}"
    failure = f"{name} cannot be run by DuckDB"
    with told(failure):
        if file is None:
            connection = duckdb.connect()
        elif query is None:  # all that is run comes from the file then, whose names may be a stranger's
            connection = duckdb.connect(str(file), read_only=True, config={"enable_external_access": "false"})
        else:
            connection = duckdb.connect(str(file), read_only=True)
        if query is None:
            tables = [row[0] for row in connection.execute("select table_name from duckdb_tables()").fetchall()]
            if len(tables) != 1:
                listed = ", ".join(sorted(tables)) or "none"
                raise InputError(f"{name} needs a query (--query) that says which table; its tables: {listed}")
            query = 'select * from "{}"'.format(tables[0].replace('"', '""'))
        relation = connection.sql(query)
        if relation is None:
            raise InputError(f"{name} must be a select that returns a table, and returns nothing")
        columns = list(relation.columns)

    def batches(wanted: list[str]) -> Any:
        chosen = relation.project(", ".join('"' + column.replace('"', '""') + '"' for column in wanted))
        newer = hasattr(chosen, "to_arrow_reader")  # which of the two there is depends on the version
        return (chosen.to_arrow_reader if newer else chosen.fetch_record_batch)(BATCH)

    return Source(name, columns, batches, failure)


def _excel(file: Path) -> Source:
    """The first sheet that has anything on it; its first row has the names."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise InputError(
            "an Excel file needs python-calamine, which is not installed: pip install 'fairgate[tables]', or save the "
            "table as CSV"
        ) from None

    failure = f"file {str(file)!r} cannot be read as Excel"
    with told(failure):
        check_workbook(file)
    with told(failure), panics_told(), CalamineWorkbook.from_path(str(file)) as book:
        sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
        filled = [sheet for sheet in sheets if sheet.height]
        if not filled:
            raise InputError(f"file {str(file)!r} is empty: it must have a row of column names and one row per person")
        sheet, others = filled[0].name, len(filled) - 1
        header, *rows = filled[0].to_python()
    notes = (f"The workbook has {others + 1} sheets: the first, {sheet!r}, was read.",) if others else ()
    names = [str(name).strip() for name in header]

    def batches(wanted: list[str]) -> Any:
        import pyarrow as pa

        places = [names.index(name) for name in wanted]
        filled = [row for row in rows if any(cell != "" for cell in row)]
        for start in range(0, len(filled), BATCH):
            part = filled[start : start + BATCH]
            yield pa.record_batch([_cells([row[place] for row in part]) for place in places], wanted)

    return Source(str(file), names, batches, failure, notes=notes)


def _cells(values: list[Any]) -> Any:
    """Return cells of a sheet as Arrow has them: numbers as numbers, else as words."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value != ""}
    if kinds and kinds <= {int, float}:
        return pa.array([None if value == "" else float(value) for value in values], pa.float64())
    return pa.array([word(value) for value in values], pa.string())


register(".parquet", _parquet)
for _ending in (".arrow", ".feather", ".ipc"):
    register(_ending, _arrow)
for _ending in (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"):
    register(_ending, _excel)
for _ending in DATABASES:
    register(_ending, _duckdb)
QUERIES.append(_duckdb)
