"""``fairgate bench``: every learner on every task, ranked."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairgate.cli.options import AllCores, AsJson, Batch, OnCluster, Rounds, Seed, Seeds, say
from fairgate.errors import InputError
from fairgate.problem import LEVELS
from fairgate.settings import whole_number


def bench(
    learners: Annotated[list[str] | None, typer.Option(help="Learners, such as ofs,random; all if not given.")] = None,
    tasks: Annotated[list[str] | None, typer.Option(help="Tasks, such as mve-s,german; all if none is given.")] = None,
    seeds: Seeds = 100,
    rounds: Rounds = 3000,
    batch: Batch = 256,
    seed: Seed = 0,
    learner: Annotated[
        list[str] | None, typer.Option(help="Your own learner, package.module:Class or package.module:Class:key=value.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Your own task, package.module:factory, alone or beside --tasks.")
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option(help="Only learners of this feedback level, such as bandit, and ofs.")
    ] = None,
    workers: AllCores = None,
    cluster: OnCluster = None,
    out: Annotated[Path, typer.Option(help="Folder for the page, the numbers and the runs.")] = Path("bench"),
    as_json: AsJson = False,
) -> None:
    """Run every learner on every task and rank them: a leaderboard, a page and all numbers."""
    from joblib import cpu_count

    from fairgate.bench.benchmark import run_bench
    from fairgate.bench.entrants import split_names
    from fairgate.bench.terminal import show
    from fairgate.simulation import Size

    workers = cpu_count() if workers is None else whole_number("--workers", workers, 1)
    if level and not split_names(level):
        raise InputError(f"--level must be one or more of {', '.join(LEVELS)}, got {', '.join(map(repr, level))}")
    found = run_bench(
        out,
        split_names(learners) if learners else None,
        [*split_names(tasks or []), *(task or [])] or None,
        Size(rounds=rounds, seeds=seeds, seed=seed, batch=batch),
        own=learner or [],
        levels=split_names(level or []),
        workers=workers,
        cluster=cluster,
        say=partial(say, errors=True),
    )
    if as_json:
        typer.echo(json.dumps(found.document, indent=1, ensure_ascii=False))
    else:
        show(found.matrix, found.board, Console())
        say(f"Written to {out}: open bench.html")
    for failure in found.matrix.failures:
        typer.echo(f"fairgate: {failure}", err=True)
    if found.matrix.failures:
        raise typer.Exit(1)
