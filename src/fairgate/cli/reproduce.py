"""``fairgate reproduce``: the paper's tables, figures and claims."""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from fairgate.cli.options import AllCores, OnCluster, Rounds, Seed, Seeds, Tail, check_size, say
from fairgate.errors import InputError
from fairgate.estimates import Estimate
from fairgate.experiments.plan import METHODS, ROOT_SEED, TASKS, Plan
from fairgate.experiments.results import VERDICTS
from fairgate.tail import TAIL


def reproduce(
    part: Annotated[
        list[str] | None,
        typer.Argument(
            help="Parts, such as table1 or figure3. Without any, all that take half a minute on two cores together; "
            "roots adds Tables IV and V over many roots of random numbers, which takes two minutes more; all runs "
            "everything."
        ),
    ] = None,
    rounds: Rounds = 3000,
    seeds: Seeds = 10,
    many: Annotated[int, typer.Option(help="Seeds of the second look: sets of --seeds, each another root.")] = 200,
    seed: Seed = ROOT_SEED,
    tail: Tail = TAIL,
    workers: AllCores = None,
    cluster: OnCluster = None,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures, runs and the report.")] = Path("results"),
) -> None:
    """Reproduce the paper: every table, every figure, every claim, beside the paper's own numbers."""
    from joblib import cpu_count

    from fairgate.experiments.figures import SMOOTH
    from fairgate.experiments.reproduce import reproduce as run_all

    workers = cpu_count() if workers is None else workers
    check_size(rounds=rounds, seeds=seeds, many=many, seed=seed, tail=tail, workers=workers)
    if rounds < SMOOTH:
        raise InputError(f"--rounds {rounds} is too short: the figures show means of {SMOOTH} rounds, ask for as many")
    plan = Plan(rounds=rounds, seeds=seeds, many=many, seed=seed, tail=tail)
    summary, changed = run_all(part or [], plan, out, workers, partial(say, errors=True), cluster)
    if any(key.startswith("table1.") for key in summary["numbers"]):
        Console().print(_table1(summary["numbers"]))
    if summary["claims"]:
        verdicts = Counter(claim["verdict"] for claim in summary["claims"].values())
        counted = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
        say(f"Of {len(summary['claims'])} claims of the paper: {counted}.")
    done = "Written to" if changed else "Nothing has changed since the last run; all is in"
    say(f"{done} {out}: open report.html")


def _table1(numbers: dict[str, Any]) -> Table:
    """Table I as wide as a terminal, the paper's figures below ours."""
    figures = {"reward": ("reward", 4), "gap": ("DP gap (batch)", 4), "violation": ("violation (batch)", 2)}
    shown = Table("task", "method", title="Table I, the paper's figures below ours", box=box.SIMPLE_HEAD)
    for heading, _ in figures.values():
        shown.add_column(heading, justify="right", no_wrap=True)
    for task in TASKS:
        for method in METHODS:
            for source in ("ours", "paper"):
                found = {figure: numbers[f"table1.{task}.{method}.{figure}"][source] for figure in figures}
                cells = [
                    Estimate(found[figure]["mean"], sd=found[figure].get("sd", math.nan)).text(digits)
                    for figure, (_, digits) in figures.items()
                ]
                head = (task, method) if source == "ours" else ("", "  paper")
                shown.add_row(*head, *cells, style="" if source == "ours" else "dim")
    return shown
