"""``fairgate live rotate``: a new secret for a gate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairgate.cli.live.options import Config
from fairgate.cli.options import say


def rotate(
    reason: Annotated[str, typer.Argument(help="Why; it goes into the log.")], config: Config = Path("gate.toml")
) -> None:
    """Give the gate a new secret for its lottery numbers; the open round is closed, and running services go on."""
    from fairgate.live.beginning import opened

    with opened(config) as gate:
        told = gate.rotate_secret(reason, actor="command line")
        say(f"The gate {gate.name} has a new secret from round {told.round} on: event {told.seq} of its log")
