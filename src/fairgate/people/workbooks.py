"""Workbooks: how much memory the sheets of a workbook would take, found before a library lays them out.

A library makes a rectangle of all cells between the first and the last. Two cells in opposite corners of a sheet are a
file of a few hundred bytes, and a rectangle of seventeen thousand million cells.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast
from xml.parsers import expat

from fairgate.reading import BLOCK, SPARSE, SPARSE_RATIO, opened_zip

PLACE = re.compile(r"([A-Za-z]{1,7})([0-9]{1,10})")
"""Column and row of a cell."""


def check_workbook(file: Path) -> None:
    """Refuse, by a `ValueError`, a workbook that unpacks to too much, or whose sheets are nearly empty and huge."""
    if not zipfile.is_zipfile(file):
        return  # .xls, whose sheets have at most 65,536 rows of 256 cells
    with opened_zip(file) as packed:
        for member in packed.infolist():
            name = member.filename.lower()
            if name.endswith(".xml"):
                with packed.open(member) as content:
                    _check(_extent_of_xml(cast(BinaryIO, content)), member.filename)
            elif name.endswith(".bin") and "sheet" in name:
                _check(_extent_of_records(packed.read(member)), member.filename)


@contextmanager
def panics_told() -> Iterator[None]:
    """Turn a panic of the library, which is no `Exception`, into a `ValueError`: it cannot read the file."""
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise ValueError(f"it is damaged ({error})") from None


class Extent:
    """The cells that a sheet has, and the rectangle around them."""

    def __init__(self) -> None:
        self.cells = self.rows = self.columns = 0

    def add(self, row: int, column: int) -> None:
        """Take in a cell, by its places from 1."""
        self.cells += 1
        self.rows, self.columns = max(self.rows, row), max(self.columns, column)


def _check(extent: Extent, name: str) -> None:
    laid_out = extent.rows * extent.columns
    if laid_out > max(SPARSE, SPARSE_RATIO * extent.cells):
        raise ValueError(f"{name} has {extent.cells} cells, which lie in a rectangle of {laid_out}")


def _extent_of_xml(content: BinaryIO) -> Extent:
    """Return the extent of a sheet of .xlsx, or of all sheets of .ods."""
    extent, row, column, times = Extent(), 0, 0, 1

    def begin(kind: str, facts: dict[str, str]) -> None:
        nonlocal row, column, times
        own = kind.rpartition(":")[2]
        if own == "row":
            row, column = _number(facts.get("r"), row + 1), 0
        elif own == "c":
            place = PLACE.fullmatch(facts.get("r", ""))
            row, column = (int(place[2]), _column(place[1])) if place else (row, column + 1)
            extent.add(row, column)
        elif own == "table-row":
            row, column = row + _number(facts.get("table:number-rows-repeated"), 1), 0
        elif own in ("table-cell", "covered-table-cell"):
            column += _number(facts.get("table:number-columns-repeated"), 1)
            if {"office:value-type", "table:formula"} & facts.keys():
                extent.add(row, column)
        elif own == "table":
            row = column = 0

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    try:
        while block := content.read(BLOCK):
            parser.Parse(block)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ValueError(f"its parts are not well-formed: {error}") from None
    return extent


def _extent_of_records(content: bytes) -> Extent:
    """Return the extent of a sheet of .xlsb: records, each with its kind and its size."""
    extent, place, row = Extent(), 0, 0
    while place + 2 <= len(content):
        kind, place = _varied(content, place, 2)
        size, place = _varied(content, place, 4)
        first = int.from_bytes(content[place : place + 4], "little")
        if kind == 0:  # a row
            row = first + 1
        elif kind <= 11:  # a cell
            extent.add(row, first + 1)
        place += size
    return extent


def _varied(content: bytes, place: int, most: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    number = 0
    for count, each in enumerate(content[place : place + most]):
        number |= (each & 127) << 7 * count
        if each < 128:
            return number, place + count + 1
    return number, place + most


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text is not None and text.isdecimal() and len(text) < 20 else otherwise


def _column(letters: str) -> int:
    """Return the number of a column.

    >>> _column("A"), _column("XFD")
    (1, 16384)
    """
    number = 0
    for each in letters.upper():
        number = number * 26 + ord(each) - 64
    return number
