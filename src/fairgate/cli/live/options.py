"""Options that commands of ``fairgate live`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[Path, typer.Option(help="The gate's file.")]
"""Where ``gate.toml`` is; by default in the current folder."""

Folder = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the table of past decisions, if the gate has one; by default that of the gate's file."
    ),
]
"""Where a log's paths are seen from."""
