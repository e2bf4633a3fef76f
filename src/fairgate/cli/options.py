"""Options that several commands share, and the check of their sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console

from fairgate.constraints import CONSTRAINTS
from fairgate.errors import InputError
from fairgate.settings import whole_number

Rounds = Annotated[int, typer.Option(help="Rounds per loop.")]
Seeds = Annotated[int, typer.Option(help="Independent loops per learner.")]
Seed = Annotated[int, typer.Option(help="Root of all random numbers.")]
Batch = Annotated[int, typer.Option(help="People per round.")]
Tail = Annotated[int, typer.Option(help="Rounds at the end over which means are taken.")]
OwnTail = Annotated[
    int | None,
    typer.Option(help="Rounds at the end over which means are taken; 200 if not given, or a fifth of a shorter run."),
]
Workers = Annotated[int, typer.Option(help="Processes; results do not depend on it.")]
AllCores = Annotated[int | None, typer.Option(help="Processes; as many as cores if not given.")]
OnCluster = Annotated[
    str | None,
    typer.Option(help="A Dask cluster in place of processes: tcp://host:port, a scheduler file, or local:4."),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(help="Code that a file may name, package.module:Name, which is then imported; repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def option(kind: Any, text: str, *names: str) -> Any:
    """Return an option that is None unless it is given."""
    return Annotated[kind | None, typer.Option(*names, help=text)]


NAMED = {name.replace("-", "_"): option(list[str], kind.help) for name, kind in CONSTRAINTS.items()}
"""An option for every built-in constraint."""


def asked(given: dict[str, Any]) -> dict[str, str | None]:
    """Take the constraints out of what was given, and return their texts by name."""
    named = [(each.replace("_", "-"), text) for each in NAMED for text in given.pop(each) or ()]
    pairs = (text.partition("=") for text in given.pop("constraint") or ())
    return once([*named, *((name.strip(), settings if equals else None) for name, equals, settings in pairs)])


def say(text: str, *, errors: bool = False) -> None:
    """Print a sentence as it is, on lines as long as it needs."""
    Console(stderr=errors).print(text, highlight=False, soft_wrap=True)


def check_size(rounds: int, tail: int, seed: int, **others: int) -> None:
    """Refuse numbers no run can have, before anything is begun."""
    whole_number("--seed", seed, 0)
    for name, value in {"rounds": rounds, "tail": tail, **others}.items():
        whole_number(f"--{name}", value, 1)
    if tail > rounds:
        raise InputError(
            f"--rounds {rounds} is shorter than the tail of {tail} rounds that is reported: ask for more, "
            "or for a shorter --tail"
        )


def once(pairs: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """Return texts by name; refuse a name that has two.

    >>> once([("parity", "0.1"), ("service", "0.3:0.8")])
    {'parity': '0.1', 'service': '0.3:0.8'}
    """
    found: dict[str, str | None] = {}
    for name, text in pairs:
        if name in found:
            both = " and ".join(name if each is None else f"{name}={each}" for each in (found[name], text))
            raise InputError(f"{name} is given twice: {both}")
        found[name] = text
    return found


def declare(command: Callable[..., None], options: Mapping[str, Any]) -> None:
    """Tell typer, which reads signatures, the options of a command that takes them all by keyword; None if absent."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, kind, default=None, annotation=each) for name, each in options.items()]
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {each.name: each.annotation for each in parameters}
