"""Passages of the documentation that a script prints: each stands between two comments that name it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def rewrite(page: str, name: str, lines: Sequence[str]) -> None:
    """Put lines in the place of the passage of this name, in a page below docs/."""
    path = DOCS / page
    text = path.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise SystemExit(f"{path} must have {begin.strip()} and {end.strip()} once each")
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(before + begin + "\n" + "\n".join(lines).strip() + "\n\n" + end + after, encoding="utf-8")
