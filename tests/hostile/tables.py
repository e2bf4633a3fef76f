"""Tables of people that are none: Parquet and Arrow that declare what they have not, bombs, absurd columns."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.valid import people
from tests.hostile.zips import packed, raw_zip, zeros
from tests.people.excel import write_excel

Table = Callable[[], tuple[str, bytes]]
"""Returns the name of a file and what is in it."""


def parquet(table: pa.Table, name: str = "evil.parquet", **options: Any) -> tuple[str, bytes]:
    """Return a Parquet file."""
    made = io.BytesIO()
    pq.write_table(table, made, **options)
    return name, made.getvalue()


def arrow(table: pa.Table, name: str = "evil.arrow", **options: Any) -> tuple[str, bytes]:
    """Return an Arrow file."""
    made = io.BytesIO()
    with pa.ipc.new_file(made, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return name, made.getvalue()


def zigzag(number: int) -> bytes:
    """Write a whole number as Thrift's compact protocol does."""
    return varied(number << 1 if number >= 0 else (-number << 1) - 1)


def varied(number: int) -> bytes:
    """Write a number in groups of seven bits."""
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def declared(rows: int, *, whole: bool = True) -> Table:
    """Have a Parquet file declare another number of rows, in its parts or in all of it."""

    def make() -> tuple[str, bytes]:
        name, content = parquet(people(33_333), compression="zstd")
        size = struct.unpack("<I", content[-8:-4])[0]
        begin = len(content) - 8 - size
        footer, old = content[begin:-8], zigzag(33_333)
        places = [k for k in range(len(footer)) if footer.startswith(b"\x16" + old, k)]
        for place in reversed(places if whole else places[:1]):
            footer = footer[: place + 1] + zigzag(rows) + footer[place + 1 + len(old) :]
        return name, content[:begin] + footer + struct.pack("<I", len(footer)) + b"PAR1"

    return make


def run_lengths() -> tuple[str, bytes]:
    """Return a Parquet file of three million equal rows in a few hundred bytes, more than tests allow."""
    count = 3_000_000
    made, rows = io.BytesIO(), pa.table({"score": pa.array([0.5]), "paid": pa.array([1]), "sex": pa.array(["f"])})
    part = rows.take(pa.array(np.zeros(count, dtype=np.int8)))
    with pq.ParquetWriter(made, rows.schema, compression="zstd") as writer:
        writer.write_table(part, row_group_size=count)
    return "evil.parquet", made.getvalue()


def cut(make: Table, share: float) -> Table:
    """Cut a file short."""

    def shortened() -> tuple[str, bytes]:
        name, content = make()
        return name, content[: int(len(content) * share)]

    return shortened


def with_columns(**columns: Any) -> pa.Table:
    """Return the people with other columns."""
    table = people()
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        made = values if isinstance(values, pa.Array) else pa.array(values)
        table = table.append_column(name, made) if place < 0 else table.set_column(place, name, made)
    return table


def damaged_schema() -> tuple[str, bytes]:
    """Return a Parquet file whose schema of Arrow is damaged."""
    name, content = parquet(people())
    place = content.index(b"ARROW:schema") + 40
    return name, content[:place] + b"A" * 200 + content[place + 200 :]


def nested(levels: int) -> pa.Array:
    """Return a column of lists in lists."""
    kind = pa.float64()
    for _ in range(levels):
        kind = pa.list_(kind)
    return pa.nulls(400, kind)


def short_buffers() -> tuple[str, bytes]:
    """Return an Arrow file whose rows go on after its buffers end."""
    rows = 4000
    name, content = arrow(people(rows))
    old, new = struct.pack("<q", rows), struct.pack("<q", 1 << 40)
    return name, content.replace(old, new)


def outside_the_dictionary() -> tuple[str, bytes]:
    """Return an Arrow file whose indices point outside its dictionary."""
    sex = pa.DictionaryArray.from_arrays(pa.array([1 << 20] * 400, pa.int32()), ["f", "m"], safe=False)
    return arrow(with_columns(sex=sex))


def offsets_outside() -> tuple[str, bytes]:
    """Return an Arrow file whose texts begin where no text is."""
    offsets = pa.py_buffer(np.array([0, *([1 << 30] * 400)], dtype=np.int32).tobytes())
    good = pa.py_buffer(np.zeros(401, dtype=np.int32).tobytes())
    sex = pa.Array.from_buffers(pa.string(), 400, [None, good, pa.py_buffer(b"f")])
    name, content = arrow(with_columns(sex=sex))
    return name, content.replace(good.to_pybytes(), offsets.to_pybytes())


def workbook(body: str, name: str = "xl/worksheets/sheet1.xml") -> Table:
    """Return an Excel file whose sheet has these rows."""

    def make() -> tuple[str, bytes]:
        made = io.BytesIO()
        write_excel(made, ("people", [["score"]]))
        with zipfile.ZipFile(made) as file:
            parts = {each: file.read(each) for each in file.namelist()}
        begin, rest = parts[name].split(b"<sheetData>")
        parts[name] = begin + b"<sheetData>" + body.encode() + b"</sheetData>" + rest.split(b"</sheetData>")[1]
        return "evil.xlsx", packed(parts)

    return make


def sheet_of_ods(cells: str) -> Table:
    """Return an OpenDocument sheet with these rows."""
    uri = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{each}="{uri}:{each}:1.0"' for each in ("office", "table", "text"))
    body = f"<office:body><office:spreadsheet><table:table table:name='a'>{cells}</table:table></office:spreadsheet>"
    content = f"<?xml version='1.0'?><office:document-content {names}>{body}</office:body></office:document-content>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
    manifest = f"<manifest:manifest xmlns:manifest='{uri}:manifest:1.0'>{entry}</manifest:manifest>"
    parts = {"mimetype": kind.encode(), "META-INF/manifest.xml": manifest.encode(), "content.xml": content.encode()}
    return lambda: ("evil.ods", packed(parts))


CELL = '<c r="{}"><v>1</v></c>'
CORNERS = f'<row r="1">{CELL.format("A1")}</row><row r="1048576">{CELL.format("XFD1048576")}</row>'
BEYOND = f'<row r="1">{CELL.format("A1")}</row><row r="9999999999">{CELL.format("ZZZZZZZ9999999999")}</row>'
VALUE = "<table:table-cell {} office:value-type='float' office:value='1'/>"
MANY = "table:number-columns-repeated='2000000000'"
ROWS = "<table:table-row table:number-rows-repeated='2000000000'>{}</table:table-row>"
LAUGHS = '<!DOCTYPE a [<!ENTITY a "{}">{}]>'.format(
    "ha" * 500, "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 500}">' for n in range(6))
)


def laughing() -> tuple[str, bytes]:
    """Return an Excel file whose sheet is a text that names a text that names a text."""
    name, content = workbook("<row><c t='inlineStr'><is><t>&g;</t></is></c></row>")()
    return name, content.replace(
        b'<?xml version="1.0"?><worksheet', b'<?xml version="1.0"?>' + LAUGHS.encode() + b"<worksheet"
    )


def gzip_bomb(name: str, head: bytes, line: bytes) -> Table:
    """Return text that gzip packed and that unpacks to 8 MB, more than tests allow."""
    return lambda: (name, gzip.compress(head + line * ((8 << 20) // len(line))))


def zip_bomb() -> tuple[str, bytes]:
    """Return a table in a zip that unpacks to 2 GB."""
    return "evil.zip", raw_zip([("people.csv", zeros(1 << 31), (0, (1 << 31) - 1))])


def text(name: str, content: str | bytes) -> Table:
    """Return a text file."""
    return lambda: (name, content if isinstance(content, bytes) else content.encode("utf-8", errors="surrogatepass"))


def lines(*objects: str) -> str:
    """Return lines of JSON, the first of them of one shape."""
    return "\n".join(['{"score": 0.5, "paid": 1, "sex": "f"}', *objects]) + "\n"


HEAD = b"score,paid,sex\n"
DEEP = "[" * 100_000 + "]" * 100_000

REFUSED: dict[str, Table] = {
    "Parquet of a huge number of rows": declared(1 << 40),
    "Parquet of more rows than its parts": declared(1 << 20, whole=False),
    "Parquet of fewer rows than none": declared(-5),
    "Parquet of rows beyond 64 bits": declared((1 << 63) - 1),
    "Parquet of run lengths": run_lengths,
    "Parquet of a text that inflates": lambda: parquet(
        with_columns(sex=["f" * (1 << 15)] * 400), compression="zstd", use_dictionary=False
    ),
    "Parquet cut in half": cut(lambda: parquet(people()), 0.5),
    "Parquet cut at its end": cut(lambda: parquet(people()), 0.99),
    "Parquet of its ends alone": text("evil.parquet", b"PAR1\x00\x00\x00\x00PAR1"),
    "Parquet of a huge footer": text("evil.parquet", b"PAR1" + bytes(100) + b"\xff\xff\xff\x7fPAR1"),
    "Parquet of nothing": text("evil.parquet", b""),
    "Parquet of nested lists for scores": lambda: parquet(with_columns(score=nested(20))),
    "Parquet of deeply nested lists": lambda: parquet(with_columns(score=nested(60))),
    "Parquet of lists for scores": lambda: parquet(with_columns(score=[[0.5]] * 400)),
    "Parquet of bytes for scores": lambda: parquet(with_columns(score=[b"\xff\x00"] * 400)),
    "Parquet of nulls": lambda: parquet(with_columns(score=pa.nulls(400))),
    "Parquet of nulls for groups": lambda: parquet(with_columns(sex=pa.nulls(400))),
    "Parquet of no rows": lambda: parquet(people().slice(0, 0)),
    "Parquet of no columns": lambda: parquet(pa.table({})),
    "Parquet of many columns": lambda: parquet(pa.table({f"c{n}": [0] for n in range(10_001)})),
    "Parquet of other columns": lambda: parquet(pa.table({f"c{n}": [0] for n in range(2000)})),
    "Parquet of huge names": lambda: parquet(pa.table({"x" * 100_000: [0], "y" * 100_000: [1]})),
    "Parquet of names of control characters": lambda: parquet(pa.table({"\x1b[2J\x07": [0], "[/red]": [1]})),
    "Parquet of a name twice": lambda: parquet(pa.table([[1.0], [2.0]], names=["score", "score"])),
    "Parquet of huge groups": lambda: parquet(with_columns(sex=[f"{'x' * 5000}{n}" for n in range(400)])),
    "Parquet of a damaged schema": damaged_schema,
    "Arrow cut in half": cut(lambda: arrow(people()), 0.5),
    "Arrow cut at its end": cut(lambda: arrow(people()), 0.99),
    "Arrow of nothing": text("evil.arrow", b""),
    "Arrow of its ends alone": text("evil.arrow", b"ARROW1\x00\x00" + bytes(8) + b"\x00\x00\x00\x00ARROW1"),
    "Arrow of a huge footer": text("evil.arrow", b"ARROW1\x00\x00" + bytes(8) + b"\xff\xff\xff\x7fARROW1"),
    "Arrow of short buffers": short_buffers,
    "Arrow of indices outside the dictionary": outside_the_dictionary,
    "Arrow of texts outside": offsets_outside,
    "Arrow of nulls": lambda: arrow(with_columns(score=pa.nulls(400))),
    "Arrow of nested lists": lambda: arrow(with_columns(score=nested(20))),
    "Excel of two corners": workbook(CORNERS),
    "Excel beyond a sheet": workbook(BEYOND),
    "Excel of a row zero": workbook(f'<row r="0">{CELL.format("A0")}</row>'),
    "Excel that is not well-formed": workbook("<row><c>"),
    "Excel of a text of texts": laughing,
    "Excel that is a bomb": lambda: (
        "evil.xlsx",
        raw_zip([("xl/worksheets/sheet1.xml", zeros(1 << 31), (0, (1 << 31) - 1))]),
    ),
    "Excel of nothing": text("evil.xlsx", b""),
    "Excel of text": text("evil.xlsx", b"PK\x03\x04 no workbook"),
    "old Excel of text": text("evil.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
    "OpenDocument of many columns": sheet_of_ods(f"<table:table-row>{VALUE.format(MANY)}</table:table-row>"),
    "OpenDocument of many rows": sheet_of_ods(ROWS.format(VALUE.format(""))),
    "DuckDB of nothing": text("evil.duckdb", b""),
    "DuckDB of text": text("evil.duckdb", b"once upon a time" * 1000),
    "CSV that gzip packed, a bomb": gzip_bomb("evil.csv.gz", HEAD, b"0.5,1,f\n"),
    "CSV that gzip packed, one line": gzip_bomb("evil.csv.gz", b"", b"0"),
    "JSON lines that gzip packed, a bomb": gzip_bomb("evil.jsonl.gz", b"", b'{"score": 0.5, "paid": 1, "sex": "f"}\n'),
    "CSV that gzip packed, cut": lambda: ("evil.csv.gz", gzip.compress(HEAD + b"0.5,1,f\n" * 500)[:-20]),
    "CSV of no gzip": text("evil.csv.gz", b"score,paid,sex\n0.5,1,f\n"),
    "CSV of many columns": text("evil.csv", ",".join(f"c{n}" for n in range(100_000)) + "\n"),
    "CSV of a huge field": text("evil.csv", '"' + "x" * 1_000_000 + '"\n1\n'),
    "CSV of bytes": text("evil.csv", b"\xff\xfe\x00\x01" * 100),
    "CSV of huge numbers": text("evil.csv", HEAD + b"\n".join(b"9" * 10_000 + b",1,f" for _ in range(20))),
    "CSV of NUL": text("evil.csv", HEAD + b"\x00,\x00,\x00\n" * 20),
    "JSON lines nested": text("evil.jsonl", '{"score": ' + DEEP + ', "paid": 1, "sex": "f"}\n'),
    "JSON lines nested, of two shapes": text("evil.jsonl", lines(*['{"score": ' + DEEP + "}", '{"score": "a"}'] * 4)),
    "JSON lines of null alone": text("evil.jsonl", "null\n"),
    "JSON lines of null without a line": text("evil.jsonl", " null"),
    "JSON lines of null after a mark": text("evil.jsonl", "\ufeff\tnull, 1}\n{"),
    "JSON lines of huge numbers": text("evil.jsonl", lines(*['{"score": ' + "9" * 100_000 + ', "sex": "f"}'] * 4)),
    "JSON lines of NaN": text("evil.jsonl", '{"score": NaN, "paid": Infinity, "sex": "f"}\n' * 20),
    "JSON lines of lone surrogates": text("evil.jsonl", '{"score": "\\ud800", "paid": 1, "sex": "\\udfff"}\n' * 20),
    "a zip that is a bomb": zip_bomb,
    "a zip in a zip": lambda: ("evil.zip", packed({"more.zip": packed({"people.csv": HEAD})})),
    "a zip of names above": lambda: ("evil.zip", packed({"../../people.csv": HEAD})),
    "a zip of nothing": text("evil.zip", b""),
}
"""Tables that nothing can be said about."""
