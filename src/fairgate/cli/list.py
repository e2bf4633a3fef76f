"""``fairgate list``: tasks and learners by name."""

from __future__ import annotations

import functools
import json
import re

import typer
from rich.console import Console
from rich.table import Table

from fairgate.cli.options import AsJson
from fairgate.learners import LEARNERS
from fairgate.learners.registry import kind_of
from fairgate.tasks import load_task, presets


def _plain_words(text: str) -> str:
    """Take the marks of a docstring away: links, references and code."""
    return re.sub(r" \[\d+\]_|:\w+:|`", "", text)


def _described(name: str) -> str:
    """Return what a learner does, with the settings that its name stands for."""
    made = LEARNERS[name]
    settings = made.keywords if isinstance(made, functools.partial) else {}
    text = _plain_words((kind_of(name).__doc__ or "").splitlines()[0])
    return text + (f" ({', '.join(f'{key}={value}' for key, value in settings.items())})" if settings else "")


def list_names(as_json: AsJson = False) -> None:
    """List the tasks and learners by name."""
    tasks = {
        name: {"title": preset["title"], "contraction": load_task(name).environment.contraction()}
        for name, preset in presets().items()
    }
    learners = {name: _described(name) for name in LEARNERS}
    if as_json:
        typer.echo(json.dumps({"tasks": tasks, "learners": learners}, indent=2))
        return
    worlds = Table("name", "what it is", title="Tasks", title_justify="left")
    worlds.add_column("contraction", justify="right", no_wrap=True)
    for name, task in tasks.items():
        worlds.add_row(name, task["title"], f"{task['contraction']:.3f}")
    rules = Table("name", "what it is", title="Learners", title_justify="left")
    for name, text in learners.items():
        rules.add_row(name, text)
    console = Console()
    console.print(worlds)
    console.print("Contraction: the largest share of the distance between two states that a round can leave.")
    console.print("world- and a number is a random world, such as world-10003: see fairgate bench --worlds.")
    console.print(rules)
