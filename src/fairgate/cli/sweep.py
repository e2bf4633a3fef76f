"""``fairgate sweep``: learners over many settings of a task, and a map of where each works."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairgate.cli.options import AllCores, AsJson, Batch, OnCluster, Rounds, Seed, say
from fairgate.errors import InputError
from fairgate.store import plain
from fairgate.sweep import sweep as run_sweep
from fairgate.sweep.design import parse_range


def sweep(
    task: Annotated[str, typer.Argument(help="A task: see `fairgate list`; or your own, package.module:factory.")],
    learner: Annotated[
        list[str], typer.Argument(help="Learners, such as ofs or ofs:c=0.1; or your own, package.module:Class.")
    ],
    over: Annotated[
        list[str] | None,
        typer.Option(help="A parameter and its values: rate=0.01:0.5:20, rate=0.01:1:9:log or batch=64,256."),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Independent loops per learner and setting.")] = 100,
    rounds: Rounds = 3000,
    batch: Batch = 256,
    seed: Seed = 0,
    design: Annotated[str, typer.Option(help="full: all combinations; random: some between the ends.")] = "full",
    settings: Annotated[int | None, typer.Option(help="Settings of a random design; 100 if not given.")] = None,
    workers: AllCores = None,
    cluster: OnCluster = None,
    out: Annotated[Path, typer.Option(help="Folder for the page, the tables and what is done.")] = Path("sweep"),
    keep: Annotated[str, typer.Option(help="summary: figures per loop; run: every round of each too.")] = "summary",
    as_json: AsJson = False,
) -> None:
    """Run learners over many settings of a task, and map where each works and where nothing does."""
    from fairgate.sweep.terminal import show

    parsed = [parse_range(text) for text in over or []]
    names = [name for name, _ in parsed]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"--over {twice[0]} is given twice: list all its values in one")
    found = run_sweep(
        task,
        learner,
        dict(parsed),
        seeds,
        rounds=rounds,
        batch=batch,
        seed=seed,
        design=design,
        settings=settings,
        workers=workers,
        cluster=cluster,
        out=out,
        keep=keep,
        say=partial(say, errors=True),
    )
    found.write(out)
    if as_json:
        typer.echo(json.dumps(plain({name: column.tolist() for name, column in found.columns().items()}), indent=1))
    else:
        show(found, Console(highlight=False))
        say(f"Written to {out}: open sweep.html")
    for failure in found.failures[:20]:
        typer.echo(f"fairgate: {failure}", err=True)
    if len(found.failures) > 20:
        typer.echo(f"fairgate: and {len(found.failures) - 20} more, in {out / 'sweep.html'}", err=True)
    if found.failures:
        raise typer.Exit(1)
