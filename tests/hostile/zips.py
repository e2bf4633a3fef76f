"""Exported logs that are no such thing: bombs, links, names that lead elsewhere, members that lie."""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

MEMBERS = ("head.json", "events.parquet", "cases.parquet", "outcomes.parquet", "overrides.parquet")

Zip = Callable[[bytes], bytes]
"""Takes a valid export and returns a hostile one."""


def parts_of(valid: bytes) -> dict[str, bytes]:
    """Return the members."""
    with zipfile.ZipFile(io.BytesIO(valid)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def packed(parts: dict[str, bytes] | list[tuple[Any, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip of these members; a name may be a `ZipInfo`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, content in parts.items() if isinstance(parts, dict) else parts:
            file.writestr(name, content)
    return made.getvalue()


def with_part(name: str, content: bytes, method: int = zipfile.ZIP_STORED) -> Zip:
    """Put another content in the place of a member."""
    return lambda valid: packed(parts_of(valid) | {name: content}, method)


def with_head(text: str) -> Zip:
    """Put another text in the place of the head."""
    return with_part("head.json", text.encode("utf-8", errors="surrogatepass"))


def with_entry(**entries: Any) -> Zip:
    """Change entries of the head."""

    def make(valid: bytes) -> bytes:
        parts = parts_of(valid)
        head = json.loads(parts["head.json"]) | entries
        return packed(parts | {"head.json": json.dumps(head).encode()})

    return make


def without(name: str) -> Zip:
    """Leave a member out."""
    return lambda valid: packed({each: content for each, content in parts_of(valid).items() if each != name})


def zeros(size: int) -> bytes:
    """Return what inflates to so many zeros, a multiple of 16 MB; made at once, as each block is packed alike."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + block * ((size >> 24) - 1) + packer.flush()


def bomb(name: str, size: int, claimed: int | None = None) -> Zip:
    """Make a member inflate to `size` bytes of zeros, and say that it has so many, or that it has others."""

    def make(valid: bytes) -> bytes:
        others = [(each, whole, None) for each, whole in parts_of(valid).items() if each != name]
        facts = (zlib.crc32(bytes(claimed or 10)), claimed or size)
        return raw_zip([*others, (name, zeros(size), facts)])

    return make


def raw_zip(members: list[tuple[str, bytes, tuple[int, int] | None]]) -> bytes:
    """Return a zip of members that are stored, or deflated already, with the checksum and the size they claim."""
    made, directory = bytearray(), bytearray()
    for name, content, claimed in members:
        crc, size = claimed or (zlib.crc32(content), len(content))
        facts = struct.pack("<HHHHHIII", 20, 0, 8 if claimed else 0, 0, 33, crc, len(content), size)
        title = name.encode()
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + facts
        directory += struct.pack("<HHHHHII", len(title), 0, 0, 0, 0, 0, len(made)) + title
        made += b"PK\x03\x04" + facts + struct.pack("<HH", len(title), 0) + title + content
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(members), len(members), len(directory), len(made), 0)
    return bytes(made + directory + end)


def linked(name: str, to: str) -> Zip:
    """Make a member a symbolic link."""

    def make(valid: bytes) -> bytes:
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        others = [(each, content) for each, content in parts_of(valid).items() if each != name]
        return packed([*others, (info, to.encode())])

    return make


def encrypted(valid: bytes) -> bytes:
    """Say of every member that it is encrypted."""
    made = bytearray(valid)
    with zipfile.ZipFile(io.BytesIO(valid)) as file:
        for info in file.infolist():
            made[info.header_offset + 6] |= 1
    place = made.find(b"PK\x01\x02")
    while place >= 0:
        made[place + 8] |= 1
        place = made.find(b"PK\x01\x02", place + 4)
    return bytes(made)


def strange_method(valid: bytes) -> bytes:
    """Say of every member that it is packed in a way that there is not."""
    made = bytearray(valid)
    place = made.find(b"PK\x01\x02")
    while place >= 0:
        made[place + 10 : place + 12] = b"\x63\x00"
        place = made.find(b"PK\x01\x02", place + 4)
    return bytes(made)


def many(valid: bytes) -> bytes:
    """Add thousands of members."""
    return packed([*parts_of(valid).items(), *((f"{place}.parquet", b"") for place in range(20_000))])


def twice(valid: bytes) -> bytes:
    """Have a second head, which says something else."""
    parts = parts_of(valid)
    other = json.dumps(json.loads(parts["head.json"]) | {"last": 3}).encode()
    return raw_zip([*((name, content, None) for name, content in parts.items()), ("head.json", other, None)])


def nested(valid: bytes) -> bytes:
    """Pack an export into an export."""
    return packed({"credit.zip": valid})


def elsewhere(valid: bytes) -> bytes:
    """Have members besides, whose names lead out of the folder."""
    names = ("../escaped", "/tmp/fairgate-escaped", "a/../../escaped", "C:\\escaped", "..\\escaped")
    return packed([*parts_of(valid).items(), *((name, b"written") for name in names)])


def renamed(prefix: str) -> Zip:
    """Have all members elsewhere."""
    return lambda valid: packed({prefix + name: content for name, content in parts_of(valid).items()})


ZIPS: dict[str, Zip] = {
    "empty file": lambda valid: b"",
    "no zip": lambda valid: b"once upon a time",
    "empty zip": lambda valid: packed({}),
    "cut in half": lambda valid: valid[: len(valid) // 2],
    "cut at the end": lambda valid: valid[:-1],
    "its directory alone": lambda valid: valid[valid.find(b"PK\x01\x02") :],
    "encrypted": encrypted,
    "packed in an unknown way": strange_method,
    "nested": nested,
    "thousands of members": many,
    "two heads": twice,
    "names above": renamed("../"),
    "absolute names": renamed("/"),
    "a bomb for a head": bomb("head.json", 1 << 31),
    "a bomb for events": bomb("events.parquet", 1 << 31),
    "a bomb that lies about its size": bomb("cases.parquet", 1 << 31, claimed=10),
    "a head that is a link": linked("head.json", "/etc/passwd"),
    "events that are a link": linked("events.parquet", "../../gate.db"),
    **{f"without {name}": without(name) for name in MEMBERS},
    **{f"{name} empty": with_part(name, b"") for name in MEMBERS},
    **{f"{name} of text": with_part(name, b"PAR1 no PAR1") for name in MEMBERS},
    "head a list": with_head("[]"),
    "head null": with_head("null"),
    "head a text": with_head('"format"'),
    "head without entries": with_head("{}"),
    "head nested": with_head("[" * 100_000 + "]" * 100_000),
    "head nested by names": with_head('{"format":' * 100_000 + "1" + "}" * 100_000),
    "head of no text": with_part("head.json", b"\xff\xfe{}"),
    "head with a huge number": with_head(
        '{"format": 1, "gate": "credit", "head": "0", "last": 1' + "0" * 100_000 + "}"
    ),
    "head with 4000 digits": with_head('{"format": 1, "gate": "credit", "head": "0", "last": 1' + "0" * 4000 + "}"),
    "head with NaN": with_head('{"format": 1, "gate": "credit", "head": "0", "last": NaN}'),
    "head with Infinity": with_head('{"format": 1, "gate": "credit", "head": "0", "last": Infinity}'),
    "head with a text for a number": with_entry(last="many"),
    "head with a list for a number": with_entry(last=[1]),
    "head of another format": with_entry(format=2),
    "head of a huge format": with_entry(format="x" * 100_000),
    "head of the format true": with_entry(format=[[[]]]),
}
"""Exports that are refused with a sentence."""

FINDINGS: dict[str, Zip] = {
    "a negative last event": with_entry(last=-1),
    "a last event beyond 64 bits": with_entry(last=1 << 70),
    "a gate of a lone surrogate": with_entry(gate="\ud800"),
    "a gate of a huge name": with_entry(gate="x" * 100_000),
    "a gate of control characters": with_entry(gate="\x1b[2J\x00"),
    "a gate that is a list": with_entry(gate=["credit"]),
    "a head that is a number": with_entry(head=7),
}
"""Exports that are refused, or audited with a finding."""

HARMLESS: dict[str, Zip] = {"names that lead elsewhere besides": elsewhere}
"""Exports whose additions are never looked at."""
