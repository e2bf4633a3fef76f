"""The article: ``paper.pdf``, typeset from what a reproduction left in its folder, and from nothing else."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from fairgate.errors import InputError
from fairgate.store import write_bytes

NEEDED = (*(f"table{number}" for number in range(1, 7)), "finding1")
"""Tables that the article cannot do without: those of the parts that are run if none is named."""

OPTIONAL = {"rivals": "rivals", "roots": "roots", "choices": "choices"}
"""Sections that are left out if their table is missing, and the part that makes it."""


def typeset(out: Path) -> list[str]:
    """Write ``paper.pdf`` under `out`; return the parts whose sections are left out because they were not run there."""
    try:
        import typst
    except ModuleNotFoundError:
        raise InputError("the article is typeset with typst: pip install 'fairgate[paper]'") from None
    try:
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{out} holds no reproduction: run fairgate reproduce all --out {out} first") from None
    tables = summary.get("tables", {})
    missing = [key for key in NEEDED if key not in tables] + ([] if summary["claims"] else ["claims"])
    if missing:
        parts = ", ".join(missing)
        raise InputError(f"{out} lacks {parts}, which the article needs: run fairgate reproduce --out {out} first")
    template = resources.files("fairgate.experiments.article").joinpath("paper.typ").read_bytes()
    pdf = typst.compile(template, root=out, format="pdf", ignore_system_fonts=True)
    write_bytes(out / "paper.pdf", pdf)
    return [part for key, part in OPTIONAL.items() if key not in tables]
