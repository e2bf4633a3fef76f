"""Wrapped: a table inside a zip file, or one that comes through standard input."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

from fairgate.errors import InputError
from fairgate.people.sources import READERS, Source, ending_of, read_by
from fairgate.people.values import listed
from fairgate.reading import opened_zip, told, unpack_member

BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}
"""First bytes of files that are no plain text, and their endings."""


def _zip(file: Path) -> Source:
    """The one table of a zip file; what is no table, such as a note on its columns, is passed over."""
    with told(f"file {str(file)!r} cannot be read as a zip file"), opened_zip(file) as packed:
        members = [each for each in packed.namelist() if not each.startswith("__MACOSX/") and not each.endswith("/")]
        tables = [each for each in members if ending_of(each) and not each.lower().endswith(".zip")]
        if len(tables) != 1:
            got = f"has {len(tables)}: {listed(tables)}" if tables else f"has none: {listed(members) or 'it is empty'}"
            raise InputError(f"file {str(file)!r} must have exactly one table inside, and {got}")
        folder = tempfile.TemporaryDirectory(prefix="fairgate-")
        try:
            inside = Path(folder.name) / f"table{ending_of(tables[0])}"
            with inside.open("xb") as copy:
                unpack_member(packed, tables[0], copy)
            return _renamed(read_by(READERS[ending_of(inside.name)], inside), inside, f"{file}/{tables[0]}", folder)
        except BaseException as error:
            folder.cleanup()
            raise _told_of(error, inside, f"{file}/{tables[0]}") from None


def _standard_input(_: Path) -> Source:
    """Whatever comes through a pipe: Parquet, Arrow, Excel or gzip by its first bytes, else JSON lines or CSV."""
    stream = sys.stdin.buffer
    if sys.stdin.isatty():
        raise InputError(
            "file '-' is standard input, and nothing is piped into it: cat applicants.csv | fairgate advise -"
        )
    folder = tempfile.TemporaryDirectory(prefix="fairgate-")
    inside = Path(folder.name) / "table"
    try:
        with inside.open("wb") as copy:
            shutil.copyfileobj(stream, copy)  # as large as what is piped in
        ending = sniffed(inside)
        inside = inside.rename(inside.with_name(f"table{ending}"))
        return _renamed(read_by(READERS[ending], inside), inside, "-", folder)
    except BaseException as error:
        folder.cleanup()
        raise _told_of(error, inside, "-") from None


def sniffed(file: Path) -> str:
    """Return the ending a file would have by what is in it."""
    with file.open("rb") as stream:
        head = stream.read(1 << 16)
    packed_text = head.startswith(b"\x1f\x8b")
    if packed_text:
        with gzip.open(file) as stream, told("file '-' cannot be unpacked by gzip"):
            head = stream.read(1 << 16)
    for beginning, ending in BEGINNINGS.items():
        if head.startswith(beginning):
            return ending
    if zipfile.is_zipfile(file):
        with told("file '-' cannot be read as a zip file"), opened_zip(file) as packed:
            return ".xlsx" if "xl/workbook.xml" in packed.namelist() else ".zip"
    lines = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return (".jsonl" if lines else ".csv") + (".gz" if packed_text else "")


def _renamed(source: Source, inside: Path, name: str, folder: tempfile.TemporaryDirectory[str]) -> Source:
    """Return a source that is called by what the user named, and whose copy goes when it is closed."""

    def close() -> None:
        source.close()
        folder.cleanup()

    return replace(source, name=name, failure=source.failure.replace(str(inside), name), close=close)


def _told_of(error: BaseException, inside: Path, name: str) -> BaseException:
    """Have a message speak of what the user named, not of the copy."""
    return InputError(str(error).replace(str(inside), name)) if isinstance(error, InputError) else error


READERS[".zip"] = _zip
READERS["-"] = _standard_input
