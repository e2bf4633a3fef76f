"""Assets: styles, script and icon of the page, read once and named by what is in them, so that none is ever stale."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from starlette.responses import Response

from fairgate.live.failures import MissingError

SOURCES = {
    "base.css": ("fairgate.pages", "base.css", "text/css"),
    "live.css": ("fairgate.live.page", "static/live.css", "text/css"),
    "live.js": ("fairgate.live.page", "static/live.js", "text/javascript"),
    "icon.svg": ("fairgate.live.page", "static/icon.svg", "image/svg+xml"),
}
"""Where each is, and its media type."""


@cache
def content(name: str) -> bytes:
    """Return the bytes of an asset."""
    package, path, _ = SOURCES[name]
    return files(package).joinpath(path).read_bytes()


@cache
def addresses() -> dict[str, str]:
    """Return the address of each asset; it changes when the content does."""
    return {name: f"/static/{name}?{hashlib.sha256(content(name)).hexdigest()[:12]}" for name in SOURCES}


def asset(name: str) -> Response:
    """Answer with an asset."""
    if name not in SOURCES:
        raise MissingError(f"there is no asset {name[:80]!r}")
    return Response(content(name), media_type=SOURCES[name][2], headers={"Cache-Control": "public, max-age=31536000"})
