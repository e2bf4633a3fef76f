"""``fairgate advise``: which threshold to use for one's own applicants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fairgate.cli.options import NAMED, Allow, asked, declare, option
from fairgate.progress import stage
from fairgate.store import prepare_folder

OPTIONS: dict[str, Any] = {
    "file": Annotated[
        str | None,
        typer.Argument(help="Table: .csv, .jsonl, .parquet, .arrow, .feather, .xlsx, .zip or .duckdb; - for a pipe."),
    ],
    "query": option(str, "SQL for DuckDB, over files or a .duckdb file."),
    "reader": option(str, "Your own reader of the file, module:function, which returns a data frame."),
    "config": option(Path, "Policy file; options given here win."),
    "allow": Allow,
    "score": option(str, "Column a threshold is set on."),
    "label": option(str, "Column with what came of the person; may be missing."),
    "group": option(list[str], "Column with the person's group; several are crossed."),
    "positive": option(list[str], "Label that is good; repeatable."),
    "descending": option(bool, "Whether a higher score is worse.", "--descending/--ascending"),
    "decision": option(str, "Column with the decision that was made, 0 or 1."),
    "accepted": option(list[str], "Decision that means accepted, if 1 does not; repeatable."),
    "date": option(str, "Column with the day of the decision, for the history."),
    "period": option(str, "Length of a period of the history: day, week, month, quarter or year."),
    "weight": option(str, "Column with how many people a row stands for."),
    "min_group": option(int, "Fewest people of a group; smaller ones are left out."),
    "max_lost": option(float, "Largest share of rows that may be left out."),
    "cost": option(float, "Cost of accepting somebody with a bad label."),
    "benefit": option(float, "What accepting somebody with a good label is worth."),
    "currency": option(str, "What cost and benefit are counted in, such as EUR."),
    "sure": option(float, "Probability with which the advice must hold."),
    **NAMED,
    "constraint": option(list[str], "Any constraint, such as parity=0.05 or module:Class=0.2; repeatable."),
    "feedback": option(
        str,
        "Strengths of feedback, above -1 and below 1, such as 0,0.5; advice is for the first.",
    ),
    "current": option(float, "Threshold in use when the table was made."),
    "loops": option(bool, "Also let learners run in the closed loop.", "--loops/--no-loops"),
    "seeds": option(int, "Independent loops per learner."),
    "rounds": option(int, "Rounds per loop."),
    "seed": option(int, "Root of all random numbers."),
    "out": option(Path, "Folder for report.html, report.json and thresholds.csv."),
    "pdf": option(bool, "Also write report.pdf.", "--pdf/--no-pdf"),
    "as_json": option(bool, "Print JSON instead of a table.", "--json/--no-json"),
}


def advise(**given: Any) -> None:
    """Find the threshold to use for your own applicants: a recommendation, and the evidence for it."""
    from fairgate.advice import advise as find
    from fairgate.advice.config import parse_strengths, put_together
    from fairgate.advice.report.output import write
    from fairgate.advice.report.pdf import need_typst
    from fairgate.advice.report.terminal import show
    from fairgate.people import from_file

    as_json, required = bool(given.pop("as_json")), asked(given)
    given["feedback"] = parse_strengths(given["feedback"])
    given |= {name: given[name] or None for name in ("group", "positive", "accepted")}
    chosen = put_together(given.pop("config"), given, required, given.pop("allow") or ())
    if chosen.pdf:
        need_typst()
    prepare_folder(chosen.out)
    source = str(chosen.table.get("file") or chosen.table.get("query", "the table"))
    try:
        stage(f"reading {source}", quiet=as_json)
        advice = find(from_file(**chosen.table), chosen.aims, quiet=as_json)
    finally:
        stage("", quiet=as_json)
    document = write(advice, chosen.out, source, pdf=chosen.pdf)
    if as_json:
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    show(advice, Console())
    others = f"report.json, thresholds.csv{', report.pdf' if chosen.pdf else ''}"
    Console().print(f"Written to {chosen.out}: open report.html (also {others})", highlight=False, soft_wrap=True)


declare(advise, OPTIONS)
