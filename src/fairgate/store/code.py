"""Which code makes a file: a fingerprint of the definitions it rests on, and of no others.

The names that the makers of a file use are followed through the package. Editing docstrings, comments, types of
arguments, another learner or a page's template makes no kept file stale, while editing anything that ran does.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from fairgate.store.source import Source, hashed

LIBRARIES = ("numpy", "scipy", "scikit-learn")
"""Libraries whose version the numbers depend on."""

TRUSTED = frozenset((*sys.stdlib_module_names, "numpy", "scipy", "sklearn"))
"""Modules that no fingerprint reads the source of: a version says which code it is."""


def code_digest(*makers: object) -> str:
    """Fingerprint of the code that runs when `makers` do: functions, classes, and objects with all they hold.

    Of the package, exactly the definitions they rest on count. Of code from elsewhere, the file it is in counts, or its
    whole package. Code that cannot be read, such as what is typed into a console, is never the same twice.
    """
    names = [(each.__module__, each.__qualname__.partition(".")[0]) for each in makers_of(*makers)]
    inside = frozenset((module, name) for module, name in names if _top(module) == _top(__name__))
    outside = sorted(f"{name} {_own_code(module)}" for module, name in names if _top(module) != _top(__name__))
    return hashed(["{}.{}".format(*sys.version_info), *_versions(), _package_digest(inside), *outside])


def makers_of(*things: object) -> list[type | FunctionType]:
    """Return the functions and classes that act when `things` do, those of everything they hold included.

    >>> import fairgate as fg
    >>> [each.__name__ for each in makers_of(fg.simulate, fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)]))]
    ['DemographicParity', 'Problem', 'Utility', 'simulate']
    """
    found: dict[str, type | FunctionType] = {}
    seen: set[int] = set()
    left: list[Any] = list(things)
    while left:
        thing = left.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, partial):
            left += [thing.func, *thing.args, *thing.keywords.values()]
        elif isinstance(thing, MethodType):
            left += [thing.__func__, thing.__self__]
        elif isinstance(thing, Mapping):
            left += thing.values()
        elif isinstance(thing, (list, tuple, set, frozenset)):
            left += thing
        maker = thing if isinstance(thing, (type, FunctionType)) else type(thing)
        if _top(maker.__module__) not in TRUSTED:
            found[f"{maker.__name__} {maker.__module__}"] = maker
            left += vars(thing).values() if maker is not thing and hasattr(thing, "__dict__") else ()
    return [found[key] for key in sorted(found)]


@cache
def _versions() -> list[str]:
    return [metadata.version(library) for library in LIBRARIES]


@cache
def _package() -> Source:
    return Source(Path(__file__).parents[1])


@cache
def _package_digest(names: frozenset[tuple[str, str]]) -> str:
    return _package().digest(names)


@cache
def _own_code(module_name: str) -> str:
    """Fingerprint of code from elsewhere: all files of its package, or the file of its module."""
    package = getattr(sys.modules.get(_top(module_name)), "__path__", ())
    files = sorted(path for folder in package for path in Path(folder).rglob("*.py"))
    own = getattr(sys.modules.get(module_name), "__file__", None)
    if not files and own is None:
        return uuid.uuid4().hex
    return hashed(path.read_bytes().hex() for path in files or [Path(str(own))])


def _top(module: str) -> str:
    return module.partition(".")[0]
