"""Progress: a bar on a terminal, plain lines in a pipe, always on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Say = Callable[[str], None]
"""Tells the user a sentence."""

Start = Callable[[str], Callable[[int], None]]
Advance = Callable[[str, float], None]

COLUMNS = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())

STEP, PAUSE = 0.05, 30.0
"""In a pipe a line is written once this share more is done, or after so many seconds."""


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
    with Progress(*COLUMNS, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task("", total=total)

        def start(part: str) -> Callable[[int], None]:
            bar.update(task, description=part)
            return lambda steps: bar.advance(task, steps)

        yield start


@contextmanager
def meter(total: float, first: str, *, quiet: bool = False) -> Iterator[Advance]:
    """Show how far many pieces of work have come, and the time remaining; `first` is said at the beginning.

    Yields the function to call with a sentence and how much of `total` was just done. In a pipe thousands of pieces
    are a few lines, each with the time remaining if the rest goes as the part that is done; none if `quiet`.
    """
    console = Console(stderr=True)
    if quiet and not console.is_terminal:
        yield lambda text, amount: None
        return
    if console.is_terminal:
        with Progress(*COLUMNS, console=console, transient=True, speed_estimate_period=600.0) as bar:
            task = bar.add_task(first, total=total)
            yield lambda text, amount: bar.update(task, description=text, advance=amount)
        return
    began = said_at = time.monotonic()
    done = said = 0.0
    console.print(first, highlight=False, soft_wrap=True)

    def advance(text: str, amount: float) -> None:
        nonlocal done, said, said_at
        done += amount
        now = time.monotonic()
        if done < total and done - said < STEP * total and now - said_at < PAUSE:
            return
        said, said_at = done, now
        left = (now - began) * (total - done) / done if 0.0 < done < total else 0.0
        console.print(text + (f", {clock(left)} left" if left else ""), highlight=False, soft_wrap=True)

    yield advance


def clock(seconds: float) -> str:
    """Write a time as a clock does.

    >>> clock(75.2), clock(7384)
    ('1:15', '2:03:04')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def stage(text: str, *, quiet: bool = False) -> None:
    """Say on a terminal, on one line that is written over, what is being done; nothing at the end."""
    if not quiet and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}{' …' if text else ''}")
        sys.stderr.flush()
