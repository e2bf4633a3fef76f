"""``fairgate init``: an example to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def init(folder: Annotated[Path, typer.Argument(help="Folder to write to.")] = Path()) -> None:
    """Write an example to begin with: a commented policy.toml and a small applicants.csv."""
    from fairgate.advice.example import write_example

    for path in write_example(folder):
        typer.echo(f"Written {path}")
    typer.echo(f"Next: fairgate advise --config {folder / 'policy.toml'}")
