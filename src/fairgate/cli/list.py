"""``fairgate list``: tasks and learners by name."""

from __future__ import annotations

import json
import re

import typer
from rich.console import Console
from rich.table import Table

from fairgate.cli.options import AsJson
from fairgate.learners import LEARNERS
from fairgate.tasks import presets


def _plain_words(text: str) -> str:
    """Take the marks of a docstring away: links, references and code."""
    return re.sub(r" \[\d+\]_|:\w+:|`", "", text)


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
