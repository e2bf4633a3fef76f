"""Reading: the limits of what is read from files, and the few calls that keep them.

A file may come from a stranger. What it declares is checked before it is read, and what it unpacks to is counted.
"""

from __future__ import annotations

import errno
import json
import re
import stat
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from fairgate.errors import InputError

SETTINGS = 1 << 20
"""Most bytes of a file that a person writes: gate.toml, policy.toml."""

DOCUMENT = 256 << 20
"""Most bytes of a JSON file that the program wrote."""

LEVELS = 100
"""Most levels of lists and objects inside each other."""

UNPACKED = 64 << 20
"""Bytes that any packed file may become."""

RATIO = 200
"""Bytes that each packed byte may become, where that is more."""

ROWS = 10_000_000
"""Rows that any Parquet or Arrow file may have."""

ROWS_PER_BYTE = 8
"""Rows that each byte of such a file may stand for, where that is more."""

COLUMNS = 10_000
"""Most columns of a table."""

MEMBERS = 10_000
"""Most members of a zip file."""

SPARSE = 4_000_000
"""Cells that the rectangle around any sheet may have."""

SPARSE_RATIO = 20
"""Cells of that rectangle for each cell that is written, where that is more."""

PART = r"""(?:[^\s.=\[\]{},"']+|"[^"\n]*"|'[^'\n]*')[ \t]*\."""
DOTTED = re.compile(rf"""(?<![^\s=\[\]{{}},"'])(?:{PART}[ \t]*){{{LEVELS}}}""")
"""A name of TOML such as a.b.c, of too many parts."""

BLOCK = 1 << 20
"""Bytes unpacked at a time."""


@contextmanager
def told(failure: str) -> Iterator[None]:
    """Turn what a library, or a reader of the user's own, raises into one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        said = (str(error).strip().splitlines() or [""])[0].rstrip(".")
        kind = "" if said and not isinstance(error, KeyError) else f"{type(error).__name__} "
        raise InputError(f"{failure}: {kind}{said}".rstrip()) from error


def check_plain(path: Path) -> int:
    """Return the size of a file; a device, a pipe or a folder is an `OSError`, as it may never end."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")
    return found.st_size


def read_bytes(path: Path, most: int) -> bytes:
    """Return what is in a file of at most so many bytes; a larger one, or what is no file, is an `OSError`."""
    check_plain(path)
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes")
    return content


def parse_json(text: str | bytes) -> Any:
    """Return plain data; what is nested too deeply, or no JSON, is a `ValueError`.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    >>> parse_json("[" * 200 + "]" * 200)
    Traceback (most recent call last):
        ...
    ValueError: it is nested more than 100 levels deep
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    check_depth(found)
    return found


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of TOML; what is nested too deeply, or no TOML, is a `ValueError`."""
    if DOTTED.search(text):  # the parser takes time with the square of the levels
        raise _too_deep()
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    check_depth(found)
    _check_numbers(found)
    return found


def _check_numbers(found: Any) -> None:
    """Refuse whole numbers beyond 64 bits by a `ValueError`, as TOML has none, and some are beyond any float."""
    if isinstance(found, (dict, list)):
        for each in found.values() if isinstance(found, dict) else found:
            _check_numbers(each)
    elif isinstance(found, int) and not -(1 << 63) <= found < 1 << 63:
        raise ValueError("a whole number in it is beyond 64 bits")


def check_depth(found: Any) -> None:
    """Refuse plain data that is nested too deeply, by a `ValueError`: to go through them would end the stack."""
    level = [found]
    for _ in range(LEVELS + 1):
        inner = [each for each in level if type(each) is list or type(each) is dict]
        if not inner:
            return
        level = [each for part in inner for each in (part.values() if type(part) is dict else part)]
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"it is nested more than {LEVELS} levels deep")


def most_of(packed: int) -> int:
    """Return how many bytes so many packed ones may become.

    >>> most_of(1000), most_of(1 << 30)
    (67108864, 214748364800)
    """
    return max(UNPACKED, RATIO * packed)


def check_length(stream: Any, most: int) -> None:
    """Read a stream to its end, which must come after at most so many bytes."""
    read = 0
    while block := stream.read(BLOCK):
        read += len(block)
        if read > most:
            raise ValueError(f"it unpacks to more than {most} bytes, which no table of its size does")


@contextmanager
def opened_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file whose directory is sound: few members, each once, and together not too large."""
    size = check_plain(path)
    with zipfile.ZipFile(path) as packed:
        members = packed.infolist()
        if len(members) > MEMBERS:
            raise ValueError(f"it has {len(members)} members, and at most {MEMBERS} are read")
        if len({each.filename for each in members}) < len(members):
            raise ValueError("it has a member twice")
        if sum(each.file_size for each in members) > most_of(size):
            raise ValueError(f"its members unpack to more than {most_of(size)} bytes")
        yield packed


def unpack_member(packed: zipfile.ZipFile, name: str, to: BinaryIO) -> None:
    """Copy a member of a zip file, which must be a file, and not longer than it says it is."""
    member = packed.getinfo(name)
    kind = stat.S_IFMT(member.external_attr >> 16) if member.create_system == 3 else 0
    if kind not in (0, stat.S_IFREG) or member.is_dir():
        raise ValueError(f"its member {name} is a link or a folder, not a file")
    with packed.open(member) as found:
        while block := found.read(BLOCK):  # never more than its size
            to.write(block)


def check_parquet(file: Any, size: int) -> None:
    """Refuse a Parquet file, open as pyarrow has it, that declares more than a file of this size can hold."""
    facts = file.metadata
    groups = [facts.row_group(place) for place in range(facts.num_row_groups)]
    check_rows([each.num_rows for each in groups], size)
    if facts.num_rows != sum(each.num_rows for each in groups):
        raise ValueError(f"it declares {facts.num_rows} rows, and its parts have others")
    unpacked = [each.total_byte_size for each in groups]
    if min(unpacked, default=0) < 0 or sum(unpacked) > most_of(size):
        raise ValueError(f"it declares {sum(unpacked)} bytes, and at most {most_of(size)} are read of a file of {size}")


def check_rows(numbers: list[int], size: int) -> None:
    """Refuse parts of a table that have more rows than a file of this size can hold, or fewer than none."""
    most = max(ROWS, ROWS_PER_BYTE * size)
    if min(numbers, default=0) < 0 or sum(numbers) > most:
        raise ValueError(f"it declares {sum(numbers)} rows, and at most {most} are read of a file of {size} bytes")
