"""Sources: where a table of people comes from, a file, a query or a data frame; only the columns needed are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairgate.errors import InputError
from fairgate.people.values import word
from fairgate.reading import COLUMNS, check_plain, told

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
    notes: tuple[str, ...] = ()  # what is worth saying about how it is read
    close: Callable[[], None] = lambda: None  # to be called when everything has been read

    def read(self, wanted: list[str]) -> Iterator[Any]:
        """Yield record batches that have these columns."""
        with told(self.failure):
            yield from self.batches(wanted)


DATABASES = (".duckdb", ".ddb")
"""Endings of files that a query may be put to."""

Reader = Callable[[Path], Any]
"""Takes a file and returns a :class:`Source`, or a table of pandas, polars or pyarrow."""

READERS: dict[str, Reader] = {}
"""How a file is read, by its ending."""


def register(ending: str, reader: Reader) -> None:
    """Have files of an ending, such as ``".orc"``, read by a function that takes the path and returns a table.

    >>> import pyarrow.orc
    >>> register(".orc", pyarrow.orc.read_table)
    """
    if not ending.startswith("."):
        raise InputError(f"ending must start with a dot, such as '.orc', got {ending!r}")
    READERS[ending.lower()] = reader


QUERIES: list[Callable[[Path | None, str | None], Source]] = []
"""What a query is put to, if it is installed."""

ADDRESS = re.compile(
    r"(?:^|[\\/])((?:https?|s3a?|gs|gcs|abfss?|az|wasbs?|ftp|sftp|hdfs|dbfs|file):[\\/].*)", re.IGNORECASE
)
"""An address of something that is not a file here, also where a path has made one slash of two."""


def open_source(file: str | Path | None, query: str | None = None, reader: Reader | None = None) -> Source:
    """Open a file by its ending or with a `reader`, or the outcome of an SQL query for DuckDB.

    The query may name files, as in ``select * from 'applicants.parquet'``; a `file` beside it is a database. The file
    ``-`` is standard input.
    """
    if file is None:
        if query is None:
            raise InputError("there is no table: name a file such as applicants.csv, or give a query (--query)")
        return QUERIES[0](None, query)
    if str(file) == "-" and query is None:
        return read_by(READERS["-"] if reader is None else reader, Path("-"))
    path = Path(file)
    _check_file(path, str(file))
    ending = ending_of(path.name)
    if query is not None:
        if ending not in DATABASES:
            raise InputError(
                f"file {str(file)!r} cannot be used together with a query: name it in the query, as in "
                f"select * from '{file}', or give a .duckdb database"
            )
        return QUERIES[0](path, query)
    if reader is not None:
        return read_by(reader, path)
    if not ending:
        kinds = ", ".join(sorted(set(READERS) - {"-"}, key=lambda each: (each != ".csv", each)))
        got = repr(path.suffix or "no ending")
        raise InputError(f"file {str(file)!r} must end in one of {kinds}, got {got}")
    return read_by(READERS[ending], path)


def ending_of(name: str) -> str:
    """Return the longest ending of a file's name that can be read; nothing if there is none."""
    return max((each for each in READERS if each != "-" and name.lower().endswith(each)), key=len, default="")


def _check_file(path: Path, name: str) -> None:
    """Say so if there is no such file, or if it is an address."""
    try:
        check_plain(path)
    except OSError as error:
        address = ADDRESS.search(name)
        if address:
            local = (
                "leave out file://" if address[1].lower().startswith("file:") else "download it first and name the file"
            )
            raise InputError(
                f"file {name!r} is an address, and tables are read from this machine only: {local}, or pipe it in "
                "(… | fairgate advise -)"
            ) from None
        why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be opened ({error.strerror})"
        why = "is a folder, not a file" if isinstance(error, IsADirectoryError) else why
        raise InputError(f"file {name!r} {why}: name a table such as applicants.csv") from None


def read_by(reader: Reader, file: Path) -> Source:
    """Read a file with a function that returns a source, or a data frame."""
    with told(f"file {str(file)!r} cannot be read"):
        found = reader(file)
    source = found if isinstance(found, Source) else replace(frame_source(found), name=str(file))
    if len(source.columns) > COLUMNS:
        source.close()
        raise InputError(f"file {str(file)!r} has {len(source.columns)} columns, and at most {COLUMNS} are read")
    return source


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
