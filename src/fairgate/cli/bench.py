"""``fairgate bench``: every learner on every task, ranked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from fairgate.cli.options import AllCores, AsJson, OnCluster, Rounds, Seed, say
from fairgate.errors import InputError
from fairgate.problem import LEVELS
from fairgate.settings import whole_number

if TYPE_CHECKING:
    from fairgate.bench.matrix import Failure


def bench(
    learners: Annotated[list[str] | None, typer.Option(help="Learners, such as ofs,random; all if not given.")] = None,
    tasks: Annotated[list[str] | None, typer.Option(help="Tasks, such as mve-s,german; all if none is given.")] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Loops per learner and task, 100 by default; per world, 1 by default.")
    ] = None,
    rounds: Rounds = 3000,
    batch: Annotated[int | None, typer.Option(help="People per round on tasks, 256 by default.")] = None,
    seed: Seed = 0,
    learner: Annotated[
        list[str] | None, typer.Option(help="Your own learner, package.module:Class or package.module:Class:key=value.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Your own task, package.module:factory, alone or beside --tasks.")
    ] = None,
    level: Annotated[
        list[str] | None, typer.Option(help="Only learners of this feedback level, such as bandit.")
    ] = None,
    worlds: Annotated[
        str | None,
        typer.Option(
            help="Random worlds in place of tasks: 500 or 10000:20000:50 for judging, or 0:200 for development."
        ),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(help="With --worlds: policies that are ranked, threshold, lottery or per-group, which is all."),
    ] = None,
    history: Annotated[
        int | None,
        typer.Option(help="With --worlds: people an old threshold decides on before, whose table learners start from."),
    ] = None,
    workers: AllCores = None,
    cluster: OnCluster = None,
    out: Annotated[Path, typer.Option(help="Folder for the page, the numbers and the runs.")] = Path("bench"),
    as_json: AsJson = False,
) -> None:
    """Run every learner on every task, or on random worlds, and rank them: a leaderboard, a page and all numbers.

    Example: fairgate bench --worlds 100 --learners ofs,mixture --rounds 1000
    """
    from joblib import cpu_count

    from fairgate.bench.benchmark import run_bench
    from fairgate.bench.entrants import split_names
    from fairgate.bench.terminal import show
    from fairgate.simulation import Size

    workers = cpu_count() if workers is None else whole_number("--workers", workers, 1)
    if level and not split_names(level):
        raise InputError(f"--level must be one or more of {', '.join(LEVELS)}, got {', '.join(map(repr, level))}")
    if worlds is None and policies is not None:
        raise InputError(f"--policies is for --worlds, got {policies!r} without it")
    if worlds is None and history is not None:
        raise InputError(f"--history is for --worlds, got {history} without it")
    if worlds is not None:
        if batch is not None:
            raise InputError(f"--batch is for tasks: every world has its own, got {batch}")
        if tasks or task:
            raise InputError("--worlds and --tasks are two benchmarks: give one of them")
        _on_worlds(
            worlds,
            out,
            as_json,
            learners=split_names(learners) if learners else None,
            own=learner or [],
            levels=split_names(level or []),
            policies="per-group" if policies is None else policies,
            rounds=rounds,
            seeds=1 if seeds is None else seeds,
            seed=seed,
            history=0 if history is None else whole_number("--history", history, 1),
            workers=workers,
            cluster=cluster,
        )
        return
    found = run_bench(
        out,
        split_names(learners) if learners else None,
        [*split_names(tasks or []), *(task or [])] or None,
        Size(rounds=rounds, seeds=100 if seeds is None else seeds, seed=seed, batch=256 if batch is None else batch),
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
    _fail(found.matrix.failures)


def _on_worlds(text: str, out: Path, as_json: bool, **settings: Any) -> None:
    """Run learners on random worlds and print the board."""
    from fairgate.bench.worlds.benchmark import run_worlds
    from fairgate.bench.worlds.blocks import parse_worlds
    from fairgate.bench.worlds.terminal import show

    found = run_worlds(out, parse_worlds(text), say=partial(say, errors=True), **settings)
    if as_json:
        typer.echo(json.dumps(found.document, indent=1, ensure_ascii=False))
    else:
        show(found.board, found.document, Console())
        say(f"Written to {out}: open worlds.html")
    _fail(found.matrix.failures)


def _fail(failures: Sequence[Failure]) -> None:
    """Say what failed, and end so."""
    for failure in failures:
        typer.echo(f"fairgate: {failure}", err=True)
    if failures:
        raise typer.Exit(1)
