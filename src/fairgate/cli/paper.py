"""``fairgate paper``: the article about the reproduction, typeset from its results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairgate.cli.options import say


def paper(
    out: Annotated[Path, typer.Option(help="Folder that fairgate reproduce wrote to.")] = Path("results"),
) -> None:
    """Typeset the article about the reproduction, paper.pdf, from what fairgate reproduce has written."""
    from fairgate.experiments.article import typeset

    left_out = typeset(out)
    if left_out:
        say(f"Left out, as not run: {', '.join(left_out)}. To have all: fairgate reproduce all --out {out}")
    say(f"Written to {out}: open paper.pdf")
