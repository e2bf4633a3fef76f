"""Service: the gates of a file over HTTP. A thin layer over `Gate`: keys, bodies, errors, limits and metrics."""

from __future__ import annotations
