"""``fairgate advise``: which threshold to use for one's own applicants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fairgate.cli.options import AsJson
from fairgate.store import prepare_folder


def advise(
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
    from fairgate.advice import advise as find
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
    advice = find(chosen.take_in(), chosen.aims, quiet=as_json)
    document = write(advice, chosen.out, str(chosen.file or chosen.query))
    if as_json:
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    show(advice, Console())
    written = f"Written to {chosen.out}: open report.html (also report.json, thresholds.csv)"
    Console().print(written, highlight=False, soft_wrap=True)
