"""The article: ``paper.pdf``, typeset from what a reproduction left in its folder, and from nothing else."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import cast

from fairgate.errors import InputError
from fairgate.experiments.reproduce import LONG
from fairgate.store import write_bytes

NEEDED = (*(f"table{number}" for number in range(1, 7)), "claims", "findings")
"""Parts that the article cannot do without; sections of others are left out if they were not run."""


def typeset(out: Path) -> list[str]:
    """Write ``paper.pdf`` under `out`; return the long parts that it says nothing of because they were not run."""
    try:
        import typst
    except ModuleNotFoundError:
        raise InputError("the article is typeset by typst: pip install 'fairgate[paper]'") from None
    try:
        done = json.loads((out / "summary.json").read_text(encoding="utf-8"))["settings"]["parts"]
    except (OSError, ValueError, KeyError):
        raise InputError(f"{out} holds no reproduction: run fairgate reproduce all --out {out} first") from None
    missing = [part for part in NEEDED if part not in done]
    if missing:
        few = ", ".join(missing)
        raise InputError(f"{out} lacks {few}, which the article needs: run fairgate reproduce all --out {out} first")
    template = resources.files(__name__).joinpath("paper.typ").read_bytes()
    pdf = typst.Compiler(template, root=out, ignore_system_fonts=True).compile(format="pdf")
    write_bytes(out / "paper.pdf", cast(bytes, pdf))
    return [part for part in LONG if part not in done]
