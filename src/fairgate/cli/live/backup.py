"""``fairgate live backup``: a copy of the database while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairgate.cli.live.options import Config
from fairgate.cli.options import Allow, say


def backup(
    to: Annotated[
        str, typer.Argument(help="File that is not there yet, or postgresql:// of a database without gates.")
    ],
    config: Config = Path("gate.toml"),
    allow: Allow = None,
) -> None:
    """Copy the database while it is in use, and check the copy: every log is whole, and none ends early."""
    from fairgate.live.backup import back_up
    from fairgate.live.config import read_config

    for gate in back_up(read_config(config, allow or ()).database, to):
        say(f"{gate.name}: {gate.events} events, {gate.cases} applications")
        say(f"Note, for the audit of a restored copy: --head {gate.head} --last {gate.events}")
    say(f"Written {to}")
