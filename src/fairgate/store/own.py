"""A fingerprint of a user's own code: functions, classes and objects as they are now, with all that they use.

Code is read from memory and not from a file, so what is typed into a console or a notebook, captured by a closure or
read from the command line counts as well.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from fairgate.engines.parcel import own_modules

IDLE = frozenset(
    ("__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__firstlineno__", "__static_attributes__")
)
"""What a class has that does not change what it does."""


def words_of(thing: Any) -> list[str]:
    """Return words that are the same for the same code and values, in any process."""
    return list(_Reader().words(thing))


def held(thing: object) -> dict[str, Any]:
    """Return what an object holds: the fields of settings, not what is computed from them; else its attributes."""
    if dataclasses.is_dataclass(thing):
        return {each.name: getattr(thing, each.name) for each in dataclasses.fields(thing) if each.init}
    slots = [name for kind in type(thing).__mro__ for name in _several(getattr(kind, "__slots__", ()))]
    return {name: getattr(thing, name) for name in slots if hasattr(thing, name)} | getattr(thing, "__dict__", {})


def _several(slots: str | Iterable[str]) -> Iterable[str]:
    return (slots,) if isinstance(slots, str) else slots


class _Reader:
    """Reads things once each; what is met again is named by its number."""

    def __init__(self) -> None:
        self.own = {module.__name__ for module in own_modules()} | {"__main__"}
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no other thing gets the same id meanwhile

    def words(self, thing: Any) -> Iterator[str]:
        if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
            yield repr(thing)
            return
        if id(thing) in self.seen:
            yield f"again {self.seen[id(thing)]}"
            return
        self.seen[id(thing)] = len(self.seen)
        self.kept.append(thing)
        yield type(thing).__qualname__
        match thing:
            case np.ndarray():
                yield f"{thing.dtype} {thing.shape} {np.ascontiguousarray(thing).tobytes().hex()}"
            case Mapping():
                for key in sorted(thing, key=repr):
                    yield repr(key)
                    yield from self.words(thing[key])
            case list() | tuple():
                yield from self._each(thing)
            case set() | frozenset():
                yield from sorted(" ".join(_Reader().words(each)) for each in thing)
            case CodeType():
                yield thing.co_code.hex()
                yield from self._each((thing.co_names, thing.co_varnames, thing.co_consts))
            case partial():
                yield from self._each((thing.func, thing.args, thing.keywords))
            case MethodType():
                yield from self._each((thing.__func__, thing.__self__))
            case staticmethod() | classmethod():
                yield from self.words(thing.__func__)
            case property():
                yield from self._each((thing.fget, thing.fset, thing.fdel))
            case ModuleType():
                yield self._module(thing)
            case FunctionType():
                yield from self._function(thing)
            case type():
                yield from self._class(thing)
            case _:
                yield from self.words(type(thing))
                yield from self.words(held(thing) or re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing)))

    def _each(self, things: Iterable[Any]) -> Iterator[str]:
        for each in things:
            yield from self.words(each)

    def _module(self, module: ModuleType) -> str:
        file = Path(getattr(module, "__file__", None) or "")
        return file.read_bytes().hex() if self._is_own(module.__name__) and file.is_file() else module.__name__

    def _is_own(self, module: str) -> bool:
        """Whether a module is the user's: also one that was never imported, such as a notebook's."""
        return module in self.own or module not in sys.modules

    def _function(self, function: FunctionType) -> Iterator[str]:
        yield f"{function.__module__} {function.__qualname__}"
        if not self._is_own(function.__module__):
            return
        cells = [cell.cell_contents for cell in function.__closure__ or () if _is_full(cell)]
        yield from self._each((function.__code__, function.__defaults__, function.__kwdefaults__, cells))
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield name
                yield from self.words(function.__globals__[name])

    def _class(self, kind: type) -> Iterator[str]:
        yield f"{kind.__module__} {kind.__qualname__}"
        if not self._is_own(kind.__module__):
            return
        yield from self._each(kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            if name not in IDLE:
                yield name
                yield from self.words(value)


def _names(code: CodeType) -> set[str]:
    """Names that a function looks up, those within it included."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises if it is empty
    except ValueError:
        return False
    return True
