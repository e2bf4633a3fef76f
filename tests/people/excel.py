"""A small writer of Excel workbooks, so that tests need no other."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

SHEET = '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
BOOK = (
    '<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
)
RELATIONS = '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLES = (
    '<?xml version="1.0"?><styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    '<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
)


def cell(value: object) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c s="1"><v>{(value - datetime.date(1899, 12, 30)).days}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'


def write_excel(path: Path | BinaryIO, *sheets: tuple[str, Sequence[Sequence[object]]]) -> None:
    """Write sheets, each a name and rows of cells."""
    names = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, (name, _) in enumerate(sheets, 1))
    parts = "".join(
        f'<Relationship Id="r{n}" Type="{KINDS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    style = f'<Relationship Id="s" Type="{KINDS}/styles" Target="styles.xml"/>'
    root = f'<Relationship Id="b" Type="{KINDS}/officeDocument" Target="xl/workbook.xml"/>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("_rels/.rels", f"{RELATIONS}{root}</Relationships>")
        packed.writestr("xl/workbook.xml", f"{BOOK}{names}</sheets></workbook>")
        packed.writestr("xl/_rels/workbook.xml.rels", f"{RELATIONS}{parts}{style}</Relationships>")
        packed.writestr("xl/styles.xml", STYLES)
        for number, (_, rows) in enumerate(sheets, 1):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            packed.writestr(f"xl/worksheets/sheet{number}.xml", f"{SHEET}{lines}</sheetData></worksheet>")
