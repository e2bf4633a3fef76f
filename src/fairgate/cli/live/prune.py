"""``fairgate live prune``: remove applications of old rounds, as retention rules ask."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from fairgate.cli.live.options import Config
from fairgate.cli.options import Allow, say
from fairgate.errors import InputError


def prune(
    gate: Annotated[str | None, typer.Argument(help="Gate; that of the gate's file if not given.")] = None,
    older_than: Annotated[str, typer.Option(help="Age of rounds, since they closed, in days: 760d.")] = "760d",
    yes: Annotated[bool, typer.Option("--yes", help="Remove rows younger than 25 months, too.")] = False,
    config: Config = Path("gate.toml"),
    allow: Allow = None,
) -> None:
    """Remove applications, labels and overrides of old rounds; the log stays, and says what went."""
    from fairgate.live.config import read_config
    from fairgate.live.gate import Gate
    from fairgate.live.prune import RETENTION
    from fairgate.live.prune import prune as remove

    age = read_days(older_than)
    if age < RETENTION and not yes:
        raise InputError(
            f"--older-than {older_than} is below {RETENTION.days}d, the 25 months that Regulation B asks lenders to "
            "keep records for: say --yes if another rule holds for you"
        )
    settings = read_config(config, allow or ())
    name = gate or settings.gates[0].name
    opened = Gate(settings.database, name, allow=settings.allow, folder=settings.folder)
    try:
        due = opened.spec.label_due_days
        if age < timedelta(days=due):
            raise InputError(
                f"--older-than must be at least {due:g}d, as outcomes are due for {due:g} days, got {older_than}"
            )
        gone = remove(opened, age, actor="command line")
    finally:
        opened.shut()
    if gone is None:
        say(f"No round closed more than {age.days} days ago: nothing was removed")
        return
    say(
        f"Removed {gone.cases} applications, {gone.outcomes} labels and {gone.overrides} overrides of the rounds up to "
        f"{gone.through}; {gone.awaited} of them were accepted and never got a label"
    )


def read_days(text: str) -> timedelta:
    """Read an age in days.

    >>> read_days("760d").days
    760
    """
    found = re.fullmatch(r"(\d{1,6})d?", text)
    if found is None:
        raise InputError(f"--older-than must be a number of days such as 760d, got {text!r}")
    return timedelta(days=int(found[1]))
