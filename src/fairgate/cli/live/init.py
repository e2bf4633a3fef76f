"""``fairgate live init``: a gate to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairgate.cli.options import Allow, say


def init(
    name: Annotated[str, typer.Argument(help="The gate's name: letters, digits, - and _.")],
    groups: Annotated[str, typer.Option(help="Names of the groups, with commas between them.")] = "a,b",
    database: Annotated[
        str | None, typer.Option(help="A file of SQLite or postgresql://user@host/name; NAME.db if not given.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(),
    allow: Allow = None,
) -> None:
    """Write a commented gate.toml, make its gate and the first keys. After changing gate.toml, run it again."""
    from fairgate.live.beginning import begin

    begun = begin(folder, name, [each.strip() for each in groups.split(",")], database, allow or ())
    config = folder / "gate.toml"
    for path in begun.written:
        say(f"Written {path}")
    if begun.keys:
        keys = begun.written[-1]
        say(f"The keys {', '.join(begun.keys)} are in {keys}, which only you can read; to see one: grep admin {keys}")
    else:
        say(f"The gate {name} is made again, as {config} says now; its keys are the same")
    say(f"Next: read {config}, then: fairgate live serve{'' if folder == Path() else f' --config {config}'}")
