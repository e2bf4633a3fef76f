"""``fairgate live``: a gate that decides, learns and can be audited; one file per command.

The commands load what they need when they run, so that the rest of the program starts without it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperGroup

from fairgate.cli.live.audit import audit
from fairgate.cli.live.backup import backup
from fairgate.cli.live.demo import demo
from fairgate.cli.live.export import export
from fairgate.cli.live.init import init
from fairgate.cli.live.keys import keys
from fairgate.cli.live.prune import prune
from fairgate.cli.live.rotate import rotate
from fairgate.cli.live.serve import serve
from fairgate.errors import InputError, printable

NEEDED = ("sqlalchemy", "alembic", "psycopg", "fastapi", "uvicorn", "httpx", "prometheus_client", "python_multipart")
"""Packages of the extra fairgate[live]."""


class LiveGroup(TyperGroup):
    """Commands that need the extra; a database that cannot be used is one sentence and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        missing = [name for name in NEEDED if find_spec(name) is None]
        if missing:
            raise InputError(f"fairgate live needs the package {missing[0]}: pip install 'fairgate[live]'")
        from fairgate.live.failures import UnavailableError

        try:
            return super().invoke(ctx)
        except UnavailableError as error:
            typer.echo(f"fairgate: {printable(str(error))}", err=True)
            raise typer.Exit(1) from None


live = typer.Typer(
    cls=LiveGroup, help="Run a gate: decide, learn from outcomes that arrive late, audit.", no_args_is_help=True
)
live.command(epilog="Example: fairgate live init credit --groups women,men && fairgate live serve")(init)
live.command(epilog="Example: fairgate live serve --config credit/gate.toml --port 8000")(serve)
live.command(epilog="Example: fairgate live demo --task label-delay --learner mixture --rounds 600")(demo)
live.command(epilog="Example: fairgate live backup credit-monday.db")(backup)
live.command(epilog="Example: fairgate live audit, or, anywhere: fairgate live audit credit.zip")(audit)
live.command(epilog="Example: fairgate live export --out credit.zip --table decisions.parquet")(export)
live.command(epilog="Example: fairgate live prune --older-than 760d")(prune)
live.command(epilog='Example: fairgate live rotate "somebody left who could read the database"')(rotate)
live.add_typer(keys, name="keys")
