"""``fairgate audit``: what decisions that anybody made say about fairness and service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fairgate.cli.options import NAMED, asked, declare, option, say
from fairgate.constraints import make_constraint
from fairgate.errors import InputError
from fairgate.store import prepare_folder

OPTIONS: dict[str, Any] = {
    "file": Annotated[
        Path | None, typer.Argument(readable=False, help="Table with a row per decision, such as decisions.parquet.")
    ],
    "query": option(str, "SQL for DuckDB, over files or a .duckdb file."),
    "decision": option(str, "Column with the decision, 0 or 1."),
    "accepted": option(list[str], "Decision that is an acceptance, if they are not 0 and 1; repeatable."),
    "group": option(list[str], "Column with the person's group; several are crossed."),
    "date": option(
        str, "Column with the date of the decision; without, and without --order, decisions are looked at once."
    ),
    "order": option(str, "Column with a number that orders the decisions, instead of a date."),
    "period": option(str, "Look after every day, week, month, quarter or year."),
    "once": option(bool, "Look once at all decisions: the table is complete.", "--once"),
    "policy": option(str, "Column with the policy in use; every run of one is a segment."),
    "label": option(str, "Column with what came of the person; may be missing."),
    "positive": option(list[str], "Label that is good; repeatable."),
    "score": option(str, "Column with the score, to value other thresholds."),
    "descending": option(bool, "Whether a higher score is worse.", "--descending/--ascending"),
    "propensity": option(str, "Column with the probability with which a lottery accepted the person."),
    "threshold": option(list[float], "Threshold to value; repeatable. At even shares of people if not given."),
    "cost": option(float, "Cost of accepting somebody of a bad label."),
    "benefit": option(float, "What accepting somebody of a good label is worth."),
    "currency": option(str, "What cost and benefit are counted in, such as EUR."),
    **NAMED,
    "constraint": option(list[str], "Any constraint, such as parity=0.05 or module:Class=0.2; repeatable."),
    "alpha": option(float, "Probability of any false alarm, over everything and all time."),
    "pooled": option(bool, "Compare averages over each group's own people, whatever the mix of periods.", "--pooled"),
    "min_group": option(int, "Fewest people of a group; smaller ones are left out."),
    "max_lost": option(float, "Largest share of rows that may be left out."),
    "fail": option(bool, "Exit with code 1 if an alarm rang.", "--fail/--no-fail"),
    "out": option(Path, "Folder for audit.html and audit.json."),
    "as_json": option(bool, "Print JSON instead of tables.", "--json/--no-json"),
}


def audit(**given: Any) -> None:
    """Audit decisions that anybody made, by any system: acceptance, gap and ratio over time, with alarms."""
    from fairgate.audit import audit as examine
    from fairgate.audit.terminal import show

    required = [make_constraint(name, text, [name]) for name, text in asked(given).items()]
    for name in ("decision", "group"):
        if not given[name]:
            raise InputError(f"{name} must be the name of a column: say --{name} NAME")
    out, fail, as_json = Path(given.pop("out") or "audit"), given.pop("fail"), given.pop("as_json")
    file, thresholds = given.pop("file"), given.pop("threshold") or ()
    prepare_folder(out)
    chosen = {name: value for name, value in given.items() if value is not None and value != []}
    found = examine(file, constraints=required, thresholds=thresholds, **chosen)
    document = found.write(out)
    if as_json:
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        show(found, Console())
        say(f"Written to {out}: open audit.html (also audit.json)")
    if fail and found.rang:
        raise typer.Exit(1)


declare(audit, OPTIONS)
