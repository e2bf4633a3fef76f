"""Progress: a bar on a terminal, plain lines in a pipe, always on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Start = Callable[[str], Callable[[int], None]]


@contextmanager
def progress(total: int, *, quiet: bool = False) -> Iterator[Start]:
    """Show how far work of `total` steps has come.

    Yields a function that names the part now begun and returns the function to call with the steps just done.
    """
    console = Console(stderr=True, quiet=quiet)

    def say(part: str) -> Callable[[int], None]:
        console.print(part, highlight=False, soft_wrap=True)
        return lambda steps: None

    if not console.is_terminal:
        yield say
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task("", total=total)

        def start(part: str) -> Callable[[int], None]:
            bar.update(task, description=part)
            return lambda steps: bar.advance(task, steps)

        yield start


def stage(text: str, *, quiet: bool = False) -> None:
    """Say on a terminal, on one line that is written over, what is being done; nothing at the end."""
    if not quiet and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}{' …' if text else ''}")
        sys.stderr.flush()
