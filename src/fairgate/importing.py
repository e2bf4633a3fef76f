"""Importing: a user's own class or function by its place, ``package.module:Name``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from fairgate.errors import InputError, unknown_name


def import_place(place: str, what: str = "place") -> Any:
    """Return what is at ``package.module:Name``; modules of the current folder can be imported.

    >>> import_place("fractions:Fraction")
    <class 'fractions.Fraction'>
    >>> import_place("fractions:Fractoin")
    Traceback (most recent call last):
        ...
    fairgate.errors.InputError: unknown name in place fractions:Fractoin 'Fractoin': did you mean 'Fraction'? ...
    """
    module_name, _, name = place.partition(":")
    if not module_name or not name:
        raise InputError(f"{what} {place!r} must be a place such as package.module:Name")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise InputError(f"{what} {place!r}: there is no module {missing!r} here or installed") from None
        raise InputError(
            f"{what} {place!r}: module {module_name!r} needs {missing!r}, which is not installed"
        ) from None
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise InputError(f"{what} {place!r}: module {module_name!r} cannot be imported, {told}") from None
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise unknown_name(f"name in {what} {place}", name, known)
    return getattr(module, name)


def find_files(name: str) -> list[Path]:
    """Return the files of that name in the current folder, and in those that modules are looked for in.

    >>> find_files("no-such-file.csv")
    []
    """
    places = [folder / name for folder in (Path.cwd(), *map(Path, sys.path))]
    return [place for place in dict.fromkeys(places) if place.is_file()]


def look_in(folder: Path) -> None:
    """Let modules of a folder be imported, if there is none of that name in the current folder or installed."""
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
