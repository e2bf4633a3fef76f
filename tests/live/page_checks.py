"""The program of docs/live-audit.md that checks an exported log without fairgate."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "live-audit.md").read_text(encoding="utf-8")
Check = Callable[[Path], Any]


def page_checks() -> list[Check]:
    """Return the functions of the page, made of nothing but its own imports."""
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(PAGE):
        if example.source.startswith(("import ", "write = ", "def ")):
            exec(example.source, names)
    assert not any(getattr(each, "__name__", "").startswith("fairgate.live") for each in names.values())
    return [names["check"], names["check_rows"]]
