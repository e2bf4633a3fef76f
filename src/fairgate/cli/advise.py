"""``fairgate advise``: which threshold to use for one's own applicants."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from fairgate.cli.options import AsJson
from fairgate.constraints import CONSTRAINTS
from fairgate.errors import InputError
from fairgate.store import prepare_folder


def with_constraints(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every built-in constraint; it gets their texts, each with its name, as `named`."""
    options = {name.replace("-", "_"): name for name in CONSTRAINTS}

    @functools.wraps(command)
    def wrapped(**given: Any) -> None:
        named = [(name, text) for option, name in options.items() for text in given.pop(option) or ()]
        command(**given, named=named)

    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "named"]
    place = [each.name for each in own].index("constraint")
    made = [
        inspect.Parameter(
            option,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[list[str] | None, typer.Option(help=CONSTRAINTS[name].help)],
        )
        for option, name in options.items()
    ]
    signature = inspect.Signature([*own[:place], *made, *own[place:]])
    wrapped.__signature__ = signature  # type: ignore[attr-defined]  # where typer looks for options
    wrapped.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return wrapped


@with_constraints
def advise(
    file: Annotated[
        Path | None, typer.Argument(readable=False, help="Table: .csv, .parquet, .arrow, .feather or .duckdb.")
    ] = None,
    query: Annotated[str | None, typer.Option(help="SQL for DuckDB, over files or a .duckdb file.")] = None,
    reader: Annotated[
        str | None, typer.Option(help="Your own reader of the file, module:function, which returns a data frame.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Policy file; options given here win.")] = None,
    score: Annotated[str | None, typer.Option(help="Column a threshold is set on.")] = None,
    label: Annotated[str | None, typer.Option(help="Column with what came of the person; may be missing.")] = None,
    group: Annotated[str | None, typer.Option(help="Column with the person's group.")] = None,
    positive: Annotated[str | None, typer.Option(help="Label that counts as 1.")] = None,
    descending: Annotated[
        bool | None, typer.Option("--descending/--ascending", help="Whether a higher score is worse.")
    ] = None,
    cost: Annotated[float | None, typer.Option(help="Cost of accepting somebody with label 0.")] = None,
    constraint: Annotated[
        list[str] | None, typer.Option(help="Any constraint, such as parity=0.05 or module:Class=0.2; repeatable.")
    ] = None,
    feedback: Annotated[
        str | None, typer.Option(help="Strengths of feedback, such as 0,0.5; advice is for the first.")
    ] = None,
    current: Annotated[float | None, typer.Option(help="Threshold in use when the table was made.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Independent loops per learner.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds per loop.")] = None,
    seed: Annotated[int | None, typer.Option(help="Root of all random numbers.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for report.html, report.json and thresholds.csv.")] = None,
    as_json: AsJson = False,
    *,
    named: Sequence[tuple[str, str | None]],
) -> None:
    """Find the threshold to use for your own applicants: findings, figures, loops and a recommendation."""
    from fairgate.advice import advise as find
    from fairgate.advice.config import parse_strengths, put_together
    from fairgate.advice.report.output import write
    from fairgate.advice.report.terminal import show
    from fairgate.people import from_file

    given: dict[str, Any] = {"file": file, "query": query, "reader": reader, "score": score, "label": label}
    given |= {"group": group, "positive": positive, "descending": descending, "cost": cost}
    given |= {"feedback": parse_strengths(feedback), "current": current, "seeds": seeds, "rounds": rounds}
    pairs = (text.partition("=") for text in constraint or ())
    written = [(name.strip(), settings if equals else None) for name, equals, settings in pairs]
    chosen = put_together(config, {**given, "seed": seed, "out": out}, _once([*named, *written]))
    prepare_folder(chosen.out)
    advice = find(from_file(**chosen.table), chosen.aims, quiet=as_json)
    document = write(advice, chosen.out, str(chosen.table.get("file") or chosen.table["query"]))
    if as_json:
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    show(advice, Console())
    told = f"Written to {chosen.out}: open report.html (also report.json, thresholds.csv)"
    Console().print(told, highlight=False, soft_wrap=True)


def _once(pairs: Sequence[tuple[str, str | None]]) -> dict[str, str | None]:
    """Return texts by name; refuse a name that has two."""
    found: dict[str, str | None] = {}
    for name, text in pairs:
        if name in found:
            both = " and ".join(name if each is None else f"{name}={each}" for each in (found[name], text))
            raise InputError(f"{name} is given twice: {both}")
        found[name] = text
    return found
