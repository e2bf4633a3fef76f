"""Sources: where a table of people comes from, a file, a query or a data frame; only the columns needed are read."""

from __future__ import annotations

import csv
import io
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairgate.errors import InputError
from fairgate.people.values import word

BATCH = 1 << 17
"""Rows read at a time."""


@dataclass
class Source:
    """A table that can be read in batches."""

    name: str  # what messages call it
    columns: Sequence[str]
    batches: Callable[[list[str]], Iterable[Any]]  # takes names of columns, returns record batches of Arrow
    failure: str  # what messages say if they cannot be read
    malformed: list[int] = field(default_factory=lambda: [0])  # lines left out, known when everything has been read
    lines: Callable[[], int] = lambda: 0  # lines of a text file that are not blank

    def read(self, wanted: list[str]) -> Iterator[Any]:
        """Yield record batches that have these columns."""
        with _told(self.failure):
            yield from self.batches(wanted)


DATABASES = (".duckdb", ".ddb")
"""Endings of files that a query may be put to."""

Reader = Callable[[Path], Any]
"""Takes a file and returns a :class:`Source`, or a table of pandas, polars or pyarrow."""

READERS: dict[str, Reader] = {}
"""How a file is read, by its ending."""


def register(ending: str, reader: Reader) -> None:
    """Have files of an ending, such as ``".jsonl"``, read by a function that takes the path and returns a table.

    >>> import pyarrow.json
    >>> register(".jsonl", pyarrow.json.read_json)
    """
    if not ending.startswith("."):
        raise InputError(f"ending must start with a dot, such as '.jsonl', got {ending!r}")
    READERS[ending.lower()] = reader


def open_source(file: Path | None, query: str | None = None, reader: Reader | None = None) -> Source:
    """Open a file by its ending or with a `reader`, or the outcome of an SQL query for DuckDB.

    The query may name files, as in ``select * from 'applicants.parquet'``; a `file` beside it is a database.
    """
    if file is None:
        if query is None:
            raise InputError("there is no table: name a file such as applicants.csv, or give a query (--query)")
        return _duckdb(None, query)
    try:
        found = file.stat()
    except OSError as error:
        why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be opened ({error.strerror})"
        raise InputError(f"file {str(file)!r} {why}: name a table such as applicants.csv") from None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"file {str(file)!r} is a folder, not a file: name a table such as applicants.csv")
    ending = max((each for each in READERS if file.name.lower().endswith(each)), key=len, default="")
    if query is not None:
        if ending not in DATABASES:
            raise InputError(
                f"file {str(file)!r} cannot be used together with a query: name it in the query, as in "
                f"select * from '{file}', or give a .duckdb database"
            )
        return _duckdb(file, query)
    if reader is not None:
        return _read_by(reader, file)
    if not ending:
        kinds, got = ", ".join(READERS), repr(file.suffix or "no ending")
        raise InputError(f"file {str(file)!r} must end in one of {kinds}, got {got}")
    return _read_by(READERS[ending], file)


def _read_by(reader: Reader, file: Path) -> Source:
    with _told(f"file {str(file)!r} cannot be read"):
        found = reader(file)
    return found if isinstance(found, Source) else replace(frame_source(found), name=str(file))


def frame_source(frame: Any) -> Source:
    """Turn a data frame into a source of batches."""
    import narwhals as nw

    if hasattr(frame, "iloc"):  # pandas allows a name twice, narwhals does not
        repeated = [str(name) for name in frame.columns[frame.columns.duplicated()]]
        if repeated:
            raise InputError(f"the column {repeated[0]!r} is in the table more than once: rename all but one")
    try:
        table = nw.from_native(frame)
        table.collect_schema()
    except (TypeError, AttributeError):
        raise InputError(f"frame must be a table of pandas, polars or pyarrow, got {type(frame).__name__}") from None
    columns = [name for name in table.collect_schema().names() if isinstance(name, str)]

    def batches(wanted: list[str]) -> Any:
        import pyarrow as pa

        chosen = table.select(*wanted)
        eager = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
        return pa.table({name: _column(eager[name]) for name in wanted}).to_batches(BATCH)

    name = f"the table of {type(frame).__module__.partition('.')[0]}"
    return Source(name, columns, batches, f"{name} cannot be read")


def _column(series: Any) -> Any:
    """Return a column as Arrow has it; objects of several types become words."""
    import pyarrow as pa

    try:
        return series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([word(value) for value in series.to_list()], pa.string())


def _csv(file: Path) -> Source:
    """Every column is read as text, so that no row far down can surprise by its type."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

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


def _parquet(file: Path) -> Source:
    import pyarrow.parquet as pq

    failure = f"file {str(file)!r} cannot be read as Parquet"
    with _told(failure):
        table = pq.ParquetFile(file)

    def batches(wanted: list[str]) -> Any:
        return table.iter_batches(BATCH, columns=wanted, use_threads=False)

    return Source(str(file), table.schema_arrow.names, batches, failure)


def _arrow(file: Path) -> Source:
    import pyarrow as pa

    failure = f"file {str(file)!r} cannot be read as Arrow or Feather"
    with _told(failure):
        reader = pa.ipc.open_file(pa.memory_map(str(file)))

    def batches(wanted: list[str]) -> Any:
        return (reader.get_batch(place).select(wanted) for place in range(reader.num_record_batches))

    return Source(str(file), reader.schema.names, batches, failure)


def _duckdb(file: Path | None, query: str | None = None) -> Source:
    try:
        import duckdb
    except ImportError:
        raise InputError("a query needs DuckDB, which is not installed: pip install 'fairgate[tables]'") from None

    name = f"query {query!r}" if query is not None else f"file {str(file)!r}"
    failure = f"{name} cannot be run by DuckDB"
    with _told(failure):
        connection = duckdb.connect(str(file), read_only=True) if file is not None else duckdb.connect()
        if query is None:
            tables = [row[0] for row in connection.execute("select table_name from duckdb_tables()").fetchall()]
            if len(tables) != 1:
                listed = ", ".join(sorted(tables)) or "none"
                raise InputError(f"{name} needs a query (--query) that says which table; its tables: {listed}")
            query = f'select * from "{tables[0]}"'
        relation = connection.sql(query)
        if relation is None:
            raise InputError(f"{name} must be a select that returns a table, and returns nothing")
        columns = list(relation.columns)

    def batches(wanted: list[str]) -> Any:
        chosen = relation.project(", ".join('"' + column.replace('"', '""') + '"' for column in wanted))
        newer = hasattr(chosen, "to_arrow_reader")  # which of the two there is depends on the version
        return (chosen.to_arrow_reader if newer else chosen.fetch_record_batch)(BATCH)

    return Source(name, columns, batches, failure)


@contextmanager
def _told(failure: str) -> Iterator[None]:
    """Turn what a library, or a reader of the user's own, raises into one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"{failure}: {said}") from error


for _reader, _endings in (
    (_csv, (".csv", ".tsv", ".csv.gz", ".tsv.gz")),
    (_parquet, (".parquet",)),
    (_arrow, (".arrow", ".feather", ".ipc")),
    (_duckdb, DATABASES),
):
    for _ending in _endings:
        register(_ending, _reader)
