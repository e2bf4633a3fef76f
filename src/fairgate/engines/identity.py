"""What a process computes with: versions and a fingerprint of the whole package, which must be equal everywhere."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGES = ("fairgate", "numpy", "scipy", "scikit-learn", "pyarrow")
"""Packages whose version decides about the bytes of a result."""

CODE = "the code of fairgate"
"""What the fingerprint is called beside the versions."""


@cache
def identity() -> dict[str, str]:
    """Return the versions of this process, and a fingerprint of the package's files as they were when first asked.

    >>> list(identity())
    ['python', 'fairgate', 'numpy', 'scipy', 'scikit-learn', 'pyarrow', 'the code of fairgate']
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return {"python": python, **{name: _version(name) for name in PACKAGES}, CODE: _digest(Path(__file__).parents[1])}


def difference(worker: str, theirs: Mapping[str, str]) -> str | None:
    """Say in one sentence what differs between `worker` and this process first; None if nothing does."""
    for name, mine in identity().items():
        found = theirs.get(name, "nothing")
        if found != mine:
            return (
                f"{worker} has {name} {found}, but here it is {mine}: results would not be the same, "
                "install the same versions on all workers"
            )
    return None


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "without a version"


def _digest(package: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            content = path.read_bytes()
            found.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:12]
