"""The one error a user's input can cause, and the words for it."""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence that names the argument, its value and what would be right; the
    command line prints it and exits with code 2.
    """


class NoSteadyStateError(InputError):
    """An environment does not come to rest under some policies, of these places among those that were asked for."""

    def __init__(self, message: str, places: NDArray[np.intp]) -> None:
        super().__init__(message)
        self.places = places


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InputError:
    """Say that `name` is no known `kind`, and which name is nearest.

    >>> print(unknown_name("task", "compass", ["german", "compas"]))
    unknown task 'compass': did you mean 'compas'? Known: compas, german
    """
    known = sorted(known)
    return InputError(f"unknown {kind} {name!r}: {nearest(name, known)}Known: {', '.join(known)}")


def nearest(name: object, known: Iterable[str]) -> str:
    """Ask whether the known name nearest to `name` was meant, whatever its case; nothing if none is near.

    >>> nearest("Score", ["label", "risk_score"])
    "did you mean 'risk_score'? "
    """
    lowered = {each.lower(): each for each in known}
    near = difflib.get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.5)
    return f"did you mean {lowered[near[0]]!r}? " if near else ""


LONGEST = 1200
"""Most characters of a sentence that is shown: a file may have names of any length."""


def printable(text: str) -> str:
    r"""Return a text that any terminal can show: no control characters, no lone surrogates, not endless.

    >>> print(printable("unknown name \x1b[2J"))
    unknown name \x1b[2J
    """
    short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in short)


def told(error: Exception) -> str:
    """Say in one line what went wrong and where, also if it did so in another process."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    remote = re.findall(r'File "(.+)", line (\d+)', str(error.__cause__))
    file, line = remote[-1] if remote else (frame.filename, frame.lineno)
    return " ".join(f"{type(error).__name__}: {error} ({Path(file).name}, line {line})".split("\n"))
