"""Recipes: objects made of settings and arrays as plain data for JSON, from which they can be made again exactly.

A recipe names the class of every object. Only the kinds of which tasks and learners are made, and the classes that the
reader is given, are made again: reading a stranger's recipe runs no code of the stranger, and opens no file.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgate.errors import InputError

PACKAGE = __name__.partition(".")[0]

PARTS = re.compile(
    rf"{PACKAGE}\.(environments|constraints|learners|problem|tasks|history|people\.past|bench\.worlds\.warm)(\.\w+)*:\w+"
)
"""Where the classes are of which tasks and learners are made."""

KINDS = {f"{PACKAGE}.settings:Settings", f"{PACKAGE}.people.past:Past"}
"""What these classes are: settings, or past decisions."""

DTYPE = re.compile(r"[<>|=]?[biuf]\d{1,2}")
"""Types of arrays: truth values and numbers."""

MOST = 1 << 30
"""Bytes of all arrays together: far more than any task has, so that a small file cannot fill the memory."""


def pack(value: Any) -> Any:
    """Return plain data that :func:`unpack` makes the same object of; arrays are kept bit by bit.

    >>> import fairgate as fg
    >>> pack(fg.DemographicParity(0.1))
    {'class': 'fairgate.constraints.demographic_parity:DemographicParity', 'fields': {'epsilon': 0.1}}
    >>> unpack(pack(fg.DemographicParity(0.1)))
    DemographicParity(epsilon=0.1)
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return pack(value.item())
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        content = base64.b64encode(zlib.compress(np.ascontiguousarray(value).tobytes())).decode()
        return {"array": content, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, tuple):
        return {"tuple": [pack(each) for each in value]}
    if isinstance(value, list):
        return [pack(each) for each in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"mapping": {key: pack(each) for key, each in value.items()}}
    if isinstance(value, type):
        return {"type": place_of(value)}
    if dataclasses.is_dataclass(value):
        fields = {each.name: pack(getattr(value, each.name)) for each in dataclasses.fields(value) if each.init}
        return {"class": place_of(type(value)), "fields": fields}
    return {"object": place_of(type(value))}


def unpack(plain: Any, own: Sequence[type] = ()) -> Any:
    """Return what :func:`pack` was given; `own` are the classes in it that are none of fairgate's."""
    if sum(_sizes(plain)) > MOST:
        raise InputError(f"a recipe must have at most {MOST} bytes of arrays, and says that it has more")
    return _unpack(plain, own)


def _unpack(plain: Any, own: Sequence[type]) -> Any:
    if isinstance(plain, list):
        return [_unpack(each, own) for each in plain]
    if not isinstance(plain, Mapping):
        return plain
    try:
        return _unpacked(plain, own)
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        what = plain.get("class", "data")
        raise InputError(f"{what} cannot be made again from what is kept of it: {error}") from None


def _unpacked(plain: Mapping[str, Any], own: Sequence[type]) -> Any:
    if "array" in plain:
        return _array(plain["array"], plain["dtype"], plain["shape"])
    if "tuple" in plain:
        return tuple(_unpack(each, own) for each in plain["tuple"])
    if "mapping" in plain:
        return {key: _unpack(each, own) for key, each in plain["mapping"].items()}
    if "type" in plain:
        return _class(plain["type"], own)
    if "class" in plain:
        kind, fields = _class(plain["class"], own), plain["fields"]
        past = fields.get("history")  # a learner takes the path of a table, too, and would open it
        if past is not None and "class" not in past:
            raise InputError(f"{plain['class']}: history must be kept as what it holds, got {past!r}")
        return kind(**{key: _unpack(each, own) for key, each in fields.items()})
    raise InputError(
        f"an object of {plain['object']} is part of it, which is no dataclass, so that only the code that made it can "
        "make it again"
    )


def _sizes(plain: Any) -> Iterator[int]:
    """Yield the bytes of each array that says how many it has; the others are refused when they are made."""
    left = [plain]
    while left:
        each = left.pop()
        if isinstance(each, Mapping) and "array" in each:
            with suppress(KeyError, TypeError, ValueError):
                yield _size(each["dtype"], each["shape"])
        if isinstance(each, (list, Mapping)):
            left.extend(each.values() if isinstance(each, Mapping) else each)


def _size(dtype: str, shape: Sequence[int]) -> int:
    """Return the bytes of an array of numbers."""
    if not DTYPE.fullmatch(dtype) or not all(isinstance(each, int) and each >= 0 for each in shape):
        raise ValueError(f"an array must be of numbers and have a shape, got {dtype!r} and {shape!r}")
    return np.dtype(dtype).itemsize * math.prod(shape)


def place_of(kind: type) -> str:
    """Where a class is, as ``package.module:Name``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _array(text: str, dtype: str, shape: Sequence[int]) -> NDArray[Any]:
    """Return an array of numbers; as many bytes are unpacked as its type and shape say."""
    size = _size(dtype, shape)
    content = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
    return np.frombuffer(content, dtype=np.dtype(dtype)).reshape(shape).copy()


def _class(place: str, own: Sequence[type]) -> Any:
    """Return the class at a place: one of the kinds of fairgate that recipes are made of, or of those given.

    A class that is given may have been in another module when the recipe was written, such as a notebook's.
    """
    module, _, name = place.partition(":")
    if module.partition(".")[0] != PACKAGE:
        for kind in own:
            if name == kind.__qualname__:
                return kind
        short = name.rpartition(".")[2]
        raise InputError(
            f"{place} is none of fairgate's classes: pass the class {short} as a further argument to have it made again"
        )
    try:
        found = getattr(importlib.import_module(module), name) if PARTS.fullmatch(place) else None
    except (ImportError, AttributeError):
        found = None
    if isinstance(found, type) and place_of(found) == place and KINDS & {place_of(each) for each in found.__mro__}:
        return found
    raise InputError(f"this fairgate has no {place}: the version that made it must have been another")
