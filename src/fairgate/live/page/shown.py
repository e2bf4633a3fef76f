"""How a figure is written: one function, and a look-up by path, so that the page and the API cannot differ."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from markupsafe import Markup

Unit = Literal["text", "count", "share", "number", "threshold", "time"]
"""What a figure is: that decides how it is written."""

NOTHING = "–"
"""What stands for a figure that is not known."""

ENDS = {"-inf": "accepts everybody", "inf": "accepts nobody"}
"""Thresholds beyond all scores, in words."""


def write(value: Any, unit: Unit = "number") -> str:
    """Write a figure.

    >>> write(0.4567, "share"), write(1234, "count"), write(-0.02), write(0.35, "threshold"), write(None)
    ('45.7%', '1,234', '−0.020', '0.35', '–')
    >>> write("inf", "threshold"), write("2026-11-16T05:39:12.25+00:00", "time"), write(-0.0001), write(8.0, "count")
    ('accepts nobody', '2026-11-16 05:39:12 UTC', '0.000', '8')
    """
    if value is None or value == "":
        return NOTHING
    if unit == "text":
        return str(value)
    if unit == "time":
        return datetime.fromisoformat(value).strftime("%Y-%m-%d %H:%M:%S UTC")
    if isinstance(value, str):
        return ENDS[value]
    if unit == "share":
        text = f"{value:.1%}"
    elif unit == "count":
        text = f"{value:,.12g}" if isinstance(value, float) else f"{value:,}"
    else:
        text = f"{value:.6g}" if unit == "threshold" else f"{value:.3f}"
    return text.replace("-", "−") if float(text.strip("%").replace(",", "")) else text.replace("-", "")


class Shown:
    """Figures by their path in the API's JSON, each marked with that path and written by :func:`write`.

    >>> Shown({"labels": {"late": 3}})("labels.late", "count")
    Markup('<span data-figure="labels.late" data-unit="count">3</span>')
    """

    def __init__(self, plain: Mapping[str, Any]) -> None:
        self.plain = plain

    def at(self, path: str) -> Any:
        """Return the figure of a path, such as ``scopes.0.groups.1.people``."""
        found: Any = self.plain
        for part in path.split("."):
            found = found[int(part)] if isinstance(found, list) else found[part]
        return found

    def __call__(self, path: str, unit: Unit = "number") -> Markup:
        """Return the figure as HTML."""
        text = write(self.at(path), unit)
        return Markup('<span data-figure="{}" data-unit="{}">{}</span>').format(path, unit, text)

    def of(self, path: str, key: str, unit: Unit = "number") -> Markup:
        """Return the figure of a key that is a user's own word, such as a group, below a path."""
        text = write(self.at(path)[key], unit)
        form = '<span data-figure="{}" data-key="{}" data-unit="{}">{}</span>'
        return Markup(form).format(path, key, unit, text)
