"""``fairgate cite``: BibTeX."""

from __future__ import annotations

import typer

from fairgate.citation import citation


def cite() -> None:
    """Print BibTeX for fairgate and for the paper whose algorithm it starts from."""
    typer.echo(citation())
