"""``fairgate live audit``: recompute a gate's whole log, in its database or from an exported file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairgate.cli.live.options import Config, Folder
from fairgate.cli.options import Allow, AsJson


def audit(
    source: Annotated[
        str | None, typer.Argument(metavar="[GATE|FILE]", help="Gate, or a file that live export wrote.")
    ] = None,
    config: Config = Path("gate.toml"),
    head: Annotated[str | None, typer.Option(help="Hash of an event that was noted earlier: it must be there.")] = None,
    last: Annotated[int | None, typer.Option(help="Number of the event that was noted earlier.", min=1)] = None,
    accept_versions: Annotated[
        bool,
        typer.Option("--accept-versions", help="Exit code 0 though proposals differ, if older versions made them."),
    ] = False,
    allow: Allow = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Recompute every hash, draw, decision, count and policy; exit code 1 if an event does not fit, which is named."""
    from fairgate.live.audit import audit_log, stored_log
    from fairgate.live.auditing.terminal import show
    from fairgate.live.config import read_config
    from fairgate.live.database import connect

    if source is not None and (Path(source).suffix == ".zip" or Path(source).is_file()):
        report = audit_log(Path(source), head=head, last=last, allow=allow or (), folder=folder)
    else:
        settings = read_config(config, allow or ())
        with stored_log(connect(settings.database), source or settings.gates[0].name) as log:
            where = folder or settings.folder
            report = audit_log(log, head=head, last=last, allow=settings.allow, folder=where)
    if as_json:
        typer.echo(json.dumps(report.document(), indent=1, ensure_ascii=False))
    else:
        show(report, Console())
    if report.verdict == "findings" or (report.verdict == "versions" and not accept_versions):
        raise typer.Exit(1)
