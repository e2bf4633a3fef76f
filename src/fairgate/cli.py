"""The command line: ``fairgate run``, ``bench``, ``reproduce``, ``simulate``, ``init``, ``list``."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

import fairgate as fg
from fairgate.errors import InputError
from fairgate.experiments.output import prepare_folder, write_text
from fairgate.experiments.plan import METHODS, ROOT_SEED, TASKS, Plan
from fairgate.experiments.results import VERDICTS, Number
from fairgate.learners import LEARNERS
from fairgate.progress import progress
from fairgate.run import TAIL, Estimate
from fairgate.settings import whole_number
from fairgate.tasks import presets

app = typer.Typer(
    help="Choose a decision threshold online, under fairness and service constraints, in a world that answers back.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Rounds = Annotated[int, typer.Option(help="Rounds a loop.")]
Seeds = Annotated[int, typer.Option(help="Independent loops a learner.")]
Seed = Annotated[int, typer.Option(help="Root of all random numbers.")]
Batch = Annotated[int, typer.Option(help="People a round.")]
Tail = Annotated[int, typer.Option(help="Rounds at the end over which means are taken.")]
Workers = Annotated[int, typer.Option(help="Processes; results do not depend on it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


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


def check_size(rounds: int, tail: int, seed: int, **others: int) -> None:
    """Refuse numbers no run can have, before anything is begun."""
    whole_number("--seed", seed, 0)
    for name, value in {"rounds": rounds, "tail": tail, **others}.items():
        whole_number(f"--{name}", value, 1)
    if tail > rounds:
        raise InputError(f"--rounds {rounds} is shorter than the tail of {tail} rounds that is reported: ask for more")


@app.command(epilog="Example: fairgate run compas ofs primal-dual --rounds 3000 --seeds 10")
def run(
    task: Annotated[str, typer.Argument(help="A task: see `fairgate list`.")],
    learner: Annotated[list[str], typer.Argument(help="Learners, such as ofs or ofs:c=0.1,exploration=0.")],
    rounds: Rounds = 3000,
    seeds: Seeds = 10,
    seed: Seed = 0,
    batch: Batch = 256,
    tail: Tail = TAIL,
    workers: Workers = 1,
    as_json: AsJson = False,
    out: Annotated[Path | None, typer.Option(help="Folder for each run as Parquet, and summary.json.")] = None,
) -> None:
    """Run learners on a task in the closed loop and compare them with the oracle."""
    chosen = fg.load_task(task)
    learners = {name: fg.load_learner(name, task=task) for name in learner}
    check_size(rounds=rounds, seeds=seeds, seed=seed, batch=batch, tail=tail, workers=workers)
    if out is not None:
        prepare_folder(out)
    summaries: dict[str, dict[str, Estimate]] = {}
    with progress(rounds * seeds * len(learners), quiet=as_json) as start:
        for name, each in learners.items():
            report = start(f"{task}: {name}")
            result = fg.simulate(chosen, each, rounds, seeds, seed=seed, batch=batch, workers=workers, progress=report)
            summaries[name] = result.summary(tail)
            if out is not None:
                result.save(out / f"{task}-{name.replace(':', '-')}.parquet")
    last = chosen.at(rounds - 1)  # what drifts is judged as it stands in the end
    truth = fg.oracle(last)
    settings = {"rounds": rounds, "seeds": seeds, "seed": seed, "batch": batch, "tail": tail}
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
        when = "" if last.environment is chosen.environment else ", in the world as it stands in the last round"
        _print_run(task, settings, summaries, truth.best, when)


def _plain(summary: dict[str, Estimate]) -> dict[str, Any]:
    """Summary as JSON; a standard deviation that does not exist is null."""
    return {
        name: {"mean": value.mean, "sd": None if value.sd != value.sd else value.sd} for name, value in summary.items()
    }


def _print_run(
    task: str, settings: dict[str, int], summaries: dict[str, dict[str, Estimate]], best: fg.Point, when: str
) -> None:
    size = f"{settings['seeds']} seeds × {settings['rounds']} rounds of {settings['batch']} people"
    table = Table(title=f"{task}: {size}", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("\nlearner", overflow="fold", min_width=13)
    for heading in ("\nreward", "batch\ngap", "exact\ngap", "batch\nviolation", "exact\nviolation", "feasible\nrounds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, summary in summaries.items():
        table.add_row(
            name,
            _stacked(summary["reward"], 4),
            _stacked(summary["gap"], 4),
            _stacked(summary["population_gap"], 4),
            _stacked(summary["violation"], 1),
            _stacked(summary["population_violation"], 1),
            f"{summary['feasible'].mean:.0%}",
        )
    console = Console()
    console.print(table)
    console.print(
        f"Mean ± sd over seeds; reward, gaps and feasible rounds over the last {settings['tail']} rounds, violations "
        "over all. Batch is what the learner sees, exact is the population's truth.",
        highlight=False,
    )
    kind = "Best feasible" if best.feasible else "No feasible threshold; least violating"
    console.print(f"{kind} fixed {best}{when}", highlight=False)


def _plain_words(text: str) -> str:
    """Take the marks of a docstring away: links, references and code."""
    return re.sub(r" \[\d+\]_|:\w+:|`", "", text)


def _stacked(value: Estimate, digits: int) -> str:
    spread = "" if value.sd != value.sd else f"\n± {value.sd:.{digits}f}"
    return f"{value.mean:.{digits}f}{spread}"


@app.command(name="list", epilog="Example: fairgate list --json")
def list_names(as_json: AsJson = False) -> None:
    """List the tasks and learners by name."""
    tasks = {name: preset["title"] for name, preset in presets().items()}
    learners = {name: _plain_words((kind.__doc__ or "").splitlines()[0]) for name, kind in LEARNERS.items()}
    if as_json:
        typer.echo(json.dumps({"tasks": tasks, "learners": learners}, indent=2))
        return
    for title, rows in (("Tasks", tasks), ("Learners", learners)):
        table = Table("name", "what it is", title=title, title_justify="left")
        for name, text in rows.items():
            table.add_row(name, text)
        Console().print(table)


@app.command(epilog="Example: fairgate reproduce table1 figure3 --seeds 100")
def reproduce(
    part: Annotated[list[str] | None, typer.Argument(help="Parts, such as table1 or figure3; all if none.")] = None,
    rounds: Rounds = 3000,
    seeds: Seeds = 10,
    many: Annotated[int, typer.Option(help="Seeds of the second look at every claim.")] = 100,
    seed: Seed = ROOT_SEED,
    tail: Tail = TAIL,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as cores if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for tables, figures, runs and the report.")] = Path("results"),
) -> None:
    """Reproduce the paper: every table, every figure, every claim, beside the paper's own numbers."""
    from joblib import cpu_count

    from fairgate.experiments.figure1 import SMOOTH
    from fairgate.experiments.reproduce import reproduce as run_all

    workers = cpu_count() if workers is None else workers
    check_size(rounds=rounds, seeds=seeds, many=many, seed=seed, tail=tail, workers=workers)
    if rounds < SMOOTH:
        raise InputError(f"--rounds {rounds} is too short: the figures show means of {SMOOTH} rounds, ask for as many")
    plan = Plan(rounds=rounds, seeds=seeds, many=many, seed=seed, tail=tail)
    errors = Console(stderr=True)

    def say(text: str) -> None:
        errors.print(text, highlight=False, soft_wrap=True)

    summary, changed = run_all(part or [], plan, out, workers, say)
    console = Console()
    if any(key.startswith("table1.") for key in summary["numbers"]):
        console.print(_table1(summary["numbers"]))
    if summary["claims"]:
        verdicts = Counter(claim["verdict"] for claim in summary["claims"].values())
        counted = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
        console.print(f"Of {len(summary['claims'])} claims of the paper: {counted}.", highlight=False)
    done = "Written to" if changed else "Nothing has changed since the last run; all is in"
    console.print(f"{done} {out}: open report.html", highlight=False, soft_wrap=True)


@app.command(epilog="Example: fairgate bench --learners ofs,random --environments mve-s,german --learner mine:Mine")
def bench(
    learners: Annotated[list[str] | None, typer.Option(help="Learners, such as ofs,random; all if not given.")] = None,
    environments: Annotated[
        list[str] | None, typer.Option(help="Tasks, such as mve-s,german; all if not given.")
    ] = None,
    seeds: Seeds = 100,
    rounds: Rounds = 3000,
    batch: Batch = 256,
    seed: Seed = 0,
    learner: Annotated[
        list[str] | None, typer.Option(help="Your own learner, package.module:Class or package.module:Class:key=value.")
    ] = None,
    level: Annotated[list[str] | None, typer.Option(help="Only learners of this level, and ofs.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as cores if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the page, the numbers and the runs.")] = Path("bench"),
    as_json: AsJson = False,
) -> None:
    """Run every learner on every task and rank them: a leaderboard, a page and all numbers."""
    from joblib import cpu_count

    from fairgate.bench.benchmark import run_bench
    from fairgate.bench.entrants import split_names
    from fairgate.bench.matrix import Size
    from fairgate.bench.terminal import show

    workers = cpu_count() if workers is None else whole_number("--workers", workers, 1)
    if level and not split_names(level):
        raise InputError(f"--level must be one or more of A, B, C, D, got {', '.join(map(repr, level))}")
    errors = Console(stderr=True)
    found = run_bench(
        out,
        split_names(learners) if learners else None,
        split_names(environments) if environments else None,
        Size(rounds=rounds, seeds=seeds, seed=seed, batch=batch),
        own=learner or [],
        levels=[each.upper() for each in split_names(level or [])],
        workers=workers,
        say=lambda text: errors.print(text, highlight=False, soft_wrap=True),
    )
    if as_json:
        typer.echo(json.dumps(found.document, indent=1, ensure_ascii=False))
    else:
        show(found.matrix, found.board, Console())
        Console().print(f"Written to {out}: open bench.html", highlight=False, soft_wrap=True)
    for failure in found.matrix.failures:
        typer.echo(f"fairgate: {failure}", err=True)
    if found.matrix.failures:
        raise typer.Exit(1)


@app.command(
    epilog="Example: fairgate simulate applicants.csv --score risk_score --label repaid --group sex --cost 2 "
    "--parity 0.05 --service 0.3:0.8"
)
def simulate(
    file: Annotated[
        Path | None, typer.Argument(readable=False, help="Table: .csv, .parquet, .arrow, .feather or .duckdb.")
    ] = None,
    query: Annotated[str | None, typer.Option(help="SQL for DuckDB, over files or a .duckdb file.")] = None,
    config: Annotated[Path | None, typer.Option(help="Policy file; options given here win.")] = None,
    score: Annotated[str | None, typer.Option(help="Column a threshold is set on.")] = None,
    label: Annotated[str | None, typer.Option(help="Column with what came of the person; may be missing.")] = None,
    group: Annotated[str | None, typer.Option(help="Column with the person's group.")] = None,
    positive: Annotated[str | None, typer.Option(help="Label that counts as 1.")] = None,
    descending: Annotated[
        bool | None, typer.Option("--descending/--ascending", help="Whether a higher score is worse.")
    ] = None,
    cost: Annotated[float | None, typer.Option(help="Cost of accepting somebody with label 0.")] = None,
    parity: Annotated[float | None, typer.Option(help="Largest gap between the groups' acceptance rates.")] = None,
    service: Annotated[str | None, typer.Option(help="Window of the acceptance rate, such as 0.3:0.8.")] = None,
    feedback: Annotated[
        str | None, typer.Option(help="Strengths of feedback, such as 0,0.5; advice is for the first.")
    ] = None,
    current: Annotated[float | None, typer.Option(help="Threshold in use when the table was made.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Independent loops a learner.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds a loop.")] = None,
    seed: Annotated[int | None, typer.Option(help="Root of all random numbers.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for report.html, report.json and thresholds.csv.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the threshold to use for your own applicants: findings, figures, loops and a recommendation."""
    from fairgate.advice import advise
    from fairgate.advice.config import parse_strengths, parse_window, put_together
    from fairgate.advice.output import write
    from fairgate.advice.terminal import show

    given: dict[str, Any] = {
        "file": file,
        "query": query,
        "score": score,
        "label": label,
        "group": group,
        "positive": positive,
    }
    given |= {"descending": descending, "cost": cost, "parity": parity, "service": parse_window(service)}
    given |= {"feedback": parse_strengths(feedback), "current": current, "seeds": seeds, "rounds": rounds}
    chosen = put_together(config, {**given, "seed": seed, "out": out})
    prepare_folder(chosen.out)
    advice = advise(chosen.take_in(), chosen.aims, quiet=as_json)
    document = write(advice, chosen.out, str(chosen.file or chosen.query))
    if as_json:
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    show(advice, Console())
    written = f"Written to {chosen.out}: open report.html (also report.json, thresholds.csv)"
    Console().print(written, highlight=False, soft_wrap=True)


@app.command(epilog="Example: fairgate init credit && fairgate simulate --config credit/policy.toml")
def init(folder: Annotated[Path, typer.Argument(help="Folder to write to.")] = Path()) -> None:
    """Write an example to begin with: a commented policy.toml and a small applicants.csv."""
    from fairgate.advice.example import write_example

    for path in write_example(folder):
        typer.echo(f"Written {path}")
    typer.echo(f"Next: fairgate simulate --config {folder / 'policy.toml'}")


def _table1(numbers: dict[str, Any]) -> Table:
    """Table I as wide as a terminal, the paper's figures below ours."""
    figures = {"reward": ("reward", 4), "gap": ("DP gap (batch)", 4), "violation": ("violation (batch)", 2)}
    shown = Table("task", "method", title="Table I, the paper's figures below ours", box=box.SIMPLE_HEAD)
    for heading, _ in figures.values():
        shown.add_column(heading, justify="right", no_wrap=True)
    for task in TASKS:
        for method in METHODS:
            for source in ("ours", "paper"):
                cells = [
                    Number(**numbers[f"table1.{task}.{method}.{figure}"][source]).text(digits)
                    for figure, (_, digits) in figures.items()
                ]
                head = (task, method) if source == "ours" else ("", "  paper")
                shown.add_row(*head, *cells, style="" if source == "ours" else "dim")
    return shown


def main() -> None:
    """Run the program; bad input is one sentence and exit code 2."""
    try:
        app()
    except InputError as error:
        typer.echo(f"fairgate: {error}", err=True)
        sys.exit(2)
