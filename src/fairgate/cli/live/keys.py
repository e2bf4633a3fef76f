"""``fairgate live keys``: who may ask what of a gate."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from fairgate.cli.live.options import Config
from fairgate.cli.options import Allow, AsJson, say
from fairgate.errors import InputError

keys = typer.Typer(help="Make, list and revoke the keys of a gate.", no_args_is_help=True)


@keys.command(epilog="Example: fairgate live keys add branch-7 --scopes decide,outcomes --days 365")
def add(
    name: Annotated[str, typer.Argument(help="Who or what uses it; the log names it.")],
    scopes: Annotated[str, typer.Option(help="Some of decide,rounds,outcomes,read,admin,audit.")],
    days: Annotated[float | None, typer.Option(help="Days until it expires; never if not given.")] = None,
    config: Config = Path("gate.toml"),
    allow: Allow = None,
) -> None:
    """Make a key and print it; it cannot be shown again."""
    from fairgate.live.beginning import opened
    from fairgate.live.keys import create_key

    if days is not None and not 0 < days < 36500:
        raise InputError(f"--days must be above 0 and below 36500, got {days:g}")
    with opened(config, allow or ()) as gate:
        ends = None if days is None else datetime.now(UTC) + timedelta(days=days)
        token = create_key(gate, name, [each.strip() for each in scopes.split(",") if each.strip()], ends)
    typer.echo(token)


@keys.command(name="list", epilog="Example: fairgate live keys list")
def list_all(config: Config = Path("gate.toml"), allow: Allow = None, as_json: AsJson = False) -> None:
    """List all keys of a gate, without their secrets."""
    from fairgate.live.beginning import opened
    from fairgate.live.keys import list_keys

    with opened(config, allow or ()) as gate:
        found = list_keys(gate.engine, gate.name)
    if as_json:
        typer.echo(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return
    table = Table("id", "name", "may", "made", "state")
    for each in found:
        state = each.ended(datetime.now(UTC)) or ("" if each.expires is None else f"until {each.expires[:10]}")
        table.add_row(each.id, each.name, ", ".join(each.scopes), each.created[:10], state or "good")
    Console().print(table)


@keys.command(epilog="Example: fairgate live keys revoke 5f2a90c1d3e4")
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `keys list` shows it.")],
    config: Config = Path("gate.toml"),
    allow: Allow = None,
) -> None:
    """End a key; it is refused from now on."""
    from fairgate.live.beginning import opened
    from fairgate.live.keys import revoke_key

    with opened(config, allow or ()) as gate:
        facts = revoke_key(gate, key)
    say(f"Revoked {facts.id} ({facts.name})")
