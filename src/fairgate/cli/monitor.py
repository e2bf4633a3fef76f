"""``fairgate monitor``: what has drifted since an advice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairgate.cli.options import Allow, AsJson, say


def monitor(
    file: Annotated[
        Path | None, typer.Argument(readable=False, help="Table of later people, with the columns of the advice.")
    ] = None,
    against: Annotated[Path, typer.Option(help="Folder that fairgate advise wrote.")] = Path("advice"),
    query: Annotated[str | None, typer.Option(help="SQL for DuckDB, over files or a .duckdb file.")] = None,
    max_lost: Annotated[float, typer.Option(help="Largest share of rows that may be left out.")] = 0.2,
    allow: Allow = None,
    as_json: AsJson = False,
) -> None:
    """Compare later people with those of an advice; exit code 1 if a constraint is broken with its certainty."""
    from fairgate.advice.monitor import LOG
    from fairgate.advice.monitor import monitor as compare
    from fairgate.advice.report.monitoring import show

    found = compare(file, against, query=query, max_lost=max_lost, allow=allow or ())
    if as_json:
        typer.echo(json.dumps(found.document(), indent=1, ensure_ascii=False))
    else:
        show(found, Console())
        say(f"Kept in {against / LOG}")
    if found.broken:
        raise typer.Exit(1)
