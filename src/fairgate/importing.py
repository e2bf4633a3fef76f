"""Importing: a user's own class or function by its place, ``package.module:Name``, if a person has allowed it.

Data never names code: what a file, a log or a spec names is imported only if the person who reads it has said so.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fairgate.errors import InputError, unknown_name

SQL = "query"
"""What allows the SQL of a file, in place of a name."""


class NotAllowedError(InputError):
    """A file names code, and the person who reads it has not allowed that very name."""


def import_place(place: str, what: str = "place", allow: Collection[str] = (), folder: Path | None = None) -> Any:
    """Return the object at ``package.module:Name``, if that name is one of those that are allowed.

    Modules of the current folder can be imported, and then those of `folder`, if it is given. Nothing is imported, and
    neither folder is looked at, for a name that is not allowed.

    >>> import_place("fractions:Fraction", allow=["fractions:Fraction"])
    <class 'fractions.Fraction'>
    >>> import_place("os:system", "constraint", allow=["fractions:Fraction"])
    Traceback (most recent call last):
        ...
    fairgate.importing.NotAllowedError: constraint 'os:system' is not built in, and code that a file names is not run: \
if you trust it, add --allow os:system (in Python, allow=['os:system'])
    """
    if not is_place(place):
        raise InputError(f"{what} {place!r} must be a place such as package.module:Name")
    if place not in allowed_names(allow):
        raise NotAllowedError(
            f"{what} {place!r} is not built in, and code that a file names is not run: if you trust it, add "
            f"--allow {place} (in Python, allow=[{place!r}])"
        )
    module_name, _, name = place.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    if folder is not None and str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
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


def is_place(text: str) -> bool:
    """Whether a text is a place: nothing else is repeated as an option to type.

    >>> is_place("package.module:Name"), is_place("os:system; rm"), is_place("parity")
    (True, False, False)
    """
    module, _, name = text.partition(":")
    return all(each.isidentifier() for each in (*module.split("."), name))


def allowed_names(names: Collection[str]) -> frozenset[str]:
    """Return the names that a person allows, each checked.

    >>> allowed_names("mine:Harm")
    Traceback (most recent call last):
        ...
    fairgate.errors.InputError: allow must be a list of names such as ['package.module:Name'], got 'mine:Harm'
    """
    if isinstance(names, str):
        raise InputError(f"allow must be a list of names such as ['package.module:Name'], got {names!r}")
    for each in names:
        if not isinstance(each, str) or not (each == SQL or is_place(each)):
            raise InputError(f"allow must be names such as package.module:Name, got {each!r}")
    return frozenset(names)
