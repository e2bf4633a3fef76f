"""Numbers that a page or an article prints, and those that ``summary.json`` knows of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w|\.\d)")


def printed(text: str) -> set[str]:
    """Every number of a text, without sign; digits within a word or a version are none."""
    return set(NUMBER.findall(text))


def known(summary: Any) -> set[str]:
    """Every number that ``summary.json`` knows of, as it is written: figures with the digits of their column."""
    found = set(leaves({key: value for key, value in summary.items() if key != "numbers"}))
    for table, layout in summary["tables"].items():
        found.add(str(len(layout["rows"])))
        for row in layout["rows"]:
            for column, digits in layout["digits"].items():
                for value in summary["numbers"].get(".".join([table, *row, column]), {}).values():
                    if isinstance(value, str):
                        found |= printed(value)
                    else:
                        found |= {text for part in value.values() for text in rounded(part, digits)}
    claims = summary["claims"].values()
    counts = Counter(claim["verdict"] for claim in claims)
    views = sum(bool(claim["others"]) for claim in claims)
    in_sample = sum(claim.get("in_sample") is True for claim in claims)
    return found | {str(count) for count in (len(claims), views, in_sample, *counts.values())} | {"0"}


def leaves(value: Any) -> Iterator[str]:
    """Every number of plain data, and of the texts in it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from printed(key)
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str):
        yield from printed(value)
    elif isinstance(value, (int, float)):
        yield from (str(abs(value)), f"{abs(value):g}", f"{abs(value):.2f}")


def rounded(value: float, digits: int) -> set[str]:
    """A figure with so many digits, halves to the even one as in Python and away from 0 as in typst."""
    half_up = Decimal(repr(abs(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return {f"{abs(value):.{digits}f}", f"{half_up:f}", str(value)}  # the last for the number of seeds
