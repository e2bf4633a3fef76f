"""Pages: what every HTML page of the package is made with: one base template, pictures inline, nothing loaded."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

PNG = b"\x89PNG\r\n\x1a\n"


LABELS = {
    "many": "seeds of the larger runs",
    "seed": "seed of the random numbers",
    "tail": "last rounds in a tail mean",
    "versions": "version",
    "data": "SHA-256",
    "code": "SHA-256 of the code",
}
"""Settings whose short names would not tell a reader what they are."""


def templates(package: str) -> Environment:
    """Return the templates of a package, which may extend ``base.html.j2``; everything put into them is escaped."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package, ""), PackageLoader("fairgate.pages", "")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@dataclass(frozen=True)
class Picture:
    """A PNG as a page holds it: inline, with its size so that nothing moves when it appears."""

    source: str
    width: int
    height: int

    @classmethod
    def of(cls, key: str, png: bytes) -> Picture:
        """Take up the bytes of a PNG file."""
        if not png.startswith(PNG) or len(png) < 24:
            raise ValueError(f"images[{key!r}] must be the bytes of a PNG file, but starts with {png[:8]!r}")
        width, height = struct.unpack(">II", png[16:24])
        return cls("data:image/png;base64," + base64.b64encode(png).decode(), width, height)

    @property
    def wide(self) -> bool:
        """Whether it has panels side by side, which could not be read when shrunk to the width of a phone."""
        return self.width > 1000 or self.width > 1.7 * self.height


@dataclass(frozen=True)
class Drawing:
    """A figure of a page."""

    key: str
    title: str
    caption: str
    picture: Picture

    @classmethod
    def of(cls, key: str, title: str, caption: str, png: bytes) -> Drawing:
        """Make the bytes of a PNG file a figure of a page."""
        return cls(key, title, caption, Picture.of(key, png))


def anchor(key: str) -> str:
    """Turn a key into a name that links can point to.

    >>> anchor("Table I, seeds")
    'Table-I-seeds'
    """
    return re.sub(r"[^A-Za-z0-9_-]+", "-", key)


def flat(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return settings as lines of name and text; a setting within a setting is named after both.

    >>> flat({"seed": 1, "grid": {"arms": [3, 5]}})
    [('seed of the random numbers', '1'), ('grid: arms', '3, 5')]
    """
    lines: list[tuple[str, str]] = []
    for key, value in settings.items():
        name = LABELS.get(key, key)
        if isinstance(value, Mapping):
            lines += [(f"{name}: {inner}", text) for inner, text in flat(value)]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            lines.append((name, ", ".join(map(str, value))))
        else:
            lines.append((name, str(value)))
    return lines
