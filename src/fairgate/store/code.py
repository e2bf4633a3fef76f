"""Which code makes a file: a fingerprint of the definitions it rests on, and of no others.

The names that the makers of a file use are followed through the package. Editing docstrings, comments, types of
arguments, another learner or a page's template makes no kept file stale, while editing anything that ran does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from fairgate.engines.parcel import own_modules
from fairgate.store.own import held, words_of
from fairgate.store.source import Source, hashed

LIBRARIES = ("numpy", "scipy", "scikit-learn")
"""Libraries whose version the numbers depend on."""

TRUSTED = frozenset((*sys.stdlib_module_names, "numpy", "scipy", "sklearn"))
"""Modules that no fingerprint reads the source of: a version says which code it is."""


def code_digest(*makers: object) -> str:
    """Fingerprint of the code that runs when `makers` do: functions, classes, and objects with all they hold.

    Of the package, exactly the definitions they rest on count. Of installed packages, all files count. Of a user's own
    code, that of the object counts, with what it uses of the user's other modules, what its functions have captured and
    what its attributes are: see :mod:`fairgate.store.own`.
    """
    names = [(each.__module__, each.__qualname__.partition(".")[0]) for each in makers_of(*makers)]
    inside = frozenset((module, name) for module, name in names if _top(module) == _top(__name__))
    outside = [(module, name) for module, name in names if _top(module) != _top(__name__)]
    told = sorted(f"{name} {_installed(module)}" for module, name in outside)
    own = [
        word for each in _parts(makers) if _top(_maker(each).__module__) != _top(__name__) for word in words_of(each)
    ]
    return hashed(["{}.{}".format(*sys.version_info), *_versions(), _package_digest(inside), *told, *own])


def makers_of(*things: object) -> list[type | FunctionType]:
    """Return the functions and classes that act when `things` do, those of everything they hold included.

    >>> import fairgate as fg
    >>> [each.__name__ for each in makers_of(fg.simulate, fg.Problem(fg.Utility(1.0), [fg.DemographicParity(0.1)]))]
    ['DemographicParity', 'Problem', 'Utility', 'simulate']
    """
    found: dict[str, type | FunctionType] = {}
    for thing in _parts(things):
        maker = _maker(thing)
        found[f"{maker.__name__} {maker.__module__}"] = maker
    return [found[key] for key in sorted(found)]


def _maker(thing: Any) -> type | FunctionType:
    return thing if isinstance(thing, (type, FunctionType)) else type(thing)


def _parts(things: Sequence[object]) -> Iterator[Any]:
    """Yield things, and what they hold, whose code is read: each function, class and object once."""
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
        maker = _maker(thing)
        if _top(maker.__module__) not in TRUSTED:
            yield thing
            left += held(thing).values() if maker is not thing else ()


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
def _installed(module_name: str) -> str:
    """Fingerprint of an installed package: all its files. Nothing for a user's own module."""
    module = sys.modules.get(_top(module_name))
    if module is None or module.__name__ == "__main__" or module in own_modules():
        return ""
    files = sorted(path for folder in getattr(module, "__path__", ()) for path in Path(folder).rglob("*.py"))
    return hashed(path.read_bytes().hex() for path in files or [Path(str(module.__file__))])


def _top(module: str) -> str:
    return module.partition(".")[0]
