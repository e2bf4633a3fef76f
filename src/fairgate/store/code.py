"""Which code makes a file: a fingerprint of the definitions it rests on, and of no others.

From the functions and classes that make a file, the names they use are followed through the package, without running
anything. A definition counts by its syntax tree without docstrings, comments and types of arguments, so editing those,
another learner or a page's template makes no kept file stale, while editing anything that ran does.
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
    kinds = makers_of(*makers)
    package = Source.here().package
    inside = frozenset((each.__module__, _outermost(each)) for each in kinds if _top(each) == package)
    outside = sorted(f"{_outermost(each)} {_own_code(each.__module__)}" for each in kinds if _top(each) != package)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    versions = [python, *(metadata.version(name) for name in LIBRARIES)]
    return hashed([*versions, Source.here().digest(inside), *outside])


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
        if _top(maker) not in TRUSTED:
            found[f"{maker.__name__} {maker.__module__}"] = maker
            left += vars(thing).values() if maker is not thing and hasattr(thing, "__dict__") else ()
    return [found[key] for key in sorted(found)]


@cache
def _own_code(module_name: str) -> str:
    """Fingerprint of code from elsewhere: all files of its package, or the file of its module."""
    package = getattr(sys.modules.get(module_name.partition(".")[0]), "__path__", ())
    files = sorted(path for folder in package for path in Path(folder).rglob("*.py"))
    own = getattr(sys.modules.get(module_name), "__file__", None)
    if not files and own is None:
        return uuid.uuid4().hex
    return hashed(path.read_bytes().hex() for path in files or [Path(str(own))])


def _top(maker: type | FunctionType) -> str:
    return str(maker.__module__).partition(".")[0]


def _outermost(maker: type | FunctionType) -> str:
    return maker.__qualname__.partition(".")[0]
