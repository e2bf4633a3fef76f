"""Files that are whole or not there, a folder checked before the work starts, and data for JSON."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from numpy.typing import ArrayLike, NDArray

from fairgate.errors import InputError
from fairgate.reading import check_parquet, check_plain, parse_json, told

HEADER = "fairgate"
"""Key under which a Parquet file's metadata holds its header."""


def prepare_folder(folder: Path, name: str = "--out") -> None:
    """Make `folder`, called `name` by the user, and try to write in it: else a long run would be lost at its end."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{name} {folder} must be a folder one can write to: {error.strerror or error}") from None


@contextmanager
def whole(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a place beside `path` to write to, and move what is there to `path`: no interruption leaves half a file.

    Only its owner can read a `private` file, also while it is written.
    """
    unfinished = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")  # nobody else writes there
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if private:
            unfinished.touch(mode=0o600, exist_ok=False)
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with whole(path) as unfinished:
        unfinished.write_bytes(content)


def write_table(path: Path, columns: Mapping[str, ArrayLike], header: Mapping[str, Any] | None = None) -> None:
    """Write columns as a Parquet file, whole or not at all, with a header of plain data in the file's metadata."""
    write_bytes(path, table_bytes(columns, header))


def table_bytes(columns: Mapping[str, ArrayLike], header: Mapping[str, Any] | None = None) -> bytes:
    """Return the contents of the file that :func:`write_table` writes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(dict(columns))
    if header is not None:
        table = table.replace_schema_metadata({HEADER: json.dumps(header)})
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    return content.getvalue()


def read_table(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read the columns and the header that :func:`write_table` wrote; a table without a header has an empty one."""
    import pyarrow.parquet as pq

    size = check_plain(path)
    with pq.ParquetFile(path) as file:
        check_parquet(file, size)
        header = parse_json((file.schema_arrow.metadata or {}).get(HEADER.encode(), b"{}"))
        table = file.read()
    if not isinstance(header, dict) or len(set(table.column_names)) < table.num_columns:
        raise ValueError("its header is no object, or a column is there twice")
    return {name: table[name].to_numpy() for name in table.column_names}, header


def read_saved(path: Path, noun: str, version: int, needs: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what was saved as a `noun` in this version of its format; refuse what has another, or no `needs`."""
    if not path.exists():
        raise InputError(f"{path} is no saved {noun}: there is no such file")
    with told(f"{path} is no saved {noun}"):
        columns, header = read_table(path)
    if needs not in header:
        raise InputError(f"{path} is no saved {noun}, but a table of something else")
    if header.get("format") != version:
        raise InputError(f"{path} has format {brief(header.get('format'))}, but this fairgate reads format {version}")
    return columns, header


def file_hash(path: Path) -> str:
    """SHA-256 of a file, or nothing if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def file_name(text: str) -> str:
    """Turn a name into one that a file can have; different names stay different.

    >>> file_name("compas--ofs"), file_name("mine:Mine")
    ('compas--ofs', 'mine-Mine-3a1ee5a1')
    """
    safe = re.sub(r"[^\w.=+-]+", "-", text)
    return safe if safe == text else f"{safe}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def plain(value: Any) -> Any:
    """Return data that JSON can hold: what is no finite number becomes null.

    >>> plain({1: (0.5, float("nan"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
