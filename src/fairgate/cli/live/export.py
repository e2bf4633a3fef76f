"""``fairgate live export``: the whole log as one file, or the table of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairgate.cli.live.options import Config
from fairgate.cli.options import Allow, say
from fairgate.errors import InputError


def export(
    gate: Annotated[str | None, typer.Argument(help="Gate; that of the gate's file if not given.")] = None,
    out: Annotated[Path | None, typer.Option(help="File for the whole log, to audit anywhere: credit.zip.")] = None,
    table: Annotated[
        Path | None, typer.Option(help="Parquet file with a row per application, for advise, monitor and audit.")
    ] = None,
    config: Config = Path("gate.toml"),
    allow: Allow = None,
) -> None:
    """Write the whole log to a file that can be audited without the server, or the decisions as a table."""
    from fairgate.live.audit import stored_log
    from fairgate.live.config import read_config
    from fairgate.live.database import connect
    from fairgate.live.decisions import export_decisions
    from fairgate.live.export import export_log

    if out is None and table is None:
        raise InputError("say what to write: --out credit.zip for the whole log, --table decisions.parquet")
    for option, path, ending in (("--out", out, ".zip"), ("--table", table, ".parquet")):
        if path is not None and path.suffix != ending:
            raise InputError(f"{option} must be a file that ends in {ending}, got {path}")
    settings = read_config(config, allow or ())
    with stored_log(connect(settings.database), gate or settings.gates[0].name) as log:
        if out is not None:
            head = export_log(log, out)
            say(f"Written {out}: {head['last']} events, the last with the hash {head['head']}: note it")
        if table is not None:
            say(f"Written {table}: {export_decisions(log, table, settings.allow)} applications")
