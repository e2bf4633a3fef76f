"""``fairgate advise``: which threshold to use for one's own applicants."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fairgate.cli.options import AsJson
from fairgate.constraints import CONSTRAINTS
from fairgate.errors import InputError
from fairgate.progress import stage
from fairgate.store import prepare_folder


def _option(kind: Any, text: str, *names: str) -> Any:
    return Annotated[kind | None, typer.Option(*names, help=text)]


NAMED = {name.replace("-", "_"): _option(list[str], kind.help) for name, kind in CONSTRAINTS.items()}
"""An option for every built-in constraint."""

OPTIONS: dict[str, Any] = {
    "file": Annotated[
        str | None,
        typer.Argument(help="Table: .csv, .jsonl, .parquet, .arrow, .feather, .xlsx, .zip or .duckdb; - for a pipe."),
    ],
    "query": _option(str, "SQL for DuckDB, over files or a .duckdb file."),
    "reader": _option(str, "Your own reader of the file, module:function, which returns a data frame."),
    "config": _option(Path, "Policy file; options given here win."),
    "score": _option(str, "Column a threshold is set on."),
    "label": _option(str, "Column with what came of the person; may be missing."),
    "group": _option(list[str], "Column with the person's group; several are crossed."),
    "positive": _option(list[str], "Label that is good; repeatable."),
    "descending": _option(bool, "Whether a higher score is worse.", "--descending/--ascending"),
    "decision": _option(str, "Column with the decision that was made, 0 or 1."),
    "accepted": _option(list[str], "Decision that means accepted, if 1 does not; repeatable."),
    "date": _option(str, "Column with the day of the decision, for the history."),
    "period": _option(str, "Length of a period of the history: day, week, month, quarter or year."),
    "weight": _option(str, "Column with how many people a row stands for."),
    "min_group": _option(int, "Fewest people of a group; smaller ones are left out."),
    "max_lost": _option(float, "Largest share of rows that may be left out."),
    "cost": _option(float, "Cost of accepting somebody with a bad label."),
    "benefit": _option(float, "What accepting somebody with a good label is worth."),
    "currency": _option(str, "What cost and benefit are counted in, such as EUR."),
    "sure": _option(float, "Probability with which the advice must hold."),
    **NAMED,
    "constraint": _option(list[str], "Any constraint, such as parity=0.05 or module:Class=0.2; repeatable."),
    "feedback": _option(
        str,
        "Strengths of feedback, above -1 and below 1, such as 0,0.5; advice is for the first.",
    ),
    "current": _option(float, "Threshold in use when the table was made."),
    "loops": _option(bool, "Also let learners run in the closed loop.", "--loops/--no-loops"),
    "seeds": _option(int, "Independent loops per learner."),
    "rounds": _option(int, "Rounds per loop."),
    "seed": _option(int, "Root of all random numbers."),
    "out": _option(Path, "Folder for report.html, report.json and thresholds.csv."),
    "pdf": _option(bool, "Also write report.pdf.", "--pdf/--no-pdf"),
}


def advise(*, as_json: AsJson = False, **given: Any) -> None:
    """Find the threshold to use for your own applicants: a recommendation, and the evidence for it."""
    from fairgate.advice import advise as find
    from fairgate.advice.config import parse_strengths, put_together
    from fairgate.advice.report.output import write
    from fairgate.advice.report.pdf import need_typst
    from fairgate.advice.report.terminal import show
    from fairgate.people import from_file

    named = [(option.replace("_", "-"), text) for option in NAMED for text in given.pop(option) or ()]
    pairs = (text.partition("=") for text in given.pop("constraint") or ())
    written = [(name.strip(), settings if equals else None) for name, equals, settings in pairs]
    given["feedback"] = parse_strengths(given["feedback"])
    given |= {name: given[name] or None for name in ("group", "positive", "accepted")}
    chosen = put_together(given.pop("config"), given, _once([*named, *written]))
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


_keyword = inspect.Parameter.KEYWORD_ONLY
_parameters = [inspect.Parameter(name, _keyword, default=None, annotation=kind) for name, kind in OPTIONS.items()]
_parameters.append(inspect.Parameter("as_json", _keyword, default=False, annotation=AsJson))
advise.__signature__ = inspect.Signature(_parameters)  # type: ignore[attr-defined]  # where typer looks for options
advise.__annotations__ = {each.name: each.annotation for each in _parameters}


def _once(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """Return texts by name; refuse a name that has two."""
    found: dict[str, str | None] = {}
    for name, text in pairs:
        if name in found:
            both = " and ".join(name if each is None else f"{name}={each}" for each in (found[name], text))
            raise InputError(f"{name} is given twice: {both}")
        found[name] = text
    return found
