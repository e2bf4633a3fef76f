"""``fairgate live demo``: a made-up lender against a real service, beside what a simulation says."""

from __future__ import annotations

import time
import uuid
from contextlib import ExitStack
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from fairgate.cli.options import Batch, Seed, check_size, say
from fairgate.errors import InputError
from fairgate.places import find_task


def demo(
    task: Annotated[str, typer.Option(help="Whose people apply: see `fairgate list`.")] = "interior",
    learner: Annotated[str, typer.Option(help="Who learns, such as safe-forecast or mixture.")] = "safe-forecast",
    rounds: Annotated[int, typer.Option(help="Rounds to play.")] = 400,
    batch: Batch = 200,
    late: Annotated[int, typer.Option(help="Rounds after which an outcome is reported.")] = 30,
    seed: Seed = 0,
    pace: Annotated[float, typer.Option(help="Least seconds per round.")] = 0.1,
    port: Annotated[int, typer.Option(help="Port of the service; 0 is any that is free.")] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="Go on serving in the end, and leave the database.")] = False,
    url: Annotated[str | None, typer.Option(help="A running service to use instead of one of its own.")] = None,
    gate: Annotated[str, typer.Option(help="The gate's name there.")] = "demo",
    key: Annotated[str | None, typer.Option(help="A key for it: decide, outcomes, read and admin.")] = None,
) -> None:
    """Watch a gate learn: a made-up lender sends applicants and late outcomes over HTTP, and people respond."""
    from fairgate.live.client import Client
    from fairgate.live.demo import Population, Lender, rounded, spec_of, task_of
    from fairgate.live.demo_service import Place, own_service

    chosen = rounded(find_task(task))
    check_size(rounds=rounds, tail=1, seed=seed, batch=batch)
    if late < 0 or pace < 0:
        raise InputError(f"--late and --pace must be at least 0, got {late} and {pace:g}")
    if url is not None and key is None:
        raise InputError("--key must be given with --url: a key of scopes decide, outcomes, read and admin")
    with ExitStack() as stack:
        if url is None or key is None:
            place = stack.enter_context(own_service(spec_of(chosen, learner, seed=seed), port, keep))
            say(f"Page  {place.url}/\nKey   {place.page_key}")
        else:
            place = Place(url, gate, key)
        client = stack.enter_context(Client(place.url, place.gate, place.key))
