"""The command line: one file per command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import fairgate as fg
from fairgate.cli.advise import advise
from fairgate.cli.audit import audit
from fairgate.cli.bench import bench
from fairgate.cli.cite import cite
from fairgate.cli.init import init
from fairgate.cli.list import list_names
from fairgate.cli.live import live
from fairgate.cli.monitor import monitor
from fairgate.cli.paper import paper
from fairgate.cli.reproduce import reproduce
from fairgate.cli.run import run
from fairgate.cli.sweep import sweep
from fairgate.errors import InputError, printable

app = typer.Typer(
    help="What a cut-off will do to each group once people respond, and which one keeps what you require, if any does.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"fairgate {fg.__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options of the program itself."""


app.command(epilog="Example: fairgate run compas ofs primal-dual --rounds 3000 --seeds 10")(run)
app.command(
    epilog="Example: fairgate sweep compas ofs smooth-optimist --over rate=0.01:0.5:20 --over epsilon=0.01:0.1:10"
)(sweep)
app.command(name="list", epilog="Example: fairgate list --json")(list_names)
app.command(epilog="Example: fairgate reproduce table1 figure3 --seeds 100")(reproduce)
app.command(epilog="Example: fairgate reproduce all --out results && fairgate paper --out results")(paper)
app.command(epilog="Example: fairgate bench --learners ofs,random --tasks mve-s,german --learner mine:Mine")(bench)
app.command(
    epilog="Example: fairgate advise applicants.csv --score risk_score --label repaid --group sex --cost 2 "
    "--parity 0.05 --service 0.3:0.8"
)(advise)
app.command(
    epilog="Example: fairgate audit decisions.parquet --decision accepted --group sex --date day --parity 0.05 "
    "--service 0.3:0.8 --fail"
)(audit)
app.command(epilog="Example: fairgate monitor march.csv --against advice")(monitor)
app.command(epilog="Example: fairgate init credit && fairgate advise --config credit/policy.toml")(init)
app.command(epilog="Example: fairgate cite >> references.bib")(cite)
app.add_typer(live, name="live")


def main() -> None:
    """Run the program; bad input is one sentence and exit code 2."""
    try:
        app()
    except InputError as error:
        typer.echo(f"fairgate: {printable(str(error))}", err=True)
        sys.exit(2)
