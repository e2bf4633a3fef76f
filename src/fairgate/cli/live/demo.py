"""``fairgate live demo``: a made-up lender against a real service, beside what a simulation says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

import fairgate as fg
from fairgate.cli.options import Batch, Seed, check_size
from fairgate.errors import InputError
from fairgate.places import find_task

SEEDS = 10
"""Loops of the simulation that the demo is compared with."""

RECENT = 20
"""Rounds whose means are shown while the demo runs."""


def demo(
    task: Annotated[str, typer.Option(help="Whose people apply: see `fairgate list`, or package.module:factory.")] = (
        "interior"
    ),
    learner: Annotated[str, typer.Option(help="Who learns, such as safe-forecast or mixture.")] = "safe-forecast",
    rounds: Annotated[int, typer.Option(help="Rounds to play.")] = 400,
    batch: Batch = 200,
    late: Annotated[int, typer.Option(help="Rounds after which an outcome is reported.")] = 30,
    seed: Seed = 0,
    pace: Annotated[float, typer.Option(help="Least seconds per round.")] = 0.1,
    port: Annotated[int, typer.Option(help="Port of the service; 0 is any that is free.")] = 0,
    keep: Annotated[bool, typer.Option(help="Go on serving in the end, until Ctrl-C, and leave the database.")] = False,
    url: Annotated[str | None, typer.Option(help="A running service to use instead of one of its own.")] = None,
    gate: Annotated[str, typer.Option(help="The gate's name there.")] = "demo",
    key: Annotated[str | None, typer.Option(help="A key for it, with all scopes but audit.")] = None,
) -> None:
    """Watch a gate learn: a made-up lender sends applicants and late outcomes over HTTP, and people respond."""
    chosen = find_task(task)
    check_size(rounds=rounds, tail=1, seed=seed, batch=batch)
    if late < 0 or pace < 0:
        raise InputError(f"--late and --pace must be at least 0, got {late} and {pace:g}")
    with ExitStack() as stack:
        if url is None:
            place = stack.enter_context(own_service(spec_of(rounded(chosen), learner, seed=seed), port, keep))
        elif key is None:
            raise InputError("--key must be given with --url: a key with the scopes decide, outcomes, read and admin")
        else:
            place = Place(url, gate, key)
        client = stack.enter_context(Client(place.url, place.gate, place.key))
        play(client, place, chosen.environment, rounds, batch, late, seed, pace)
        if keep and url is None:
            say(f"The service goes on at {place.url} until Ctrl-C; its database stays in {place.folder}")
            with suppress(KeyboardInterrupt):
                place.wait()
