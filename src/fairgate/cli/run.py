"""``fairgate run``: learners on a task, compared with the oracle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

import fairgate as fg
from fairgate.amounts import amount
from fairgate.bench.share import PRICE, normalised_reward
from fairgate.cli.options import AsJson, OwnTail, Rounds, Seed, Seeds, Workers, check_size
from fairgate.errors import InputError, told
from fairgate.estimates import Estimate
from fairgate.learners.warm import with_history
from fairgate.places import find_learner, find_task
from fairgate.progress import progress
from fairgate.store import file_name, prepare_folder, write_text
from fairgate.sweep.parameters import with_values
from fairgate.tail import tail_of
from fairgate.worlds.loading import batch_of, is_world


def run(
    task: Annotated[str, typer.Argument(help="A task: see `fairgate list`; or your own, package.module:factory.")],
    learner: Annotated[
        list[str],
        typer.Argument(help="Learners, such as ofs or ofs:c=0.1,exploration=0; or your own, package.module:Class."),
    ],
    rounds: Rounds = 3000,
    seeds: Seeds = 10,
    seed: Seed = 0,
    batch: Annotated[
        int | None, typer.Option(help="People per round; 256 if not given, or those of a random world.")
    ] = None,
    tail: OwnTail = None,
    workers: Workers = 1,
    as_json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Folder for each run as Parquet, and summary.json.")] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another value of a number of the task or a learner, such as rate=0.2."),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="Table of past decisions to start from: columns score, group, accepted and outcome."),
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(help="jax: each loop by itself, compiled, much faster for few loops; numpy: the same, slowly."),
    ] = None,
) -> None:
    """Run learners on a task in the closed loop and compare them with the oracle."""
    chosen = find_task(task)
    learners = {name: find_learner(name, chosen) for name in learner}
    chosen, learners = with_values(chosen, learners, given or [])
    if history is not None:
        past = fg.History.of(history)
        learners = {name: with_history(each, past, name) for name, each in learners.items()}
    last = tail_of(rounds) if tail is None else tail
    world = is_world(chosen.name)
    batch = batch_of(chosen.name) if batch is None else batch
    check_size(rounds=rounds, seeds=seeds, seed=seed, batch=batch, tail=last, workers=workers)
    if out is not None:
        prepare_folder(out)
    if library == "jax":
        keep_compiled()
    summaries: dict[str, dict[str, Estimate]] = {}
    with progress(rounds * seeds * len(learners), quiet=as_json) as start:
        for name, each in learners.items():
            report = start(f"{chosen.name}: {name}")
            size: dict[str, Any] = {
                "seed": seed,
                "batch": batch,
                "workers": workers,
                "progress": report,
                "library": library,
            }
            with _said(f"learner {name!r} failed on {chosen.name}"):
                result = fg.simulate(chosen, each, rounds, seeds, **size)
            summaries[name] = result.summary(last)
            if world:
                summaries[name]["share"] = Estimate.of(normalised_reward(result, chosen))
            if out is not None:
                result.save(out / f"{file_name(f'{chosen.name}-{name}'.replace(':', '-'))}.parquet")
    with _said(f"the oracle failed on {chosen.name}"):
        end = chosen.at(rounds - 1)  # what drifts is judged as it stands in the end
        truth = fg.oracle(end)
    settings = {"rounds": rounds, "seeds": seeds, "seed": seed, "batch": batch, "tail": last}
    document = {
        "task": chosen.describe(),
        **settings,
        "oracle": {"grid": vars(truth.best), "refined": vars(truth.refined)},
        "learners": {
            name: {"settings": learners[name].describe(), **_plain(summary)} for name, summary in summaries.items()
        },
    }
    if out is not None:
        write_text(out / "summary.json", json.dumps(document, indent=2) + "\n")
    if as_json:
        typer.echo(json.dumps(document, indent=2))
    else:
        when = "" if end.environment is chosen.environment else ", in the world as it stands in the last round"
        _print_run(chosen.name, settings, summaries, truth.best, when)


def keep_compiled() -> None:
    """Have JAX keep what it compiles in the user's cache folder, unless it is told of another or cannot write there."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "fairgate", "jax")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


@contextmanager
def _said(what: str) -> Iterator[None]:
    """Say in one sentence what a user's own learner or task raises."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {told(error)}") from error


def _plain(summary: dict[str, Estimate]) -> dict[str, Any]:
    """Summary as JSON; a standard deviation that does not exist is null."""
    return {name: {"mean": value.mean, "sd": value.known().get("sd")} for name, value in summary.items()}


def _print_run(
    task: str, settings: dict[str, int], summaries: dict[str, dict[str, Estimate]], best: fg.Point, when: str
) -> None:
    size = f"{amount(settings['seeds'], 'seed')} × {amount(settings['rounds'], 'round')} of {settings['batch']} people"
    table = Table(title=f"{task}: {size}", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("\nlearner", overflow="fold", min_width=13)
    for heading in ("\nreward", "batch\ngap", "exact\ngap", "batch\nviolation", "exact\nviolation", "feasible\nrounds"):
        table.add_column(heading, justify="right", no_wrap=True)
    digits = {"reward": 4, "gap": 4, "population_gap": 4, "violation": 1, "population_violation": 1}
    for name, summary in summaries.items():
        cells = (summary[figure].text(count).replace(" ±", "\n±") for figure, count in digits.items())
        table.add_row(name, *cells, f"{summary['feasible'].mean:.0%}")
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"Mean ± sd over seeds; reward, gaps and feasible rounds over the last {settings['tail']} rounds, violations "
        "over all. Batch is what the learner sees, exact is the population's truth."
    )
    normalised = [f"{name} {each['share'].text(2)}" for name, each in summaries.items() if "share" in each]
    if normalised:
        console.print(
            f"Normalised reward: {'; '.join(normalised)}. Over all rounds, 0 is what the best fair lottery earns in "
            "the long run and 1 what the best fixed lottery of two thresholds does; a unit of violation costs "
            f"{PRICE:g}."
        )
    kind = "Best feasible" if best.feasible else "No feasible threshold; least violating"
    console.print(f"{kind} fixed {best}{when}")
