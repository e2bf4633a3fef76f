"""Structure: how much a body makes the parser do, counted before it is parsed.

A parse is one call that lets nothing else of the process run, so its time must be bounded. Long texts cost it little;
fields, values and nesting cost much: 8 MB of small ones take seconds, and 8 MB of texts some hundredths.
"""

from __future__ import annotations

from fairgate.errors import InputError

LARGEST_BATCH = 10_000
"""Applications or labels in one request."""

MOST_VALUES = 8 * LARGEST_BATCH
"""Values in one body: more columns of a batch than any request has."""

MOST_FIELDS = 100
"""Fields in one body, and arrays and objects: ten times as many as any request has."""

MOST_OUTSIDE = 2_000_000
"""Bytes in one body that are not in texts: the numbers of the largest batch, with generous spaces."""


def check_structure(raw: bytes) -> None:
    """Refuse a body of more fields, values, arrays or objects than any request has.

    Most bodies have few of the characters in question, texts included, and need no closer look.

    >>> check_structure(b'{"id": "a,b:c", "score": 0.5}')
    >>> check_structure(b"[" * 101)
    Traceback (most recent call last):
    fairgate.errors.InputError: the body must have at most 100 arrays and objects, got 101
    """
    few = raw.count(b":") <= MOST_FIELDS and raw.count(b"[") + raw.count(b"{") <= MOST_FIELDS
    if few and raw.count(b",") <= MOST_VALUES and len(raw) <= MOST_OUTSIDE:
        return
    plain = outside(raw)
    for found, most, what in (
        (plain.count(b":"), MOST_FIELDS, "fields"),
        (plain.count(b"[") + plain.count(b"{"), MOST_FIELDS, "arrays and objects"),
        (plain.count(b",") + 1, MOST_VALUES, "values"),
        (len(plain), MOST_OUTSIDE, "bytes outside texts"),
    ):
        if found > most:
            raise InputError(f"the body must have at most {most} {what}, got {found}")


def count_fields(raw: bytes) -> int:
    """Return the number of fields in a body that was checked, those given twice included.

    >>> count_fields(b'{"id": "a:b", "score": 0.5}')
    2
    """
    return outside(raw).count(b":")


def outside(raw: bytes) -> bytes:
    r"""Return the characters of a body outside its texts; without JSON, at least those before the first fault.

    >>> outside(b'{"a\\"b": ["c\\\\", 1]}')
    b'{: [, 1]}'
    """
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")  # from now on each quote begins or ends a text
    most = 2 * (MOST_VALUES + MOST_FIELDS)
    quotes = raw.count(b'"')
    if quotes > most:
        raise InputError(f"the body must have at most {most // 2} texts, got {quotes // 2}")
    return b"".join(raw.split(b'"')[::2])
