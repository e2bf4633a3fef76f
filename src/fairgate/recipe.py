"""Recipes: objects made of settings and arrays as plain data for JSON, from which they can be made again exactly.

A recipe names the class of every object, and only classes of fairgate and those that the reader is given are made:
reading one from a stranger runs no code of his.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import importlib
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairgate.errors import InputError

PACKAGE = __name__.partition(".")[0]


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
    if isinstance(plain, list):
        return [unpack(each, own) for each in plain]
    if not isinstance(plain, Mapping):
        return plain
    try:
        return _unpacked(plain, own)
    except (KeyError, TypeError, ValueError, zlib.error, binascii.Error) as error:
        if isinstance(error, InputError):
            raise
        what = plain.get("class", "data")
        raise InputError(f"{what} cannot be made again from what is kept of it: {error}") from None


def _unpacked(plain: Mapping[str, Any], own: Sequence[type]) -> Any:
    if "array" in plain:
        content = zlib.decompress(base64.b64decode(plain["array"], validate=True))
        return np.frombuffer(content, dtype=np.dtype(plain["dtype"])).reshape(plain["shape"]).copy()
    if "tuple" in plain:
        return tuple(unpack(each, own) for each in plain["tuple"])
    if "mapping" in plain:
        return {key: unpack(each, own) for key, each in plain["mapping"].items()}
    if "type" in plain:
        return _class(plain["type"], own)
    if "class" in plain:
        return _class(plain["class"], own)(**{key: unpack(each, own) for key, each in plain["fields"].items()})
    raise InputError(
        f"an object of {plain['object']} is part of it, which is no dataclass, so that only the code that made it can "
        "make it again"
    )


def place_of(kind: type) -> str:
    """Where a class is, as ``package.module:Name``."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(place: str, own: Sequence[type]) -> Any:
    """Return the class at a place: one of fairgate's, or of those given."""
    for kind in own:
        if place_of(kind) == place or (kind.__qualname__ == place.partition(":")[2]):
            return kind
    module, _, name = place.partition(":")
    if module.partition(".")[0] != PACKAGE:
        short = name.rpartition(".")[2]
        raise InputError(
            f"{place} is none of fairgate's classes: pass the class {short} as a further argument to have it made again"
        )
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        found = None
    if not isinstance(found, type) or not dataclasses.is_dataclass(found):
        raise InputError(f"this fairgate has no {place}: the version that made it must have been another")
    return found
